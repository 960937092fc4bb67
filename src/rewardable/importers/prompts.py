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
    """Builds each prompt once. Keys: the given id, else the normalised text and the gold answer.

    Of prompts that were handed over it keeps digests alone.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._known: dict[str, tuple[int, int]] = {}
        self._fresh: list[Prompt] = []
        self._rows: dict[str, int | str] = {}
        self._ids: dict[tuple[str, str], str] = {}
        self._raw_texts: set[int] = set()
        self.merged_texts = 0

    def __len__(self) -> int:
        return len(self._known)

    def handed_over(self) -> list[Prompt]:
        """Return the prompts that are new since the last call, in the order of their first row."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def key(
        self, *, number: int | str, task: str, given: Any, content: Any, facts: Mapping[str, Any]
    ) -> str:
        """Return the key of a row's prompt; DataError when an earlier row said something else."""
        messages = self._messages(content, number)
        key = self._key(number, task, given, messages, facts)
        stated = finite(dict(facts))
        turns = [[message.role, message.content] for message in messages]
        said, known = (_mark(turns), _mark(stated)), self._known.get(key)
        if known is None:
            prompt = Prompt(
                task=task,
                task_version=UNKNOWN_VERSION,
                messages=messages,
                facts=stated,
                explicit_key=key,
            )
            self._fresh.append(prompt)
            self._known[key] = said
            self._rows[key] = number
        elif said != known:
            self._reconcile(key, number, said, named=given is not None)
        return key

    def _key(
        self,
        number: int | str,
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
        self, key: str, number: int | str, said: tuple[int, int], *, named: bool
    ) -> None:
        """Refuse a row that says something else of a prompt; count what differs in form alone."""
        rows = f"{self._source} rows {self._rows[key]} and {number}"
        if named:
            raise DataError(
                f"{rows} name the same prompt, but its text or facts differ. Map a prompt_id that "
                "is unique within the task, or the task too."
            )
        turns, facts = said
        if facts != self._known[key][1]:
            raise DataError(
                f"{rows} hold the same prompt with other facts; map a prompt_id, or leave the "
                "fact out."
            )
        self.merged_texts += turns not in self._raw_texts
        self._raw_texts.add(turns)

    def _messages(self, content: Any, number: int | str) -> tuple[Message, ...]:
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


def _mark(value: Any) -> int:
    return int(digest(value, length=16), 16)


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
        role, content = item.get("role"), _content(item.get("content"))
        if not isinstance(role, str) or content is None:
            return None
        turns.append((role, content))
    return turns


def _content(value: Any) -> str | None:
    """Return a message's text: reasoning in think tags, a picture or call as its kind."""
    if isinstance(value, str | None):
        return value or ""
    if not isinstance(value, list):
        return None
    pieces: list[str] = []
    for part in value:
        if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
            return None
        text, reasoning = part.get("text"), part.get("reasoning")
        if part["type"] == "reasoning" and isinstance(reasoning, str):
            pieces.append(f"<think>\n{reasoning}\n</think>")
        else:
            pieces.append(text if isinstance(text, str) else f"[{part['type']}]")
    return "\n".join(pieces)


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
