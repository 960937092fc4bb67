"""How a server is asked: sizes, patience, and where the key comes from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from rewardable.engines.arguments import check_names
from rewardable.errors import ConfigError

IN_FLIGHT = 256
"""Sequences in flight unless ``batch_rows`` says otherwise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpSettings:
    """Arguments of the engine. None of them changes what is drawn, but for ``tokenizer``.

    samples: of one prompt in a request; 0 is 8 on vLLM, whose samples have seeds of their own, and
    1 elsewhere. timeout_s: for an answer. attempts: of a request that the server takes and fails.
    wait_s: for a server that does not answer, or has no room, before giving up.
    tokenizer: folder or hub id of the served model's tokenizer; empty takes the folder that the
    server names if it lies here; ``none`` uses none. key_env: environment variable of the API key.
    """

    samples: int = 0
    timeout_s: float = 600.0
    attempts: int = 6
    wait_s: float = 900.0
    tokenizer: str = ""
    key_env: str = "REWARDABLE_API_KEY"

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        for name, least in (("samples", 0), ("attempts", 1), ("timeout_s", 0.001), ("wait_s", 0)):
            value = getattr(self, name)
            kinds = int if name in ("samples", "attempts") else int | float
            if not isinstance(value, kinds) or isinstance(value, bool) or value < least:
                raise ConfigError(f"{name} must be a number >= {least}, got {value!r}.")
        for name in ("tokenizer", "key_env"):
            if not isinstance(getattr(self, name), str):
                raise ConfigError(f"{name} must be a text, got {getattr(self, name)!r}.")

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> HttpSettings:
        """Build the settings; an unknown argument is an error with a suggestion."""
        check_names(arguments, (field.name for field in fields(cls)), "http")
        return cls(**arguments)

    def key(self) -> str:
        """Return the API key, or ``""``; it is read here and kept nowhere else."""
        key = os.environ.get(self.key_env, "").strip()
        if not key.isascii() or not key.isprintable():
            raise ConfigError(f"the key in ${self.key_env} holds characters that no header takes.")
        return key
