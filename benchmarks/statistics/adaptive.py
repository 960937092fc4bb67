"""What an adaptive budget saves, against fixed n = 256 and against an oracle.

    python benchmarks/statistics/adaptive.py [--replicates 10] [--rule give-up]

Two policies on mixes of simulated prompts, of which a tenth of the solvable ones fall: to zero, or to
a quarter of their rate (mixes marked "/4"). Per mix and rule, each over fixed n = 256:

rollouts: drawn by both policies, prompts that were taken up again included.
certified: changes certified, over those that fixed n = 256 certifies (Fisher, discrete FDR 5 %).
width: of the interval of mean support@64 of the first policy. change: of its paired difference.
oracle: rollouts over those of an oracle, which knows the rates of every prompt and draws the fewest,
in expectation, for what the rule delivers on that mix: (1) a fall of a prompt to zero is certified
with at least the rule's own chance, by Fisher's test at the p-value that the rule reached, at fixed
n of its choice for each side; (2) the variance of the unbiased estimate of mean support@64, summed
over prompts, is no larger than the rule's, for each policy. For (2) it picks a sampling rule for
each prompt out of "n rollouts" and "stop at r successes, cap n" by the convex hull of cost against
variance. On each side a prompt costs it the larger of (1) and (2). It may not skip a prompt: an
unbiased estimate of (1-p)^64 of a prompt that fails needs 64 rollouts.
The first oracle knows each prompt's rate before, not which prompts fell: (1) holds for every prompt,
and its second side stops at the first success. The second ("knows all") knows which fell, too, and
certifies nothing of the others.
"""

from __future__ import annotations

import argparse
from functools import cache, lru_cache

import numpy as np
from scipy.stats import beta, binom

from rewardable.metrics import StoppingRule, mean_interval, paired_interval, pass_at_k, transitions
from rewardable.metrics.designs import design_law, fixed_rule
from rewardable.metrics.pairs import _p_table, pair_law
from rewardable.metrics.power import _least_before

CAP, K, PROMPTS, POINTS = 256, 64, 500, 60
SIZES = np.unique(np.round(np.geomspace(6, 1024, 40)).astype(int))


def rule_of(successes, give_up=0):
    return StoppingRule(successes=successes, cap=CAP, first=8, step=8, give_up=give_up)


RULES = {
    "stop at 12": rule_of(12),
    "stop at 8": rule_of(8),
    "stop at 12, give up at 128": rule_of(12, 128),
    "stop at 8, give up at 128": rule_of(8, 128),
    "stop at 6, give up at 128": rule_of(6, 128),
    "stop at 8, give up at 64": rule_of(8, 64),
}
MIXES = {
    "mostly easy": (2.0, 1.0, 0.05, 0.0),
    "a tenth dead": (1.0, 1.5, 0.10, 0.0),
    "hard": (0.4, 6.0, 0.30, 0.0),
    "mostly easy, /4": (2.0, 1.0, 0.05, 0.25),
    "a tenth dead, /4": (1.0, 1.5, 0.10, 0.25),
    "hard, /4": (0.4, 6.0, 0.30, 0.25),
}


def walk(rule, p, rng, n=None, c=None):
    """Sample prompts under a rule, from (n, c) on where these are given."""
    n = np.zeros(p.size, dtype=int) if n is None else n.copy()
    c = np.zeros(p.size, dtype=int) if c is None else c.copy()
    going = np.ones(p.size, dtype=bool)
    for look in rule.looks.tolist():
        more = going & (n < look)
        c[more] += rng.binomial((look - n)[more], p[more])
        n[more] = look
        going &= ~((n == look) & rule.stops(n, c))
    return n, c


def sample_pair(rule, p, q, rng):
    """Return both sides' own states, and where the pair ends."""
    own = [walk(rule, p, rng), walk(rule, q, rng)]
    ends = []
    for side, other, rate in ((0, 1, p), (1, 0, q)):
        again = rule.gave_up(*own[side]) & rule.late(*own[other])
        n, c = own[side][0].copy(), own[side][1].copy()
        if again.any():
            n[again], c[again] = walk(rule.to_the_end, rate[again], rng, n[again], c[again])
        ends.append((n, c))
    return own, ends


def population(mix, rng):
    a, b, dead, left = mix
    p = np.where(rng.random(PROMPTS) < dead, 0.0, rng.beta(a, b, PROMPTS))
    fell = (p > 0) & (rng.random(PROMPTS) < 0.1)
    return p, np.where(fell, left * p, p), fell


def figures(found, fell, before, after, rule, used):
    """Return rollouts, certified falls, false calls, two widths and the p-value reached."""
    called = np.isin(found.calls, ("lost", "reduced"))
    moved = np.isin(found.calls, ("lost", "reduced", "gained", "raised"))
    sides = [pass_at_k(*counts, K, rule) for counts in (before, after)]
    one, two = mean_interval(sides[0]), paired_interval(*sides)
    return np.array([used, (called & fell).sum(), (moved & ~fell).sum(), one.high - one.low,
                     two.high - two.low, found.threshold])  # fmt: skip


def once(mix, rule, rng):
    p, q, fell = population(mix, rng)
    n = np.full(PROMPTS, CAP)
    before, after = (n, rng.binomial(n, p)), (n, rng.binomial(n, q))
    plain = figures(transitions(*before, *after), fell, before, after, None, 2.0 * CAP * PROMPTS)
    own, ends = sample_pair(rule, p, q, rng)
    found = transitions(*ends[0], *ends[1], rule_before=rule, rule_after=rule)
    used = float(sum(end[0].sum() for end in ends))
    return np.stack([plain, figures(found, fell, *own, rule, used)])


