"""What can go wrong, as one tree.

RewardableError            base of everything raised on purpose
├── UserError              the caller's mistake: the CLI prints it and exits with code 2
│   ├── ConfigError        a configuration that cannot be meant
│   ├── DataError          input rows that cannot be used; names the rows
│   ├── ResumeError        the run folder belongs to another configuration
│   └── MissingExtraError  an optional dependency is not installed
└── BoundaryError          a foreign part (engine, verifier, file) failed; carries where

A message says what was got, what was expected and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class RewardableError(Exception):
    """Base of all errors that this package raises on purpose."""


class UserError(RewardableError):
    """The caller's mistake. The command line prints it without traceback and exits with 2."""


class ConfigError(UserError, ValueError):
    """A configuration that cannot be meant: unknown key, value out of range."""


class DataError(UserError, ValueError):
    """Input rows that cannot be used. The message names the rows."""


class ResumeError(UserError):
    """The run folder was made with another configuration."""


class MissingExtraError(UserError, ImportError):
    """An optional dependency is missing. The message names the extra to install."""


class BoundaryError(RewardableError):
    """A part outside this package failed (engine, verifier, file format).

    Parameters
    ----------
    where: the boundary that was crossed, for example ``"verifier countdown@1"``.
    why: what happened there, one line.
    """

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}")
        self.where = where
        self.why = why


def suggest(got: str, known: Iterable[str]) -> str:
    """Return ``" Did you mean 'x', 'y'?"`` for the nearest known names, or ``""``."""
    near = get_close_matches(got, list(known), n=3, cutoff=0.5)
    return f" Did you mean {', '.join(repr(name) for name in near)}?" if near else ""


def unknown_name(kind: str, got: str, known: Iterable[str], *, hint: str = "") -> ConfigError:
    """Build the error for a name that is in no table: nearest names, then how to list all."""
    names = sorted(known)
    listing = hint or f"Known: {', '.join(names)}."
    return ConfigError(f"unknown {kind} {got!r}.{suggest(got, names)} {listing}")
