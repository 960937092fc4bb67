"""Which prompt a row is about, and whether the rows agree on it."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Mapping
from typing import Any

from rewardable.errors import DataError
from rewardable.records import Message, Prompt, digest

UNKNOWN_VERSION = "imported"


class PromptBook:
    """Builds each prompt once. Keys: the given id, else the normalised text and the gold answer."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._prompts: dict[str, Prompt] = {}
        self._rows: dict[str, int] = {}
        self._ids: dict[tuple[str, str], str] = {}
        self._raw_texts: set[str] = set()
        self.merged_texts = 0

    @property
    def prompts(self) -> list[Prompt]:
        """All prompts so far, in the order of their first row."""
        return list(self._prompts.values())

    def prompt(
        self, *, number: int, task: str, given: Any, content: Any, facts: Mapping[str, Any]
    ) -> Prompt:
        """Return the prompt of a row; DataError when an earlier row said something else."""
        messages = self._messages(content, number)
        key = self._key(number, task, given, messages, facts)
        stated = finite(dict(facts))
        known = self._prompts.get(key)
        if known is None:
            known = Prompt(
                task=task,
                task_version=UNKNOWN_VERSION,
                messages=messages,
                facts=stated,
                explicit_key=key,
            )
            self._prompts[key] = known
            self._rows[key] = number
        elif messages != known.messages or stated != known.facts:
            self._reconcile(known, number, messages, stated, named=given is not None)
        return known

    def _key(
        self,
        number: int,
        task: str,
        given: Any,
        messages: tuple[Message, ...],
        facts: Mapping[str, Any],
    ) -> str:
        if given is not None:
            if isinstance(given, float) and given.is_integer():
                given = int(given)
            if not isinstance(given, str | int) or given == "":
                raise DataError(
                    f"{self._source} row {number}: prompt_id is {str(given)[:80]!r}, expected a "
                    "text or a whole number."
                )
            place = (task, str(given))
            if place not in self._ids:
                self._ids[place] = digest("imported", *place)
            return self._ids[place]
        turns = [[message.role, normalised(message.content)] for message in messages]
        if not messages:
            raise DataError(f"{self._source} row {number}: neither a prompt nor a prompt_id.")
        return digest("imported-text", task, turns, finite(facts.get("answer")))

    def _reconcile(
        self,
        known: Prompt,
        number: int,
        messages: tuple[Message, ...],
        facts: Mapping[str, Any],
        *,
        named: bool,
    ) -> None:
        """Refuse a row that says something else of a prompt; count what differs in form alone."""
        rows = f"{self._source} rows {self._rows[known.key]} and {number}"
        if named:
            raise DataError(
                f"{rows} name the same prompt, but its text or facts differ. Map a prompt_id that "
                "is unique within the task, or the task too."
            )
        if facts != known.facts:
            raise DataError(
                f"{rows} hold the same prompt with other facts; map a prompt_id, or leave the "
                "fact out."
            )
        text = "\n\n".join(message.content for message in messages)
        self.merged_texts += text not in self._raw_texts
        self._raw_texts.add(text)

    def _messages(self, content: Any, number: int) -> tuple[Message, ...]:
        if content is None:
            return ()
        if isinstance(content, str):
            return (Message(role="user", content=content),)
        turns = turns_of(content)
        if turns is None:
            raise DataError(
                f"{self._source} row {number}: the prompt is {str(content)[:80]!r}, expected a "
                "text or a list of messages with role and content."
            )
        return tuple(Message(role=role, content=text) for role, text in turns)


def normalised(text: str) -> str:
    """Return ``text`` in Unicode form C with runs of white space as one blank."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def turns_of(value: Any) -> list[tuple[str, str]] | None:
    """Read messages as (role, content), None when ``value`` is no list of messages."""
    if not isinstance(value, list) or not value:
        return None
    turns: list[tuple[str, str]] = []
    for item in value:
        if not isinstance(item, Mapping):
            return None
        role, content = item.get("role"), item.get("content")
        if not isinstance(role, str) or not isinstance(content, str | None):
            return None
        turns.append((role, content or ""))
    return turns


def finite(value: Any) -> Any:
    """Return a JSON value with not-a-number and infinities as None, and odd objects as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, str | int | float | bool | None):
        return value
    return json.dumps(value, default=str)