def grid(mix):
    """Return rates before and after, and the weight of each kind of prompt."""
    a, b, dead, left = mix
    p = beta.ppf((np.arange(POINTS) + 0.5) / POINTS, a, b)
    weight = np.full(POINTS, (1 - dead) / POINTS)
    rates = np.concatenate([[0.0], p, p]), np.concatenate([[0.0], p, left * p])
    return *rates, np.concatenate([[dead], 0.9 * weight, 0.1 * weight])


@cache
def candidates():
    """Rules that the oracle chooses from for the variance of support@64."""
    fixed = [fixed_rule(n) for n in (64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 512)]
    stops = [StoppingRule(successes=r, cap=cap, first=1, step=1)
             for r in (1, 2, 3, 4, 6, 8, 12) for cap in (64, 96, 128, 192, 256, 384)]  # fmt: skip
    return tuple(fixed + stops)


@cache
def cost_and_variance(rule, rates):
    law = design_law(rule)
    mass = law.mass(np.array(rates))
    value = pass_at_k(law.n_S, law.c_S, K, rule)
    return mass @ law.n_S, np.maximum(mass @ value**2 - (mass @ value) ** 2, 0.0)


def cheapest(rates, weight, floor, variance):
    """Return the least expected rollouts at no more total variance; ``floor`` a prompt at least.

    The Lagrangian of the choice is minimised prompt by prompt; its multiplier found by bisection.
    """
    table = [cost_and_variance(rule, tuple(rates)) for rule in candidates()]
    cost, spread = np.array([row[0] for row in table]), np.array([row[1] for row in table])
    cost = np.maximum(cost, floor)
    low, high, ends = 0.0, 1e9, []
    for _ in range(80):
        price = (low + high) / 2 if high < 1 else np.sqrt(max(low, 1e-3) * high)
        at = np.argmin(cost + price * spread, axis=0), np.arange(rates.size)
        total = weight @ cost[at], weight @ spread[at]
        ends.append(total)
        low, high = (price, high) if total[1] > variance else (low, price)
    enough = min((one for one in ends if one[1] <= variance), default=(np.inf, 0.0))
    short = max((one for one in ends if one[1] > variance), default=enough)
    if short[1] == enough[1]:
        return enough[0]
    share = (variance - enough[1]) / (short[1] - enough[1])
    return share * short[0] + (1 - share) * enough[0]


least_before = lru_cache(maxsize=None)(_least_before)


@cache
def certifying(p, chance, alpha, known):
    """Return the cheapest fixed n before and cap m after that certify a fall to 0 so often.

    ``known``: the oracle knows that the prompt fell. Else it stops the second side at the first
    success, and nine prompts in ten have not changed.
    """
    if chance < 0.02:
        return 1.0, 1.0
    n, m = (grid.reshape(-1) for grid in np.meshgrid(SIZES, SIZES))
    needed = np.array([least_before(int(x), int(y), 0, alpha) for x, y in zip(n, m, strict=True)])
    enough = binom.sf(needed - 1, n, p) >= min(chance, 0.999)
    after = m if known else 0.1 * m + 0.9 * (1 - (1 - p) ** m) / p
    best = np.argmin(np.where(enough, n + after, np.inf))
    return float(n[best]), float(after[best])


def oracle(mix, rule, alpha, *, known):
    """Return the rule's expected rollouts over the oracle's; both exact on a grid of rates."""
    p, q, weight = grid(mix)
    law = pair_law(rule, rule)
    size = law.first.n_S[:, None] + law.second.n_S
    share = law.first.c_S / law.first.n_S
    fall = (_p_table(rule, rule) <= alpha) & (share[None, :] < share[:, None])
    used = weight @ [float((law.joint(float(a), float(b)) * size).sum())
                     for a, b in zip(p, q, strict=True)]  # fmt: skip
    fell = np.arange(p.size) > POINTS
    need = [certifying(float(a), float(law.joint(float(a), 0.0)[fall].sum()), alpha, known)
            if a > 0 and (moved or not known) else (1.0, 1.0)
            for a, moved in zip(p, fell, strict=True)]  # fmt: skip
    least = 0.0
    for place, rates in enumerate((p, q)):
        floor = np.array([pair[place] for pair in need])
        variance = weight @ cost_and_variance(rule, tuple(rates))[1]
        least += cheapest(rates, weight, floor, variance)
    return used / least


def oracles(mix, rule, alpha):
    if mix[3]:
        return ""
    return " ".join(f"{oracle(mix, rule, alpha, known=known):9.2f}" for known in (False, True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=10)
    parser.add_argument("--rule", default="", help="only rules whose name contains this")
    options = parser.parse_args()
    print("all figures are simulated; ratios to fixed n = 256, the last two to oracles")
    print(f"{'mix':17s} {'rule':27s} {'rollouts':>8s} {'certified':>10s} "
          f"{'false':>6s} {'width':>6s} {'change':>7s} {'oracle':>9s} {'knows all':>9s}")  # fmt: skip
    for name, mix in MIXES.items():
        for title, rule in RULES.items():
            if options.rule not in title:
                continue
            rng = np.random.default_rng(1)
            rows = np.mean([once(mix, rule, rng) for _ in range(options.replicates)], axis=0)
            fixed, found = rows
            print(
                f"{name:17s} {title:27s} {found[0] / fixed[0]:8.1%} {found[1] / fixed[1]:10.1%} "
                f"{found[2]:6.2f} {found[3] / fixed[3]:6.3f} "
                f"{found[4] / fixed[4]:7.3f} {oracles(mix, rule, found[5])}",
                flush=True,
            )


if __name__ == "__main__":
    main()
