"""Gather what the methods of ``locate`` need: one pass over the policies, resumable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rewardable.engines import Engine
from rewardable.errors import ConfigError
from rewardable.locate.drift import Places, one_state_each
from rewardable.locate.forced import Demand, ForcedResult, Place, entry_openings
from rewardable.locate.gathered import Gathered, Openings
from rewardable.locate.likelihood import Tokens
from rewardable.locate.look import TOKEN_METHODS
from rewardable.locate.opening_tables import class_openings, drawn_openings, largest_classes
from rewardable.locate.rollouts import PolicyRollouts, entry_codes
from rewardable.locate.speller import Speller, spell
from rewardable.locate.task_rules import Rules, choose_rules
from rewardable.locate.traces import (
    Scores,
    Trace,
    hidden_requests,
    pick,
    score,
    sources,
    token_table,
)
from rewardable.protocols import HiddenReader, Scorer, Task, TokenReader
from rewardable.records import Policy, Prompt, SamplingSpec
from rewardable.store import Run
from rewardable.workflows.events import Event, OnEvent
from rewardable.workflows.locating.config import LocateConfig
from rewardable.workflows.locating.drawing import draw, read_forced, read_free
from rewardable.workflows.policies import in_turn

TRACED = frozenset({"likelihood", "entropy", "series", "drift"})
"""Methods that look at given texts."""
NO_SCORES = (
    "The engine of {} gives no log-probs of given tokens: nothing is said of likelihood and "
    "entropy. A vLLM server and its model's tokenizer do (--engine-arg http.tokenizer=FOLDER)."
)
NO_TEXTS = "The engine of {} does not tell the text of tokens: no openings are given."
NO_STATES = "The engine of {} gives no hidden states: the table of drift is left out."


def gather(
    path: Path, config: LocateConfig, free: Run, task: Task, on_event: OnEvent
) -> tuple[Gathered, Speller]:
    """Draw forced samples, score and read hidden states under every policy."""
    rules = choose_rules(task, config.look.entry, config.look.phases)
    prompts = free.prompts(task.name)
    policies = _in_order(free, config)
    rollouts = read_free(free, prompts, policies, rules)
    forced = Run.resume_or_create(path / "forced", {"forced": list(config.run.policies)})
    gathering = _Gathering(path, config, forced, task, prompts, rollouts, rules, on_event)
    in_turn(config.run, lambda position, _, __, engine: gathering.visit(position, engine))
    return gathering.finish()


def _in_order(run: Run, config: LocateConfig) -> list[Policy]:
    by_source = {policy.source: policy for policy in run.policies()}
    return [by_source[source] for source in config.run.policies]


class _Gathering:
    def __init__(
        self,
        path: Path,
        config: LocateConfig,
        forced: Run,
        task: Task,
        prompts: Sequence[Prompt],
        rollouts: Sequence[PolicyRollouts],
        rules: Rules,
        on_event: OnEvent,
    ) -> None:
        self._path, self._config, self._forced, self._task = path, config, forced, task
        self._prompts, self._rollouts, self._rules = prompts, rollouts, rules
        self._on_event = on_event
        self._spec: SamplingSpec = config.run.specs[0]
        self._demand = Demand()
        self._openings: list[dict[str, tuple[str, ...]]] = [{} for _ in prompts]
        self._given: dict[tuple[str, int], Openings] = {}
        self._arms: dict[str, Openings] = {}
        self._traces: list[Trace] = []
        self._scores: dict[str, Scores] = {}
        self._hidden: dict[tuple[str, str], Places] = {}
        self._results: dict[str, dict[Place, ForcedResult]] = {}
        self._vocabulary = ""
        self._speller: Speller | None = None
        self._lacking: dict[str, list[str]] = {}

    def visit(self, position: int, engine: Engine) -> None:
        """Do everything that needs this policy's engine."""
        if position == 0:
            self._start(engine)
        self._check_vocabulary(engine)
        name, methods = self._rollouts[position].policy.name, self._config.look.methods
        if self._demand.count:
            draw(
                self._forced, engine, self._task, self._prompts, self._demand, self._spec,
                self._on_event,
            )  # fmt: skip
        self._results[name] = read_forced(
            self._forced, engine.policy, self._spec, self._prompts, self._demand
        )
        if isinstance(engine, Scorer):
            if self._traces:
                self._scores[name] = self._score(name, engine)
        elif TRACED & set(methods):
            self._lacking.setdefault(NO_SCORES, []).append(name)
        if "drift" in methods:
            if isinstance(engine, HiddenReader):
                self._hidden |= self._states(name, engine)
            else:
                self._lacking.setdefault(NO_STATES, []).append(name)

    def _score(self, name: str, engine: Scorer) -> Scores:
        def tell(done: int, total: int) -> None:
            self._on_event(Event(stage=f"likelihoods, {name}", done=done, total=total))

        return score(self._path / "scores", engine, self._prompts, self._traces, tell)

    def _start(self, engine: Engine) -> None:
        config, methods = self._config.look, self._config.look.methods
        self._speller = spell(engine, self._rollouts, {config.opening_tokens, *config.doses})
        if "entries" in methods:
            self._want_entries()
        if "interventions" in methods:
            if isinstance(engine, TokenReader):
                self._want_openings()
            else:
                self._lacking[NO_TEXTS] = [engine.policy.name]
        if TRACED & set(methods):
            self._traces = pick(
                engine, self._task, self._prompts, self._rollouts, config.sequences, config.seed
            )

    def _want_entries(self) -> None:
        config = self._config.look
        self._openings = entry_openings(
            self._task, self._prompts, self._rollouts, self._rules,
            most=config.families, preamble=config.preamble, seed=config.seed,
        )  # fmt: skip
        for i, families in enumerate(self._openings):
            for texts in families.values():
                for text in texts:
                    self._demand.want((i, text), -(-config.forced_n // len(texts)))

    def _want_openings(self) -> None:
        """Ask for openings of every policy at every dose, and for the two largest classes."""
        config, spelled = self._config.look, self._spelled
        for policy in self._rollouts:
            for tokens in config.doses:
                drawn = drawn_openings(
                    policy, spelled, len(self._prompts), tokens=tokens, count=config.dose_n,
                    seed=config.seed,
                )  # fmt: skip
                self._given[policy.policy.name, tokens] = drawn
        for kind in config.arms or largest_classes(self._rollouts, self._prompts, config):
            self._arms[kind] = class_openings(self._rollouts, self._prompts, kind, spelled, config)
        for texts_P in (*self._given.values(), *self._arms.values()):
            for i, texts in enumerate(texts_P):
                for text in set(texts):
                    self._demand.want((i, text), texts.count(text))

    def _spelled(self, ids: Sequence[int]) -> str:
        assert self._speller is not None
        return self._speller.text(ids)

    def _check_vocabulary(self, engine: Engine) -> None:
        if not isinstance(engine, TokenReader):
            return
        key = engine.tokenizer_key
        self._vocabulary = self._vocabulary or key
        refused = sorted(TOKEN_METHODS & set(self._config.look.methods))
        if key != self._vocabulary and refused:
            raise ConfigError(
                f"{engine.policy.name} has another vocabulary than the base, so tokens cannot be "
                f"compared; got methods {', '.join(refused)}. Use --methods entries."
            )

    def _states(self, name: str, engine: HiddenReader) -> dict[tuple[str, str], Places]:
        """Read one text a prompt: the reference's first, the same under every policy."""
        base = self._rollouts[0].policy.name
        requests = hidden_requests(self._traces, base, self._prompts)
        stage = f"hidden states, {name}"
        self._on_event(Event(stage=stage, done=0, total=len(requests)))
        found = dict(engine.hidden(requests))
        self._on_event(Event(stage=stage, done=len(found), total=len(requests)))
        return {(name, place): states for place, states in one_state_each(found).items()}

    def finish(self) -> tuple[Gathered, Speller]:
        """Return what was gathered; what one policy's engine cannot give is left out for all."""
        tokens: dict[str, Tokens] = {}
        for source in () if NO_SCORES in self._lacking else sources(self._traces):
            table = token_table(self._traces, source, self._scores, self._rules)
            if table is not None:
                tokens[source] = table
        listed = [entry for one in self._openings for entry in one]
        assert self._speller is not None
        return (
            Gathered(
                look=self._config.look,
                task=self._task.name,
                prompts=self._prompts,
                rollouts=self._rollouts,
                code=entry_codes(self._rollouts, listed),
                openings=self._openings,
                results=self._results,
                given=self._given,
                arms=self._arms,
                tokens=tokens,
                hidden={} if NO_STATES in self._lacking else self._hidden,
                notes=tuple(why.format(", ".join(who)) for why, who in self._lacking.items()),
            ),
            self._speller,
        )
