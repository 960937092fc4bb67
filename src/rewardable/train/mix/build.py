"""From a mixing configuration to the parts of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardable.errors import ConfigError
from rewardable.records import Prompt
from rewardable.train.extras import Extras
from rewardable.train.mix.config import MixConfig
from rewardable.train.mix.distill import DistillTerm
from rewardable.train.mix.resume import MixState
from rewardable.train.mix.terms import ReplayTerm, Shares, SupervisedTerm
from rewardable.train.rows import TextRow


def build_terms(
    config: MixConfig,
    *,
    prompts: Sequence[Prompt],
    rows: Sequence[TextRow] = (),
    other_prompts: Sequence[Prompt] = (),
) -> Extras:
    """Return the loss terms, the tap that fills the replay buffer, and what resumes them.

    prompts: those of the run (their successes are replayed). rows: right answers and general rows.
    other_prompts: those on which the policy is held to the teacher.

    Raises
    ------
    ConfigError: a source has a share and nothing to draw from, or the other way round.
    """
    _check("supervised", config.supervised > 0, "rows", bool(rows))
    _check("distill", config.distill is not None, "other_prompts", bool(other_prompts))
    common: dict[str, Any] = {"unit": config.unit, "count": config.rows, "seed": config.seed}
    terms: list[Any] = []
    taps: list[Any] = []
    if config.supervised > 0:
        terms.append(SupervisedTerm(rows, ratio=config.ratio("supervised"), **common))
    if config.replay > 0:
        replay = ReplayTerm(prompts, config.buffer, ratio=config.ratio("replay"), **common)
        terms.append(replay)
        taps.append(replay.tap)
    watches = (Shares(tuple(terms)),) if terms else ()
    if config.distill is not None:
        terms.append(DistillTerm(other_prompts, config.distill, config.seed))
    callbacks = (MixState(terms),) if terms else ()
    return Extras(terms=tuple(terms), watches=watches, taps=tuple(taps), callbacks=callbacks)


def _check(share: str, wanted: bool, name: str, given: bool) -> None:
    if wanted and not given:
        raise ConfigError(f"mix: {share} is asked for, but there are no {name}.")
    if given and not wanted:
        raise ConfigError(f"mix: {name} are given, but {share} has no share; they would be unused.")
