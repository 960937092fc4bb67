"""Prompts of requests: messages, plain text or token ids, side by side in one engine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardable.engines.hf.prompts import PromptEncoder
from rewardable.engines.mixing.checkpoints import CheckpointSampler
from rewardable.protocols import Sampler
from rewardable.records import Message, Prompt, digest

CHAT, TEXT, IDS = "served chat", "served text", "served ids"
"""Task of a request's prompt: how its content becomes ids."""


def chat_prompt(turns: Sequence[tuple[str, str]], opening: str = "") -> Prompt:
    """Return the prompt of (role, content) turns."""
    return _prompt(CHAT, turns, opening)


def text_prompt(text: str) -> Prompt:
    """Return the prompt of a text without a template."""
    return _prompt(TEXT, [("user", text)])


def ids_prompt(ids: Sequence[int]) -> Prompt:
    """Return the prompt of token ids."""
    return _prompt(IDS, [("user", json.dumps(list(ids)))])


def _prompt(kind: str, turns: Sequence[tuple[str, str]], opening: str = "") -> Prompt:
    messages = tuple(Message(role=role, content=content) for role, content in turns)
    return Prompt(
        task=kind,
        task_version="1",
        messages=messages,
        explicit_key=digest(kind, [list(turn) for turn in turns], opening),
    )


@dataclass(frozen=True, kw_only=True)
class ServedEncoder(PromptEncoder):
    """Encodes each kind of prompt in its way."""

    def ids(self, prompt: Prompt) -> list[int]:
        """Return the prompt's ids."""
        if prompt.task == IDS:
            return list(json.loads(prompt.text))
        return self._plain(prompt).ids(prompt) if prompt.task == TEXT else super().ids(prompt)

    def with_opening(self, prompt: Prompt, opening: str) -> tuple[list[int], list[int]]:
        """Return (prompt ids, opening ids); ids and text bring their opening along."""
        if prompt.task == CHAT:
            return super().with_opening(prompt, opening)
        return self.ids(prompt), []

    def _plain(self, prompt: Prompt) -> PromptEncoder:
        return PromptEncoder(tokenizer=self.tokenizer, template="")


def as_served(engine: Sampler) -> Sampler:
    """Return the engine with an encoder that knows all kinds of prompts, where it has one."""
    if isinstance(engine, CheckpointSampler):
        return replace(engine, parts=tuple(as_served(part) for part in engine.parts))
    encoder = encoder_of(engine)
    if encoder is None:
        return engine
    served = ServedEncoder(tokenizer=encoder.tokenizer, template=encoder.template)
    changed: Any = engine
    return replace(changed, encoder=served)


def encoder_of(engine: Sampler) -> PromptEncoder | None:
    """Return the encoder of an engine, or of a mix's first part; None where there is none."""
    if isinstance(engine, CheckpointSampler):
        return encoder_of(engine.parts[0])
    found = getattr(engine, "encoder", None)
    return found if isinstance(found, PromptEncoder) else None


def context_of(engine: Sampler) -> int | None:
    """Return the most tokens of prompt and completion; None where nothing says."""
    if isinstance(engine, CheckpointSampler):
        known = [length for part in engine.parts if (length := context_of(part))]
        return min(known, default=None)
    found = getattr(engine, "context", None)
    return found if isinstance(found, int) else None
