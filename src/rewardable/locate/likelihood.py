"""What changed, token by token: the same sequences under two policies.

Arrays: T tokens of all sequences in a row, P prompts, J phases or positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rewardable.errors import DataError
from rewardable.metrics import Interval, mean_interval, ratio_of_means

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Tokens:
    """Tokens of S sequences, one after the other.

    sequence_T, position_T: which sequence, and the token's place in it from 0. phase_T: code into
    ``phases``. prompt_S: each sequence's prompt. logp_T: policy name -> nats; entropy_T likewise,
    of the policies whose engine gives entropies.
    """

    sequence_T: Ints
    position_T: Ints
    phase_T: Ints
    phases: tuple[str, ...]
    prompt_S: Ints
    logp_T: dict[str, Floats]
    entropy_T: dict[str, Floats]

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together."""
        size = self.sequence_T.size
        for name, values in (*self.logp_T.items(), *self.entropy_T.items()):
            if values.size != size:
                raise DataError(f"policy {name!r} scored {values.size} of {size} tokens.")

    @property
    def prompt_T(self) -> Ints:  # noqa: N802
        """The prompt of each token."""
        return self.prompt_S[self.sequence_T]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One phase or position: the mean |change| a token and the mean change, over prompts.

    n_prompts: prompts with a token there. n_tokens: tokens.
    """

    label: str
    size: Interval
    change: Interval
    n_prompts: int
    n_tokens: int


def by_phase(tokens: Tokens, before: str, after: str, *, level: float = 0.95) -> list[Cell]:
    """Return the change of log-prob a token in every phase, prompts weighing the same."""
    codes = tokens.phase_T
    return [
        _cell(tokens, before, after, codes == j, name, level)
        for j, name in enumerate(tokens.phases)
        if (codes == j).any()
    ]


def by_position(
    tokens: Tokens, before: str, after: str, *, most: int = 24, level: float = 0.95
) -> list[Cell]:
    """Return the change of log-prob at each of the first ``most`` positions."""
    last = min(most, int(tokens.position_T.max(initial=-1)) + 1)
    return [
        _cell(tokens, before, after, tokens.position_T == j, str(j), level) for j in range(last)
    ]


def phase_ratio(
    tokens: Tokens,
    before: str,
    after: str,
    over: Sequence[str],
    under: Sequence[str],
    *,
    level: float = 0.95,
) -> Interval:
    """Return mean |change| a token in the phases ``over`` over that in ``under``.

    On prompts with tokens in both; prompts weigh the same. DataError for a phase without tokens.
    """
    sizes = np.abs(tokens.logp_T[after] - tokens.logp_T[before])
    means = []
    for wanted in (over, under):
        missing = [phase for phase in wanted if phase not in tokens.phases]
        if missing:
            raise DataError(f"no token is in phase {missing[0]!r}; there are {tokens.phases}.")
        codes = [tokens.phases.index(phase) for phase in wanted]
        means.append(prompt_means(tokens, sizes, np.isin(tokens.phase_T, codes)))
    both = ~np.isnan(means[0]) & ~np.isnan(means[1])
    return ratio_of_means(means[0][both], means[1][both], level=level)


def prompt_means(tokens: Tokens, values_T: Floats, keep_T: npt.NDArray[np.bool_]) -> Floats:
    """Return the mean over the kept tokens of each prompt; NaN where it has none."""
    size = int(tokens.prompt_S.max(initial=-1)) + 1
    prompt = tokens.prompt_T[keep_T]
    count = np.bincount(prompt, minlength=size)
    total = np.bincount(prompt, values_T[keep_T], minlength=size)
    with np.errstate(invalid="ignore"):
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _cell(
    tokens: Tokens, before: str, after: str, keep_T: npt.NDArray[np.bool_], label: str, level: float
) -> Cell:
    change = tokens.logp_T[after] - tokens.logp_T[before]
    size_P, change_P = (prompt_means(tokens, v, keep_T) for v in (np.abs(change), change))
    seen = ~np.isnan(size_P)
    size = mean_interval(size_P[seen], level=level, bounds=None)
    return Cell(
        label=label,
        size=replace(size, low=max(size.low, 0.0)) if size.low < 0 else size,
        change=mean_interval(change_P[seen], level=level, bounds=None),
        n_prompts=int(seen.sum()),
        n_tokens=int(keep_T.sum()),
    )


def join_tokens(
    phase_names: Sequence[Sequence[str]],
    prompt_S: Sequence[int],
    logps: dict[str, Sequence[Sequence[float]]],
    entropies: dict[str, Sequence[Sequence[float]]],
) -> Tokens:
    """Lay S sequences out in a row: per sequence its tokens' phases and, by policy, scores."""
    lengths = np.array([len(one) for one in phase_names], dtype=np.int64)
    flat = [name for one in phase_names for name in one]
    phases = tuple(dict.fromkeys(flat))
    code = {name: j for j, name in enumerate(phases)}
    starts = np.cumsum(lengths) - lengths
    sequence_T = np.repeat(np.arange(lengths.size), lengths)
    return Tokens(
        sequence_T=sequence_T,
        position_T=np.arange(lengths.sum()) - starts[sequence_T],
        phase_T=np.array([code[name] for name in flat], dtype=np.int64),
        phases=phases,
        prompt_S=np.asarray(prompt_S, dtype=np.int64),
        logp_T={name: _row(values) for name, values in logps.items()},
        entropy_T={name: _row(values) for name, values in entropies.items()},
    )


def _row(values: Sequence[Sequence[float]]) -> Floats:
    return np.array([value for one in values for value in one], dtype=np.float64)
