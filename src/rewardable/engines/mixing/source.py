"""A mix of policies by name: ``mix:KIND,OPTION=VALUE,...,TRAINED,EARLIER``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

from rewardable.errors import ConfigError, unknown_name

MIX_PREFIX = "mix:"
LOGITS, PROBABILITIES, OPENING, CHECKPOINTS = "logits", "probabilities", "opening", "checkpoints"
FORMS = {
    LOGITS: "mix:logits,alpha=0.3[,first=4],TRAINED,EARLIER",
    PROBABILITIES: "mix:probabilities,alpha=0.3[,first=4],TRAINED,EARLIER",
    OPENING: "mix:opening,tokens=4,TRAINED,EARLIER",
    CHECKPOINTS: "mix:checkpoints[,weights=0.7/0.3],SOURCE,SOURCE...",
}
OPTIONS = {
    LOGITS: ("alpha", "first"),
    PROBABILITIES: ("alpha", "first"),
    OPENING: ("tokens",),
    CHECKPOINTS: ("weights",),
}
PERIOD_MOST = 10_000
"""Weights are whole shares of at most so many draws."""
_OPTION = re.compile(r"([A-Za-z_]+)=(.*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class MixSource:
    """What a mix's name says.

    given: its options as written. alpha: the earlier policy's share. first: how many tokens of a
    completion are mixed; 0 means all. weights: whole numbers without a common divisor.
    """

    kind: str
    given: tuple[str, ...]
    sources: tuple[str, ...]
    alpha: float = 0.0
    first: int = 0
    weights: tuple[int, ...] = ()

    def text(self, sources: Sequence[str] = ()) -> str:
        """Return the mix's name, with other names for its parts where they are given."""
        return MIX_PREFIX + ",".join((self.kind, *self.given, *(sources or self.sources)))


def is_mix(source: str) -> bool:
    """Tell whether ``source`` names a mix."""
    return source.startswith(MIX_PREFIX)


def parse_mix(source: str) -> MixSource:
    """Read a mix's name; ConfigError says what is wrong and shows the right form."""
    kind, *items = source.removeprefix(MIX_PREFIX).split(",")
    if kind not in FORMS:
        raise unknown_name("kind of mix", kind, FORMS, hint=f"A mix is {'; '.join(FORMS.values())}")
    given, options = _options(kind, items)
    sources = tuple(item.strip() for item in items[len(given) :])
    _check_sources(kind, sources)
    mix = MixSource(kind=kind, given=given, sources=sources)
    if kind == CHECKPOINTS:
        return replace(mix, weights=_weights(options.get("weights"), len(sources)))
    if kind == OPENING:
        return replace(mix, alpha=1.0, first=_tokens(kind, "tokens", options.get("tokens")))
    first = _tokens(kind, "first", options["first"]) if "first" in options else 0
    return replace(mix, alpha=_alpha(kind, options.get("alpha")), first=first)


def renamed(source: str, rename: Callable[[str], str]) -> str:
    """Return the mix's name with ``rename`` applied to each of its parts."""
    mix = parse_mix(source)
    names = [rename(part) for part in mix.sources]
    for name in names:
        if "," in name:
            raise ConfigError(f"a part of a mix cannot have a comma in its name, got {name!r}.")
    return mix.text(names)


def _options(kind: str, items: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the leading options, as written and by name."""
    found: dict[str, str] = {}
    for item in items:
        match = _OPTION.fullmatch(item)
        if match is None:
            break
        name, value = match.groups()
        if name not in OPTIONS[kind]:
            hint = f"A {kind} mix is {FORMS[kind]}; write a folder of such a name ./{item}."
            raise unknown_name(f"option of a {kind} mix", name, OPTIONS[kind], hint=hint)
        if name in found:
            raise ConfigError(f"the option {name} of a {kind} mix is given twice.")
        found[name] = value
    return tuple(items[: len(found)]), found


def _check_sources(kind: str, sources: Sequence[str]) -> None:
    most = len(sources) if kind == CHECKPOINTS else 2
    if not 2 <= len(sources) <= most or not all(sources):
        wanted = "two or more" if kind == CHECKPOINTS else "two"
        raise ConfigError(
            f"a {kind} mix has {wanted} policies, got {len(sources)} "
            f"({', '.join(map(repr, sources))}); expected {FORMS[kind]}. "
            "A comma parts two names; options stand before the names."
        )
    for source in sources:
        known = {name for names in OPTIONS.values() for name in names}
        match = _OPTION.fullmatch(source)
        if match is not None and match.group(1) in known:
            raise ConfigError(f"the option {source!r} stands behind a policy: {FORMS[kind]}.")
        if is_mix(source):
            raise ConfigError(f"a mix cannot be part of a mix, got {source!r}.")


def _alpha(kind: str, text: str | None) -> float:
    try:
        alpha = float(text or "")
    except ValueError:
        alpha = math.nan
    if not 0 <= alpha <= 1:
        raise ConfigError(
            f"alpha, the earlier policy's share, must lie in [0, 1], got {text!r}: {FORMS[kind]}."
        )
    return alpha


def _tokens(kind: str, name: str, text: str | None) -> int:
    if text is None or not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ConfigError(f"{name} must be a whole number >= 1, got {text!r}: {FORMS[kind]}.")
    return int(text)


def _weights(text: str | None, count: int) -> tuple[int, ...]:
    """Return the weights as whole numbers; equal ones where none are given."""
    if text is None:
        return (1,) * count
    try:
        shares = [Fraction(part.strip()) for part in text.split("/")]
    except (ValueError, ZeroDivisionError):
        shares = []
    if len(shares) != count or not all(share > 0 for share in shares):
        raise ConfigError(
            f"weights must be {count} numbers > 0, one a policy, with slashes between, "
            f"got {text!r}: {FORMS[CHECKPOINTS]}."
        )
    scale = reduce(math.lcm, (share.denominator for share in shares))
    whole = [int(share * scale) for share in shares]
    divisor = reduce(math.gcd, whole)
    weights = tuple(one // divisor for one in whole)
    if sum(weights) > PERIOD_MOST:
        raise ConfigError(
            f"weights={text} are shares of {sum(weights)} draws, at most {PERIOD_MOST} are kept "
            "apart: write fewer digits."
        )
    return weights
