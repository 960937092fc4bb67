"""Draws what a candidate lacks into a run folder of its own, and reads its scores."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from rewardable.collect import Progress, generate
from rewardable.collect import grade as grade_pass
from rewardable.collect.progress import OnProgress
from rewardable.engines import Engine, EngineOptions, close_engine, open_engine
from rewardable.engines.forced import ForcedSampler
from rewardable.errors import ResumeError
from rewardable.protocols import Sampler, Task
from rewardable.records import Policy, Prompt, SamplingSpec
from rewardable.restore import MergeRecipe, merge
from rewardable.store import Run
from rewardable.workflows.events import Event, OnEvent
from rewardable.workflows.restoring.baselines import Baseline
from rewardable.workflows.restoring.candidates import Candidate
from rewardable.workflows.restoring.config import RestoreConfig
from rewardable.workflows.restoring.scores import (
    Scores,
    Values,
    Where,
    read_scores,
    read_trainability,
)

TRAINED = "trained"


@dataclass(kw_only=True)
class Drawer:
    """Knows the folder, the task and how policies are opened. rollouts: drawn by this call.

    options: the trained checkpoint's template is everyone's, once it has been opened.
    stage: what is told while samples are drawn.
    """

    path: Path
    config: RestoreConfig
    task: Task
    prompts: tuple[Prompt, ...]
    on_event: OnEvent
    options: EngineOptions
    stage: Event = field(default_factory=lambda: Event(stage="opening", done=0, total=1))
    rollouts: int = 0
    tokens: int = 0
    future: Mapping[str, tuple[Task, tuple[Prompt, ...]]] = field(
        default_factory=dict[str, tuple[Task, tuple[Prompt, ...]]]
    )

    def trained(self) -> Candidate:
        """Return the trained checkpoint as one of the candidates."""
        return Candidate(name=TRAINED, family=TRAINED, source=self.config.trained)

    def settle_template(self) -> None:
        """Give the trained checkpoint's template to all; opens it where nothing is stored yet."""
        run = self.run(self.trained())
        known = run.policies()
        if not known:
            with self._opened(self.trained()) as engine:
                _add_policy(run, engine.policy, self.trained())
                known = [engine.policy]
        if known[0].template == "raw":
            self.options = replace(self.options, prompt_format="raw")
        else:
            self.options = replace(self.options, template_from=self.config.trained)

    def run(self, candidate: Candidate) -> Run:
        """Return the candidate's run folder."""
        folder = self.path / "candidates" / candidate.slug
        folder.parent.mkdir(parents=True, exist_ok=True)
        parents = {"trained": self.config.trained, "earlier": list(self.config.earlier)}
        made_with = {"restore": {"candidate": candidate.name, **parents}}
        return Run.resume_or_create(folder, made_with)

    def scores(self, candidate: Candidate, count: int) -> Scores:
        """Draw what is missing of the first ``count`` prompts and return the values there."""
        run, chosen = self.run(candidate), self.prompts[:count]
        rows = [(prompt, self.config.samples) for prompt in chosen]
        self._fill(run, candidate, self.task, rows, self.config.spec)
        return self._read(run, self.config.spec, chosen)

    def futures(self, candidate: Candidate) -> dict[str, Values]:
        """Return the trainability of each future task, by prompt."""
        run, found = self.run(candidate), dict[str, Values]()
        for name, (task, prompts) in self.future.items():
            rows = [(prompt, 2 * self.config.group) for prompt in prompts]
            self._fill(run, candidate, task, rows, self.config.spec)
            where = Where(policy_key=run.policies()[0].key, spec=self.config.spec, task=task)
            keys = [prompt.key for prompt in prompts]
            found[name] = read_trainability(run, where, keys, self.config.group)
        return found

    def baseline(self, baseline: Baseline, prompts: Sequence[Prompt]) -> Scores:
        """Draw a baseline into a folder of its own."""
        candidate = replace(self.trained(), name=baseline.name)
        run = self.run(candidate)
        rows = [(prompt, n) for prompt, n, _ in baseline.rows]
        self._fill(run, candidate, self.task, rows, baseline.spec, forced=baseline.forced)
        return self._read(run, baseline.spec, prompts, baseline.twins)

    def _read(
        self,
        run: Run,
        spec: SamplingSpec,
        prompts: Sequence[Prompt],
        twins: Mapping[str, str] | None = None,
    ) -> Scores:
        policy = run.policies()[0]
        where = Where(policy_key=policy.key, spec=spec, task=self.task, twins=twins)
        return read_scores(run, where, [p.key for p in prompts], self.config.objective.k)

    def _fill(
        self,
        run: Run,
        candidate: Candidate,
        task: Task,
        rows: Sequence[tuple[Prompt, int]],
        spec: SamplingSpec,
        *,
        forced: bool = False,
    ) -> None:
        run.add_specs([spec])
        run.add_prompts([prompt for prompt, _ in rows])
        wanted = {prompt.key: n for prompt, n in rows}
        if not _complete(run, wanted, spec):
            with self._opened(candidate) as engine:
                _add_policy(run, engine.policy, candidate)
                sampler: Sampler = ForcedSampler(inner=engine) if forced else engine
                prompts = [prompt for prompt, _ in rows]
                found = generate(sampler, prompts, wanted, spec, run,
                                 on_progress=self._teller(candidate.name))  # fmt: skip
                self.rollouts += found.n_new
                self.tokens += found.tokens
        grade_pass(task.verifier, [prompt for prompt, _ in rows], run)

    def _teller(self, name: str) -> OnProgress:
        def tell(progress: Progress) -> None:
            detail = f"{name}, {progress.done:,} of {progress.total:,} samples"
            self.on_event(replace(self.stage, detail=detail))

        return tell

    @contextmanager
    def _opened(self, candidate: Candidate) -> Generator[Engine]:
        with weights(candidate, self.path / "weights" / candidate.slug) as source:
            engine = open_engine(source, self.options)
            try:
                yield engine
            finally:
                close_engine(engine)


@contextmanager
def weights(candidate: Candidate, at: Path) -> Generator[str]:
    """Give the candidate's source; merged weights are written to ``at`` and removed afterwards."""
    recipe: MergeRecipe | None = candidate.recipe
    if recipe is None:
        yield candidate.source
        return
    shutil.rmtree(at, ignore_errors=True)
    try:
        merge(recipe, at)
        yield str(at)
    finally:
        shutil.rmtree(at, ignore_errors=True)
        if at.parent.is_dir() and not any(at.parent.iterdir()):
            at.parent.rmdir()


def _add_policy(run: Run, policy: Policy, candidate: Candidate) -> None:
    for known in run.policies():
        if known.key != policy.key:
            raise ResumeError(
                f"{candidate.name} has other weights or another template than when {run.path} was "
                "sampled. Use another --out."
            )
    run.add_policies([replace(policy, source=candidate.name)])


def _complete(run: Run, wanted: Mapping[str, int], spec: SamplingSpec) -> bool:
    policies = run.policies()
    if not policies:
        return False
    held = {(one.prompt_key, one.index) for one in run.rollout_ids(policies[0].key, spec.key)}
    return all((key, i) in held for key, n in wanted.items() for i in range(n))
