"""A policy with known categorical behaviour, so that the truth is known in tests and docs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardable.engines.keyed import uniforms
from rewardable.errors import ConfigError, DataError, UserError
from rewardable.protocols import SampleRequest, ScoreRequest, TokenScores
from rewardable.records import (
    Completion,
    FinishReason,
    Policy,
    Prompt,
    Rollout,
    RolloutId,
    SamplingSpec,
    digest,
    failed_completion,
)

Table = Mapping[str, Mapping[str, float]]
Behaviour = Callable[[Prompt], Mapping[str, float]]
Failure = Callable[[Prompt, int], str]
ANY = "*"
"""The table's row for prompts that it does not name."""


@dataclass(frozen=True)
class FakePolicy:
    """Answers each prompt with one of a few texts, at known probabilities.

    ``table`` maps a prompt's text or key (or ``"*"``, any other prompt) to
    ``{completion text: probability}``; a function of the prompt does as well. A whole text counts
    as one token whose id is its place among the prompt's texts in sorted order; temperature, top-p
    and top-k therefore act on the texts. ``truncated`` texts finish by length; ``failure`` gives a
    reason for the rows that shall fail (``""`` for the others), ``failure_rate`` makes that share
    of the rows fail.
    """

    name: str
    table: Table | Behaviour
    truncated: frozenset[str] = frozenset()
    failure: Failure | None = None
    failure_rate: float = 0.0
    policy: Policy = field(init=False)

    def __post_init__(self) -> None:
        """Refuse a table of another form, or one that does not sum to one, with a DataError.

        A ``failure_rate`` outside [0, 1] is a ConfigError.
        """
        _check_rate(self.failure_rate)
        if isinstance(self.table, Mapping):
            for prompt, row in self.table.items():
                _check(prompt, row)
            content = {prompt: dict(row) for prompt, row in self.table.items()}
            weights = digest("fake", content, sorted(self.truncated))
        elif callable(self.table):
            weights = digest("fake", self.name)
        else:
            raise DataError(
                "table must map prompts to {completion text: probability}, got a "
                f"{type(self.table).__name__}: {str(self.table)[:80]}"
            )
        policy = Policy(name=self.name, weights=weights, template="raw", source=f"fake:{self.name}")
        object.__setattr__(self, "policy", policy)

    @classmethod
    def from_file(cls, path: str | Path) -> FakePolicy:
        """Read ``{"name", "table", "truncated", "failure_rate"}``; only the table is required.

        Raises ConfigError for a file that is no such object, DataError for its table; both name
        the file.
        """
        file = Path(path)
        try:
            raw = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"cannot read the fake policy {file}: {error}.") from error
        if not isinstance(raw, dict) or "table" not in raw:
            raise ConfigError(f"{file} must hold an object with a 'table' of prompt -> texts.")
        name, truncated = raw.get("name", file.stem), raw.get("truncated", [])
        if not isinstance(name, str):
            raise ConfigError(f"{file}: 'name' must be a text, got {name!r}.")
        if not isinstance(truncated, list) or not all(isinstance(t, str) for t in truncated):
            raise ConfigError(f"{file}: 'truncated' must be a list of texts, got {truncated!r}.")
        rate = raw.get("failure_rate", 0.0)
        try:
            return cls(name, raw["table"], truncated=frozenset(truncated), failure_rate=rate)
        except UserError as error:
            raise type(error)(f"{file}: {error}") from error

    def distribution(self, prompt: Prompt) -> dict[str, float]:
        """Return the prompt's texts, sorted, with their probabilities at temperature 1."""
        if isinstance(self.table, Mapping):
            row = next(
                (self.table[k] for k in (prompt.key, prompt.text, ANY) if k in self.table), None
            )
            if row is None:
                raise DataError(f"{self.name} knows no answer to the prompt {prompt.text!r}.")
        else:
            row = self.table(prompt)
            _check(prompt.text, row)
        return dict(sorted(row.items()))

    def probability(self, prompt: Prompt, accept: Callable[[str], bool]) -> float:
        """Return the true probability that a text drawn at temperature 1 is accepted."""
        return math.fsum(p for text, p in self.distribution(prompt).items() if accept(text))

    def sample(self, requests: Sequence[SampleRequest], spec: SamplingSpec) -> Iterator[Rollout]:
        """Yield the rollouts, each drawn by its own random number."""
        policy_key, spec_key = self.policy.key, spec.key
        for request in requests:
            prompt_key = request.prompt.key
            try:
                row = _Row.make(self.distribution(request.prompt), spec, request.opening)
            except DataError as error:
                row = str(error)
            for index in request.indices:
                draws = uniforms(spec.seed, prompt_key, index, 2)
                completion = self._complete(request.prompt, index, row, draws)
                yield Rollout(
                    id=RolloutId(
                        policy_key=policy_key,
                        spec_key=spec_key,
                        prompt_key=prompt_key,
                        index=index,
                    ),
                    completion=completion,
                    provenance="engines.fake",
                )

    def _complete(
        self, prompt: Prompt, index: int, row: _Row | str, draws: NDArray[np.float64]
    ) -> Completion:
        if isinstance(row, str):
            return failed_completion(row)
        choice, chance = draws.tolist()
        if self.failure is not None and (reason := self.failure(prompt, index)):
            return failed_completion(reason)
        if chance < self.failure_rate:
            return failed_completion("injected failure")
        return row.completion(choice, self.truncated)

    def score(self, requests: Sequence[ScoreRequest]) -> Iterator[TokenScores]:
        """Yield log-probs of text ids; DataError for ids that the prompt's row does not have."""
        for request in requests:
            p_T = list(self.distribution(request.prompt).values())
            if len(request.token_ids) != 1 or not 0 <= request.token_ids[0] < len(p_T):
                raise DataError(
                    f"request {request.id!r}: expected one id below {len(p_T)}, "
                    f"got {request.token_ids}; a fake policy's completion is one token."
                )
            logprob = _log(p_T[request.token_ids[0]])
            entropy = -math.fsum(p * math.log(p) for p in p_T if p > 0)
            yield TokenScores(id=request.id, logprobs=(logprob,), entropies=(entropy,))


