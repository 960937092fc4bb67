"""How closely to look: the options of every method."""

from __future__ import annotations

from dataclasses import dataclass

from rewardable.errors import ConfigError, unknown_name
from rewardable.locate.rules import OPENING_RULES, OTHER, RESTATING, Rule

METHODS = ("entries", "likelihood", "entropy", "openings", "interventions", "drift", "series")
TOKEN_METHODS = frozenset(METHODS) - {"entries"}
"""Methods that take one policy's tokens to another."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """How closely to look.

    methods: which to run. forced_n: samples of each forced (prompt, family). families: at most so
    many forced families a prompt, all of the solver's where there are fewer.
    sequences: scored texts a prompt and source. opening_tokens: m of the opening distribution.
    doses: tokens of the other policy's opening that are given. dose_n: samples a prompt and dose.
    arms: opening classes to force against each other; empty takes the two most frequent.
    opening_rules: the classes, tried in order.
    entry, phases: names of the rules (``auto``: the task's own), ``re:PATTERN`` or
    ``module:attr``. preamble: text before a forced entry. low_access: a family is of low access
    below this share. coverage_k: budget of the coverage split, 0 is half of n.
    reference: ``formatted`` (the earliest policy with the format) or ``first``.
    """

    methods: tuple[str, ...] = METHODS
    forced_n: int = 16
    families: int = 12
    sequences: int = 8
    opening_tokens: int = 4
    doses: tuple[int, ...] = (1, 2, 4, 8)
    dose_n: int = 8
    arms: tuple[str, ...] = ()
    opening_rules: tuple[Rule, ...] = OPENING_RULES
    entry: str = "auto"
    phases: str = "auto"
    preamble: str = ""
    low_access: float = 0.05
    coverage_k: int = 0
    reference: str = "formatted"
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        for method in self.methods:
            if method not in METHODS:
                raise unknown_name("method", method, METHODS)
        for name in ("forced_n", "families", "sequences", "opening_tokens", "dose_n"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.reference not in ("formatted", "first"):
            raise unknown_name("reference", self.reference, ("formatted", "first"))
        if not self.doses or min(self.doses) < 1:
            raise ConfigError(f"doses must be token counts >= 1, got {self.doses}.")
        self._check_arms()
        if not 0 < self.low_access < 1:
            raise ConfigError(f"low_access must lie in (0, 1), got {self.low_access}.")

    def _check_arms(self) -> None:
        classes = [*(rule.name for rule in self.opening_rules), RESTATING, OTHER]
        for arm in self.arms:
            if arm not in classes:
                raise unknown_name("opening class", arm, classes)
        if len(set(self.arms)) == 1:
            raise ConfigError(f"arms are compared: name two opening classes, got {self.arms[0]!r}.")
