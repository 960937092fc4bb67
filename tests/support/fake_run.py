"""A run whose truth is known: Countdown-like prompts, policies that are categorical by design."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product
from pathlib import Path

import numpy as np

from rewardable.records import (
    Completion,
    FinishReason,
    Outcome,
    Policy,
    Prompt,
    Rollout,
    RolloutId,
    SamplingSpec,
    Verdict,
    user_prompt,
)
from rewardable.store import Counts, Group, Samples

WRONG_TEXTS = 12
SYMBOLS = "+-*"


def apply(symbol: str, a: int, b: int) -> int:
    return {"+": a + b, "-": a - b, "*": a * b}[symbol]


def step_texts(numbers: Sequence[int]) -> dict[int, list[tuple[str, str]]]:
    """Target -> (text, solution) of every two-step text without negative results."""
    found: dict[int, set[tuple[str, str]]] = {}
    for a, b, c in set(permutations(numbers)):
        for first, second in product(SYMBOLS, repeat=2):
            middle = apply(first, a, b)
            for left, right, swapped in ((middle, c, False), (c, middle, True)):
                target = apply(second, left, right)
                if middle < 0 or target < 0:
                    continue
                text = f"{a}{first}{b}={middle},{left}{second}{right}={target}"
                inner = _sorted(first, str(a), str(b))
                outer = (str(c), f"({inner})") if swapped else (f"({inner})", str(c))
                found.setdefault(target, set()).add((text, _sorted(second, *outer)))
    return {target: sorted(pairs) for target, pairs in found.items()}


def _sorted(symbol: str, a: str, b: str) -> str:
    return symbol.join(sorted((a, b)) if symbol in "+*" else (a, b))


@dataclass(frozen=True)
class Instance:
    prompt: Prompt
    texts: tuple[str, ...]
    solutions: tuple[str, ...]


def instances(count: int, seed: int, task: str = "countdown", least: int = 4) -> list[Instance]:
    """Distinct prompts with at least ``least`` solutions, sorted by key."""
    rng = np.random.default_rng(seed)
    found: dict[str, Instance] = {}
    for _ in range(200 * count):
        if len(found) == count:
            break
        numbers = sorted(int(x) for x in rng.integers(1, 21, 3))
        usable = {t: p for t, p in step_texts(numbers).items()
                  if 10 <= t <= 99 and len({s for _, s in p}) >= least}  # fmt: skip
        if not usable:
            continue
        target = int(rng.choice(sorted(usable)))
        texts, solutions = zip(*usable[target], strict=True)
        facts = {"totals": {"solution": len(set(solutions)),
                            "entry": len({entry(text) for text in texts})}}  # fmt: skip
        content = f"{','.join(map(str, numbers))}={target}:"
        prompt = user_prompt(task, "1", content, facts)
        found[prompt.key] = Instance(prompt, texts, solutions)
    if len(found) < count:
        raise ValueError(f"only {len(found)} of {count} instances found")
    return sorted(found.values(), key=lambda one: one.prompt.key)


def entry(text: str) -> str:
    """First operand and operator."""
    place = next(i for i, symbol in enumerate(text) if symbol in SYMBOLS)
    return text[: place + 1]


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """How a fake policy answers: ``rate`` of a prompt's mass is right, spread by ``spread``.

    rate_P: success probability of each prompt. spread: Dirichlet concentration over the valid
    texts; small is narrow. entropy: nats, for the recorded entropies. cut: share of the wrong
    answers that hit the token limit.
    """

    rate_P: np.ndarray
    spread: float
    entropy: float = 1.0
    cut: float = 0.0
    ungraded: float = 0.0


@dataclass
class Drawn:
    """The rollouts of one arm: which text of its instance each is; -1 - j for wrong text j."""

    choice_PN: np.ndarray
    ungraded_PN: np.ndarray
    cut_PN: np.ndarray
    entropy: float
    text_probability: list[np.ndarray]


def draw(found: Sequence[Instance], n: int, behaviour: Behaviour, seed: int) -> Drawn:
    """Draw n rollouts of every prompt."""
    rng = np.random.default_rng(seed)
    choice_PN = np.empty((len(found), n), dtype=np.int64)
    probabilities = []
    for p, instance in enumerate(found):
        within = rng.dirichlet(np.full(len(instance.texts), behaviour.spread))
        wrong = np.full(WRONG_TEXTS, (1 - behaviour.rate_P[p]) / WRONG_TEXTS)
        full = np.concatenate([behaviour.rate_P[p] * within, wrong])
        drawn = rng.choice(len(full), size=n, p=full / full.sum())
        size = len(instance.texts)
        choice_PN[p] = np.where(drawn < size, drawn, size - 1 - drawn)
        probabilities.append(behaviour.rate_P[p] * within)
    ungraded = rng.random(choice_PN.shape) < behaviour.ungraded
    cut = (choice_PN < 0) & (rng.random(choice_PN.shape) < behaviour.cut)
    return Drawn(choice_PN, ungraded, cut, behaviour.entropy, probabilities)


@dataclass
class FakeRun:
    """Has the reading half of a run folder."""

    path: Path = Path("fake-run")
    specs_: list[SamplingSpec] = field(default_factory=lambda: [SamplingSpec()])
    policies_: list[Policy] = field(default_factory=list)
    tasks_: dict[str, list[Instance]] = field(default_factory=dict)
    arms_: dict[tuple[str, str, str], Drawn] = field(default_factory=dict)
    counts_: dict[tuple[str, str, str], Counts] = field(default_factory=dict)

    def add_policy(self, name: str, template: str = "raw") -> Policy:
        policy = Policy(name=name, weights=f"weights of {name}", template=template)
        self.policies_.append(policy)
        return policy

    def add_arm(
        self, task: str, policy: Policy, n: int, behaviour: Behaviour, seed: int, spec: int = 0
    ) -> Drawn:
        drawn = draw(self.tasks_[task], n, behaviour, seed)
        self.arms_[task, policy.key, self.specs_[spec].key] = drawn
        return drawn

    def policies(self) -> list[Policy]:
        return self.policies_

    def specs(self) -> list[SamplingSpec]:
        return self.specs_

    def prompts(self, task: str | None = None) -> list[Prompt]:
        names = list(self.tasks_) if task is None else [task]
        return [one.prompt for name in names for one in self.tasks_[name]]

    def provenances(self) -> set[tuple[str, str]]:
        return set()

    def groups(self) -> list[Group]:
        rollouts = [
            Group(task=task, policy_key=policy, spec_key=spec, n_counts=0,
                  n_prompts=len(arm.choice_PN), n_rollouts=arm.choice_PN.size)
            for (task, policy, spec), arm in self.arms_.items()
        ]  # fmt: skip
        counts = [
            Group(task=task, policy_key=policy, spec_key=spec, n_counts=len(found.prompt_keys),
                  n_prompts=len(found.prompt_keys), n_rollouts=0)
            for (task, policy, spec), found in self.counts_.items()
        ]  # fmt: skip
        return rollouts + counts

    def counts(self, *, policy_key: str, spec_key: str, task: str) -> Counts:
        empty = np.zeros(0, dtype=np.int64)
        nothing = Counts(prompt_keys=(), n_P=empty, c_P=empty)
        return self.counts_.get((task, policy_key, spec_key), nothing)

    def samples(self, *, policy_key: str, spec_key: str, task: str) -> Samples:
        drawn = self.arms_.get((task, policy_key, spec_key))
        if drawn is None:
            return samples_of(self.tasks_[task][:0], None)
        return samples_of(self.tasks_[task][: len(drawn.choice_PN)], drawn)

    def rollouts(
        self, *, policy_key: str, spec_key: str, prompt_keys: Collection[str] | None = None
    ) -> Iterator[tuple[Rollout, Verdict | None]]:
        for (task, policy, spec), drawn in self.arms_.items():
            if (policy, spec) != (policy_key, spec_key):
                continue
            for instance, row, hidden, cut in zip(
                self.tasks_[task], drawn.choice_PN, drawn.ungraded_PN, drawn.cut_PN, strict=False
            ):
                if prompt_keys is None or instance.prompt.key in prompt_keys:
                    for i, choice in enumerate(row):
                        where = RolloutId(policy_key=policy, spec_key=spec,
                                          prompt_key=instance.prompt.key, index=i)  # fmt: skip
                        yield rollout(where, instance, int(choice), bool(hidden[i]), bool(cut[i]))


def text_of(instance: Instance, choice: int) -> str:
    """The text of a valid choice, or a wrong sum."""
    if choice >= 0:
        return instance.texts[choice]
    numbers = instance.prompt.text.split("=")[0].split(",")
    return f"{numbers[0]}+{numbers[1]}={int(numbers[0]) + int(numbers[1])},?={-choice}"


def rollout(
    where: RolloutId, instance: Instance, choice: int, hidden: bool, cut: bool
) -> tuple[Rollout, Verdict]:
    finish = FinishReason.LENGTH if cut else FinishReason.STOP
    completion = Completion(text=text_of(instance, choice), finish_reason=finish)
    outcome = Outcome.CORRECT if choice >= 0 else Outcome.WRONG
    found = choice >= 0 and not hidden
    right = max(choice, 0)
    labels = {"solution": instance.solutions[right], "entry": entry(instance.texts[right])}
    verdict = Verdict(
        outcome=Outcome.UNGRADED if hidden else outcome, verifier="fake", version="1",
        reason="timeout: 5 s" if hidden else "", labels=labels if found else {},
    )  # fmt: skip
    return Rollout(id=where, completion=completion), verdict


def samples_of(found: Sequence[Instance], drawn: Drawn | None) -> Samples:
    """The arrays that a store would give."""
    choice_PN = np.zeros((0, 1), dtype=np.int64) if drawn is None else drawn.choice_PN
    hidden_R = np.zeros(0, bool) if drawn is None else drawn.ungraded_PN.ravel()
    cut_R = np.zeros(0, bool) if drawn is None else drawn.cut_PN.ravel()
    choice_R = choice_PN.ravel()
    prompt_R = np.repeat(np.arange(len(choice_PN), dtype=np.int32), choice_PN.shape[1])
    labels, names = _labels(found, choice_PN, hidden_R)
    outcome_R = np.where(hidden_R, -1, choice_R >= 0).astype(np.int8)
    entropy = np.nan if drawn is None else drawn.entropy
    jitter_R = 1 + 0.2 * np.sin(np.arange(len(choice_R)))
    return Samples(
        prompt_keys=tuple(one.prompt.key for one in found),
        prompt_R=prompt_R,
        index_R=np.tile(np.arange(choice_PN.shape[1], dtype=np.int32), len(choice_PN)),
        outcome_R=outcome_R,
        score_R=np.full(len(choice_R), np.nan),
        length_R=np.full(len(choice_R), 15, dtype=np.int32),
        finish_R=np.where(cut_R, 1, 0).astype(np.int8),
        first_entropy_R=entropy * jitter_R,
        mean_entropy_R=entropy / 3 * jitter_R,
        text_R=choice_R + 1000,
        labels=labels,
        label_names=names,
        totals={kind: np.array([one.prompt.facts["totals"][kind] for one in found], dtype=float)
                for kind in ("solution", "entry")},
        reasons={"timeout: 5 s": int(hidden_R.sum())} if hidden_R.any() else {},
    )  # fmt: skip


def _labels(
    found: Sequence[Instance], choice_PN: np.ndarray, hidden_R: np.ndarray
) -> tuple[dict[str, np.ndarray], dict[str, tuple[str, ...]]]:
    codes: dict[str, list[np.ndarray]] = {"solution": [], "entry": []}
    books: dict[str, dict[str, int]] = {"solution": {}, "entry": {}}
    for instance, row in zip(found, choice_PN, strict=True):
        values: Mapping[str, Sequence[str]] = {
            "solution": instance.solutions,
            "entry": [entry(text) for text in instance.texts],
        }
        for kind, names in values.items():
            book = books[kind]
            table = np.array([book.setdefault(name, len(book)) for name in names])
            codes[kind].append(np.where(row >= 0, table[np.maximum(row, 0)], -1))
    empty = np.zeros(0, dtype=np.int32)
    labels = {
        kind: np.where(hidden_R, -1, np.concatenate(rows) if rows else empty).astype(np.int32)
        for kind, rows in codes.items()
    }
    return labels, {kind: tuple(book) for kind, book in books.items()}


def narrowing_run(
    prompts: int = 96, n: int = 128, *, seed: int = 7, future: bool = True, ungraded: float = 0.0
) -> tuple[FakeRun, list[Policy]]:
    """Base broad, two checkpoints ever narrower and more often right; a future task beside it."""
    run = FakeRun()
    policies = [run.add_policy(name) for name in ("base", "step 100", "step 200")]
    rng = np.random.default_rng(seed)
    run.tasks_["countdown"] = instances(prompts, seed)
    base_P = np.clip(rng.beta(1.6, 3.2, prompts), 0.02, 0.95)
    up_P = rng.random(prompts)
    lost_P = up_P < 0.14
    middle_P = np.where(lost_P, base_P * 0.4, np.clip(base_P * 1.4 + 0.08, 0, 0.97))
    late_P = np.where(lost_P, 0.0, np.clip(base_P * 1.8 + 0.15, 0, 0.99))
    behaviours = [
        Behaviour(rate_P=base_P, spread=2.0, entropy=1.6, cut=0.05, ungraded=ungraded),
        Behaviour(rate_P=middle_P, spread=0.5, entropy=0.9, cut=0.03, ungraded=ungraded),
        Behaviour(rate_P=late_P, spread=0.15, entropy=0.35, cut=0.02, ungraded=ungraded),
    ]
    for i, (policy, behaviour) in enumerate(zip(policies, behaviours, strict=True)):
        run.add_arm("countdown", policy, n, behaviour, seed * 100 + i)
    if future:
        run.tasks_["countdown-division"] = instances(prompts, seed + 1, "countdown-division")
        for i, (policy, factor) in enumerate(zip(policies, (0.5, 0.25, 0.08), strict=True)):
            behaviour = Behaviour(rate_P=base_P * factor, spread=1.0, entropy=1.2 - 0.4 * i)
            run.add_arm("countdown-division", policy, n, behaviour, seed * 200 + i)
    return run, policies


@dataclass(frozen=True)
class Given:
    """One rollout of a hand-made arm: prompt number, outcome, text; the rest is optional."""

    prompt: int
    outcome: int
    text: str
    solution: str | None = None
    score: float = np.nan
    finish: int = 0


@dataclass
class GivenRun(FakeRun):
    """A run whose arms are written down rollout by rollout."""

    given_: dict[tuple[str, str, str], list[Given]] = field(default_factory=dict)
    prompts_: dict[str, list[Prompt]] = field(default_factory=dict)

    def give(self, task: str, policy: Policy, rows: Sequence[Given], spec: int = 0) -> None:
        self.given_[task, policy.key, self.specs_[spec].key] = list(rows)

    def prompts(self, task: str | None = None) -> list[Prompt]:
        names = list(self.prompts_) if task is None else [task]
        return [prompt for name in names for prompt in self.prompts_[name]]

    def groups(self) -> list[Group]:
        return super().groups() + [
            Group(task=task, policy_key=policy, spec_key=spec, n_counts=0, n_prompts=1,
                  n_rollouts=len(rows))
            for (task, policy, spec), rows in self.given_.items()
        ]  # fmt: skip

    def samples(self, *, policy_key: str, spec_key: str, task: str) -> Samples:
        rows = self.given_.get((task, policy_key, spec_key))
        if rows is None:
            return samples_of([], None)
        return samples_given(self.prompts_[task], rows)

    def rollouts(
        self, *, policy_key: str, spec_key: str, prompt_keys: Collection[str] | None = None
    ) -> Iterator[tuple[Rollout, Verdict | None]]:
        for (task, policy, spec), rows in self.given_.items():
            if (policy, spec) != (policy_key, spec_key):
                continue
            for index, one in enumerate(rows):
                key = self.prompts_[task][one.prompt].key
                if prompt_keys is None or key in prompt_keys:
                    where = RolloutId(policy_key=policy, spec_key=spec, prompt_key=key, index=index)
                    outcome = {1: Outcome.CORRECT, 0: Outcome.WRONG, -1: Outcome.UNGRADED}
                    verdict = Verdict(outcome=outcome[one.outcome], verifier="v", version="1",
                                      reason="" if one.outcome >= 0 else "timeout")  # fmt: skip
                    yield Rollout(id=where, completion=Completion(text=one.text)), verdict


def hand_prompts(count: int, task: str = "hand", totals: int | None = 4) -> list[Prompt]:
    """Prompts with sorted keys ``p0``, ``p1``, ..."""
    facts = {"totals": {"solution": totals}} if totals else {}
    return [
        Prompt(task=task, task_version="1", messages=(), facts=facts, explicit_key=f"p{i:04d}")
        for i in range(count)
    ]


def samples_given(prompts: Sequence[Prompt], rows: Sequence[Given]) -> Samples:
    """The arrays of hand-made rollouts."""
    used = sorted({one.prompt for one in rows})
    ordered = sorted(rows, key=lambda one: one.prompt)
    texts = {text: i for i, text in enumerate(dict.fromkeys(one.text for one in ordered))}
    names = list(dict.fromkeys(one.solution for one in ordered if one.solution))
    labels = [names.index(one.solution) if one.solution else -1 for one in ordered]
    totals = [prompts[p].facts.get("totals", {}).get("solution", np.nan) for p in used]
    ungraded = sum(one.outcome < 0 for one in ordered)
    nothing = np.full(len(ordered), np.nan)
    return Samples(
        prompt_keys=tuple(prompts[p].key for p in used),
        prompt_R=np.array([used.index(one.prompt) for one in ordered], dtype=np.int32),
        index_R=np.arange(len(ordered), dtype=np.int32),
        outcome_R=np.array([one.outcome for one in ordered], dtype=np.int8),
        score_R=np.array([one.score for one in ordered], dtype=np.float64),
        length_R=np.full(len(ordered), -1, dtype=np.int32),
        finish_R=np.array([one.finish for one in ordered], dtype=np.int8),
        first_entropy_R=nothing,
        mean_entropy_R=nothing,
        text_R=np.array([texts[one.text] for one in ordered], dtype=np.int64),
        labels={"solution": np.array(labels, dtype=np.int32)} if names else {},
        label_names={"solution": tuple(names)} if names else {},
        totals={} if np.isnan(totals).all() else {"solution": np.array(totals, dtype=float)},
        reasons={"timeout": ungraded} if ungraded else {},
    )