@dataclass(frozen=True)
class _Row:
    """A prompt's texts: raw probabilities and those that are drawn from."""

    texts: list[str]
    raw_T: NDArray[Any]
    drawn_T: NDArray[Any]

    @classmethod
    def make(cls, row: Mapping[str, float], spec: SamplingSpec, opening: str) -> _Row:
        texts, raw_T = list(row), np.array(list(row.values()), dtype=np.float64)
        fits_T = np.array([text.startswith(opening) for text in texts]) & (raw_T > 0)
        if not fits_T.any():
            raise DataError(f"no text of the fake policy begins with {opening!r}.")
        return cls(texts, raw_T, _processed(np.where(fits_T, raw_T, 0.0), spec))

    def completion(self, uniform: float, truncated: frozenset[str]) -> Completion:
        place = int(np.searchsorted(np.cumsum(self.drawn_T), uniform, side="right"))
        place = min(place, int(np.flatnonzero(self.drawn_T)[-1]))
        text = self.texts[place]
        positive_T = self.raw_T[self.raw_T > 0]
        return Completion(
            text=text,
            token_ids=(place,),
            logprobs=(_log(self.raw_T[place]),),
            sampling_logprobs=(_log(self.drawn_T[place]),),
            entropies=(float(-(positive_T * np.log(positive_T)).sum()),),
            finish_reason=FinishReason.LENGTH if text in truncated else FinishReason.STOP,
        )


def _processed(p_T: NDArray[Any], spec: SamplingSpec) -> NDArray[Any]:
    """Apply temperature, then top-k, then top-p; the result sums to one."""
    order_T = np.argsort(-p_T, kind="stable")
    if spec.temperature == 0:
        return np.where(np.arange(len(p_T)) == order_T[0], 1.0, 0.0)
    with np.errstate(divide="ignore"):
        log_T = np.log(p_T) / spec.temperature
    weight_T = np.exp(log_T - log_T.max())
    if spec.top_k:
        weight_T[order_T[spec.top_k :]] = 0.0
    weight_T /= weight_T.sum()
    before_T = np.cumsum(weight_T[order_T]) - weight_T[order_T]
    weight_T[order_T[before_T >= spec.top_p - 1e-12]] = 0.0
    return weight_T / weight_T.sum()


def _check_rate(rate: Any) -> None:
    if not _is_number(rate) or not 0 <= rate <= 1:
        raise ConfigError(f"failure_rate must be a number in [0, 1], got {rate!r}.")


def _check(prompt: Any, row: Any) -> None:
    """Raise DataError unless ``row`` maps texts to probabilities that sum to one."""
    if not isinstance(prompt, str) or not isinstance(row, Mapping):
        raise DataError(
            f"the prompt {prompt!r} must be a text with {{completion text: probability}}, "
            f"got a {type(row).__name__}: {str(row)[:80]}"
        )
    entries: Mapping[Any, Any] = row
    for text, p in entries.items():
        if not isinstance(text, str) or not _is_number(p) or not 0 <= p <= 1 + 1e-9:
            raise DataError(
                f"the prompt {prompt!r} must map completion texts to numbers >= 0 that sum to 1, "
                f"got {text!r}: {p!r}."
            )
    total = math.fsum(entries.values())
    if abs(total - 1.0) > 1e-9:
        raise DataError(
            f"probabilities of the prompt {prompt!r} must be >= 0 and sum to 1, got {total!r}."
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _log(p: float) -> float:
    return math.log(p) if p > 0 else -math.inf
