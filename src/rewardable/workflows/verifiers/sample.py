"""Draw the rollouts that a person is to judge, once; the same again on every later call."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rewardable.errors import DataError
from rewardable.protocols import Verifier
from rewardable.records import FinishReason, Outcome, Rollout, Verdict, digest
from rewardable.store import Group, Run
from rewardable.workflows.events import OnEvent, ignore
from rewardable.workflows.verifiers.rescore import Rescoring
from rewardable.workflows.verifiers.strata import Stratum, allocate

FORMAT = 1
SAMPLE = "sample.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """A drawn rollout. ``question``: digest of prompt and text; equal ones are judged once."""

    question: str
    policy: str
    spec: str
    prompt: str
    index: int
    text: str
    own: str
    twin: str

    @property
    def stratum(self) -> Stratum:
        """Where it was drawn from."""
        return Stratum(self.own, self.twin)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The drawn rows, those first on which the verifiers differ, and how large each stratum is."""

    task: str
    verifier: str
    twin: str
    seed: int
    n: int
    n_rollouts: int
    n_ungraded: int
    sizes: Mapping[Stratum, int]
    items: Sequence[Item]


@dataclass
class _Pools:
    """The rows with the smallest digests of each stratum, so that any order gives the same."""

    seed: int
    n: int
    sizes: dict[Stratum, int] = field(default_factory=dict[Stratum, int])
    heaps: dict[Stratum, list[tuple[int, str, Item]]] = field(
        default_factory=dict[Stratum, list[tuple[int, str, Item]]]
    )
    n_ungraded: int = 0

    def add(self, rollout: Rollout, own: Verdict, twin: Verdict | None) -> None:
        if own.outcome is Outcome.UNGRADED:
            self.n_ungraded += 1
            return
        item = _item(rollout, own, twin)
        self.sizes[item.stratum] = self.sizes.get(item.stratum, 0) + 1
        place = (item.policy, item.spec, item.prompt, item.index)
        draw = digest("audit", self.seed, *place)
        heap = self.heaps.setdefault(item.stratum, [])
        push = heapq.heappush if len(heap) < self.n else heapq.heappushpop
        push(heap, (-int(draw, 16), draw, item))

    def drawn(self) -> list[Item]:
        """Return the sample: differing strata first, each in the order of its digests."""
        counts = allocate(self.sizes, self.n)
        order = sorted(self.heaps, key=lambda stratum: (not stratum.differs, stratum))
        return [
            item
            for stratum in order
            for _, _, item in sorted(self.heaps[stratum], reverse=True)[: counts[stratum]]
        ]


def draw_sample(
    run: Run,
    groups: Sequence[Group],
    verifier: tuple[str, str],
    twin: Verifier | None,
    *,
    n: int,
    seed: int,
    workers: int = 0,
    timeout_s: float | None = None,
    on_event: OnEvent = ignore,
) -> Sample:
    """Draw n of the rollouts that a verifier judged, stratified by its verdict and the twin's.

    groups: what the run holds of the task.

    Raises
    ------
    ConfigError: n too small. DataError: nothing graded.
    """
    pools = _Pools(seed=seed, n=n)
    if twin is None:
        for rollout, verdict in _judged(run, groups, verifier):
            pools.add(rollout, verdict, None)
    else:
        pass_ = Rescoring(
            run=run,
            groups=groups,
            verifier=twin,
            old=verifier,
            workers=workers,
            timeout_s=timeout_s,
            on_event=on_event,
        )
        for pair in pass_.pairs():
            pools.add(*pair)
    if not pools.sizes:
        raise DataError(
            f"no rollout of {groups[0].task} was found CORRECT or WRONG by {'@'.join(verifier)}."
        )
    return Sample(
        task=groups[0].task,
        verifier="@".join(verifier),
        twin="" if twin is None else f"{twin.name}@{twin.version}",
        seed=seed,
        n=n,
        n_rollouts=sum(group.n_rollouts for group in groups),
        n_ungraded=pools.n_ungraded,
        sizes=pools.sizes,
        items=pools.drawn(),
    )


def rollouts_of(run: Run, task: str) -> int:
    """Return how many rollouts of a task a run holds."""
    return sum(group.n_rollouts for group in run.groups() if group.task == task)


def first_verifier(run: Run, groups: Sequence[Group]) -> tuple[str, str]:
    """Return the verifier of the first rollout's newest verdict; DataError when none is graded."""
    keys = [prompt.key for prompt in run.prompts(groups[0].task)]
    for group in groups:
        rows = run.rollouts(policy_key=group.policy_key, spec_key=group.spec_key, prompt_keys=keys)
        for _, verdict in rows:
            if verdict is not None:
                return verdict.verifier, verdict.version
    raise DataError(f"no rollout of {groups[0].task} in {run.path} has a verdict; grade first.")


def _judged(
    run: Run, groups: Sequence[Group], verifier: tuple[str, str]
) -> Iterator[tuple[Rollout, Verdict]]:
    keys = [prompt.key for prompt in run.prompts(groups[0].task)]
    for group in groups:
        for rollout, verdict in run.rollouts(
            policy_key=group.policy_key,
            spec_key=group.spec_key,
            prompt_keys=keys,
            verifier=verifier[0],
            version=verifier[1],
        ):
            failed = rollout.completion.finish_reason is FinishReason.FAILED
            if verdict is not None and not failed:
                yield rollout, verdict


def _item(rollout: Rollout, own: Verdict, twin: Verdict | None) -> Item:
    where, text = rollout.id, rollout.completion.text
    return Item(
        question=digest("question", where.prompt_key, text, length=12),
        policy=where.policy_key,
        spec=where.spec_key,
        prompt=where.prompt_key,
        index=where.index,
        text=text,
        own=str(own.outcome),
        twin="" if twin is None else str(twin.outcome),
    )


def sample_to_json(sample: Sample) -> str:
    """Write a sample as JSON."""
    raw = asdict(sample)
    raw["sizes"] = [[own, twin, size] for (own, twin), size in sample.sizes.items()]
    return json.dumps({"format": FORMAT, **raw}, indent=1) + "\n"


def read_sample(path: Path) -> Sample:
    """Read what :func:`sample_to_json` wrote; DataError for anything else."""
    try:
        raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if raw.pop("format") != FORMAT:
            raise ValueError("written by another version")
        raw["sizes"] = {Stratum(own, twin): size for own, twin, size in raw["sizes"]}
        raw["items"] = [Item(**item) for item in raw["items"]]
        return Sample(**raw)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(
            f"{path} is not the sample that was written there ({error}); move its folder away to "
            "draw anew."
        ) from error
