"""Sampled audits of all tasks: the start is collected, then every signal is watched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rewardable.guard.anchor import KINDS, Kind, Start, counts_of
from rewardable.guard.config import GuardConfig
from rewardable.guard.decision import Notice
from rewardable.guard.intake import Ledger
from rewardable.guard.observation import Audit, PromptAudit
from rewardable.guard.watch import Watch

_LEAST_PRESENT = 0.75
_SHARE: Mapping[Kind, float] = {"support": 0.35, "distinct": 0.5, "trainability": 0.15}


@dataclass(kw_only=True)
class Audits:
    """The sampled part of the guard's state.

    start_step: step of the first audit. waiting: audits of the start, until one of a later step
    comes. good_step: the last audited step at which no signal was below the margin.
    """

    start_step: int | None = None
    waiting: list[Audit] = field(default_factory=list[Audit])
    watches: list[Watch] = field(default_factory=list[Watch])
    good_step: int | None = None

    def take(
        self, step: int, audits: tuple[Audit, ...], config: GuardConfig, ledger: Ledger
    ) -> list[Notice]:
        """Add the audits of one observation."""
        notices: list[Notice] = []
        before = sum(watch.looks for watch in self.watches)
        for audit in audits:
            if self.start_step is None or (step == self.start_step and not self.watches):
                self.start_step = self.good_step = step
                self.waiting.append(audit)
                continue
            if self.waiting:
                notices += self._anchor(config, ledger)
            notices += self._look(audit, config, ledger)
        judged = sum(watch.looks for watch in self.watches) > before
        if judged and all(one.good and not one.fallen for one in self.watches):
            self.good_step = step
        return notices

    def _look(self, audit: Audit, config: GuardConfig, ledger: Ledger) -> list[Notice]:
        mine = [watch for watch in self.watches if watch.anchor.task == audit.task]
        if not mine:
            text = f"task {audit.task!r} was not audited at the start and cannot be judged."
            return list(ledger.say(f"late task {audit.task}", text))
        notices = _about(audit, mine[0], ledger)
        for watch in mine:
            n_P, _ = counts_of(audit, watch.anchor.keys)
            if (n_P > 0).mean() >= _LEAST_PRESENT:
                watch.look(audit, config)
        return notices

    def _anchor(self, config: GuardConfig, ledger: Ledger) -> list[Notice]:
        """Close the start: divide the chance over tasks and signals, bound each."""
        notices: list[Notice] = []
        starts = [
            Start.of([one for one in self.waiting if one.task == task])
            for task in dict.fromkeys(audit.task for audit in self.waiting)
        ]
        plan = [(start, *one) for start in starts for one in _judged(start, config)]
        total = sum(_SHARE[kind] for _, kind, _ in plan)
        for start, kind, size in plan:
            alpha = config.alpha * _SHARE[kind] / total
            self.watches.append(Watch(anchor=start.anchor(kind, size, alpha)))
        for start in starts:
            notices += _about_start(start, config, ledger)
        for watch in self.watches:
            notices += _too_low(watch, ledger)
        self.waiting = []
        return notices

    def forget(self) -> None:
        """After a roll-back: evidence is gathered anew."""
        for watch in self.watches:
            watch.forget()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "start_step": self.start_step,
            "waiting": [asdict(audit) for audit in self.waiting],
            "watches": [watch.to_dict() for watch in self.watches],
            "good_step": self.good_step,
        }

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Audits:
        """Read what :meth:`to_dict` gave."""
        return cls(
            start_step=raw["start_step"],
            waiting=[_audit(one) for one in raw["waiting"]],
            watches=[Watch.from_dict(one) for one in raw["watches"]],
            good_step=raw["good_step"],
        )


def _audit(raw: Mapping[str, Any]) -> Audit:
    prompts = {key: PromptAudit(**counts) for key, counts in raw["prompts"].items()}
    return Audit(task=raw["task"], prompts=prompts, ungraded=raw["ungraded"], tokens=raw["tokens"])


def _judged(start: Start, config: GuardConfig) -> list[tuple[Kind, int]]:
    """Return the signals that the start's audits allow, with their sizes."""
    if not start.keys:
        return []
    least = start.least_n()
    sizes: Mapping[Kind, int] = {
        "support": config.support_at,
        "distinct": least,
        "trainability": config.group,
    }
    able: Mapping[Kind, bool] = {
        "support": least >= config.support_at,
        "distinct": start.named and len(start.audits) > 1,
        "trainability": least >= config.group,
    }
    return [(kind, sizes[kind]) for kind in KINDS if able[kind]]


def _about_start(start: Start, config: GuardConfig, ledger: Ledger) -> list[Notice]:
    """Say what the start cannot carry."""
    task, notices = start.task, list[Notice]()
    judged = [kind for kind, _ in _judged(start, config)]
    for kind in ("support", "trainability"):
        if kind not in judged:
            size = config.support_at if kind == "support" else config.group
            text = f"{kind}@{size} of {task} is not watched: it needs n >= {size} a prompt."
            notices += ledger.say(f"no {kind} {task}", text)
    if start.named and "distinct" not in judged:
        text = f"distinct solutions of {task} are not watched: give the start two audits or more."
        notices += ledger.say(f"no distinct {task}", text)
    if len(start.audits) < 4:
        text = (
            f"the start of {task} has {len(start.audits)} audit(s); four sharpen its bound, and "
            "smaller falls are seen."
        )
        notices += ledger.say(f"short start {task}", text)
    if start.left_out:
        text = f"{len(start.left_out)} prompts of {task} lack graded rollouts in a start audit."
        notices += ledger.say(f"left out {task}", text)
    return notices


def _too_low(watch: Watch, ledger: Ledger) -> tuple[Notice, ...]:
    anchor = watch.anchor
    if anchor.bound >= 0.5 * anchor.start and anchor.start > 0.0:
        return ()
    text = (
        f"{anchor.name} of {anchor.task} starts at {anchor.start * anchor.unit:.3g} and is only "
        f"certain above {anchor.bound * anchor.unit:.3g}: a fall to half may go unseen. Take more "
        "prompts, more rollouts, or prompts that the start solves."
    )
    return ledger.say(f"weak start {anchor.name} {anchor.task}", text)


def _about(audit: Audit, watch: Watch, ledger: Ledger) -> list[Notice]:
    """Say what does not fit the start's prompts."""
    keys, task = watch.anchor.keys, audit.task
    gone = [key for key in keys if key not in audit.prompts or audit.prompts[key].n == 0]
    new = [key for key in audit.prompts if key not in keys]
    notices: list[Notice] = []
    if len(gone) > (1.0 - _LEAST_PRESENT) * len(keys):
        text = f"an audit of {task} lacks {len(gone)} of {len(keys)} prompts and is not judged."
        notices += ledger.say(f"incomplete {task}", text)
    elif gone:
        text = f"an audit of {task} lacks {len(gone)} prompts; they count as solved."
        notices += ledger.say(f"gaps {task}", text)
    if new:
        text = f"{len(new)} prompts of {task} were not in the start's audits; they are left out."
        notices += ledger.say(f"new prompts {task}", text)
    graded = sum(one.n for one in audit.prompts.values())
    if audit.ungraded > 0.1 * (graded + audit.ungraded):
        text = f"{audit.ungraded} rollouts of an audit of {task} are ungraded; mend the verifier."
        notices += ledger.say(f"ungraded {task}", text)
    return notices
