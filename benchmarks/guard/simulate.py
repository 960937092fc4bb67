"""Simulated runs: streams of a model of training, not of training. Reported apart.

Every prompt has some solutions; an answer is one of them or wrong. ``sharpness`` raises the
probabilities of the solutions to a power (the favoured one takes over), ``loss`` takes successes
of future tasks away, ``gain`` adds to them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rewardable.guard import Audit, Observation, PromptAudit, RunMeta

TASK = "simulated-future"
_TRUTH_K = 64


@dataclass(frozen=True, kw_only=True)
class Course:
    """What a simulated run does between step 0 and its end."""

    name: str
    label: str
    sharpness: float = 0.0
    loss: float = 0.0
    gain: float = 0.0
    begins: int = 0
    steps: int = 100
    wobble: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Design:
    """Audits: prompts, rollouts, replicates at the start, steps between recorded audits."""

    prompts: int = 24
    rollouts: int = 16
    replicates: int = 4
    every: int = 5


HEALTHY = (
    Course(name="still", label="healthy"),
    Course(name="gains", label="healthy", gain=0.3, wobble=0.02),
    Course(name="wobbles", label="healthy", gain=0.1, wobble=0.05),
)
COLLAPSING = (
    Course(name="sharpens", label="collapsing", sharpness=7.0, gain=0.3),
    Course(name="sharpens fast", label="collapsing", sharpness=14.0, gain=0.3),
    Course(name="sharpens late", label="collapsing", sharpness=10.0, gain=0.3, begins=40),
    Course(name="forgets", label="collapsing", loss=3.5),
    Course(name="forgets fast", label="collapsing", loss=8.0),
)


def simulated_run(
    course: Course, seed: int, design: Design = Design()
) -> tuple[RunMeta, list[Observation]]:
    """Return the description with the exact truth, and the rows."""
    rng = np.random.default_rng([seed, *course.name.encode()])
    base = [
        rng.beta(1.2, 1.2) * rng.dirichlet(np.ones(rng.integers(1, 9)))
        for _ in range(design.prompts)
    ]
    wider = [rng.beta(1.2, 1.2) * rng.dirichlet(np.ones(rng.integers(1, 9))) for _ in range(400)]
    rows, truth = [], []
    for step in range(course.steps + 1):
        now = [_moved(p, course, step, rng) for p in base]
        if step % design.every == 0:
            audits = tuple(
                _audit(now, design.rollouts, rng)
                for _ in range(design.replicates if step == 0 else 1)
            )
            truth.append((step, _support([_moved(p, course, step, None) for p in wider])))
        else:
            audits = ()
        rows.append(Observation(step=step, metrics=_metrics(now, rng), audits=audits))
    meta = RunMeta(
        run=f"{course.name}-{seed}",
        label=course.label,  # type: ignore[arg-type]
        support=tuple(truth),
        measure=f"expected distinct solutions in {_TRUTH_K}, 400 other prompts, exact",
        simulated=True,
    )
    return meta, rows


def _moved(p: np.ndarray, course: Course, step: int, rng: np.random.Generator | None) -> np.ndarray:
    along = max(0, step - course.begins) / max(course.steps - course.begins, 1)
    power = 1.0 + course.sharpness * along
    total = p.sum()
    shape = p**power / (p**power).sum()
    noise = 0.0 if rng is None or not course.wobble else rng.normal(0.0, course.wobble)
    rate = total * np.exp(-course.loss * along) + course.gain * along * (1 - total) + noise
    return shape * min(max(rate, 1e-4), 0.999)


def _audit(now: list[np.ndarray], rollouts: int, rng: np.random.Generator) -> Audit:
    prompts = {}
    for i, p in enumerate(now):
        counts = rng.multinomial(rollouts, [*p, max(0.0, 1.0 - p.sum())])[:-1]
        prompts[f"p{i:03d}"] = PromptAudit(
            n=rollouts, c=int(counts.sum()), distinct=int((counts > 0).sum())
        )
    return Audit(task=TASK, prompts=prompts)


def _support(now: list[np.ndarray]) -> float:
    return float(np.mean([(1.0 - (1.0 - p) ** _TRUTH_K).sum() for p in now]))


def _metrics(now: list[np.ndarray], rng: np.random.Generator) -> dict[str, float]:
    entropy = float(np.mean([-(p * np.log(np.maximum(p, 1e-12))).sum() for p in now]))
    rate = float(np.mean([p.sum() for p in now]))
    zero = float(np.mean([p.sum() ** 8 + (1 - p.sum()) ** 8 for p in now]))
    return {
        "entropy": max(entropy * rng.lognormal(0.0, 0.08), 1e-4),
        "reward": min(max(rate + rng.normal(0.0, 0.05), 0.0), 1.0),
        "reward_std": float(np.sqrt(rate * (1 - rate))),
        "frac_reward_zero_std": min(max(zero + rng.normal(0.0, 0.05), 0.0), 1.0),
        "completions/mean_length": float(20 + rng.normal(0.0, 0.5)),
        "grad_norm": float(rng.lognormal(0.0, 0.3)),
        "loss": float(rng.normal(0.0, 0.01)),
    }
