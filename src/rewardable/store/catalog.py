"""The policies, sampling specs and prompts of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, asdict, fields
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from rewardable.errors import ConfigError, DataError
from rewardable.records import Message, Policy, Prompt, SamplingSpec
from rewardable.store.codec import safe
from rewardable.store.files import write_text
from rewardable.store.parts import PartFolder
from rewardable.store.schema import PROMPTS

_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "tuple[str, ...]": (list,),
}
"""What stands in a file for a field of a record."""


class _Keyed(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def key(self) -> str: ...


Noun = TypeVar("Noun", bound=_Keyed)


def _merge(old: Sequence[Noun], new: Iterable[Noun]) -> list[Noun]:
    """Keep the first of the records that share a key."""
    found: dict[str, Noun] = {}
    for noun in (*old, *new):
        found.setdefault(noun.key, noun)
    return list(found.values())


def read_policies(path: Path) -> list[Policy]:
    """Read policies in the order in which they were added; DataError for a damaged file."""
    return [_record(Policy, row, where) for where, row in _read_json(path)]


def add_policies(path: Path, policies: Iterable[Policy]) -> None:
    """Add policies; one whose key is known keeps its first name."""
    old = read_policies(path)
    _write_json(path, old, _merge(old, policies))


def read_specs(path: Path) -> list[SamplingSpec]:
    """Read sampling specs in the order in which they were added; DataError for a damaged file."""
    return [_record(SamplingSpec, row, where) for where, row in _read_json(path)]


def add_specs(path: Path, specs: Iterable[SamplingSpec]) -> None:
    """Add sampling specs that are new."""
    old = read_specs(path)
    _write_json(path, old, _merge(old, specs))


def _read_json(path: Path) -> list[tuple[str, Any]]:
    """Return (where it stands, value) of every entry of a JSON list; no file is an empty list."""
    if not path.is_file():
        return []
    try:
        raw: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is not the JSON that was written there: {error}.") from error
    if not isinstance(raw, list):
        raise DataError(f"{path} holds {_short(raw)}, expected a list of objects.")
    return [(f"{path} entry {number}", row) for number, row in enumerate(raw, start=1)]


def _record(kind: type[Noun], row: Any, where: str) -> Noun:
    """Build a record from its JSON object; DataError says what is wrong and what was expected."""
    known = {field.name: field for field in fields(kind)}
    if not isinstance(row, Mapping):
        raise DataError(f"{where} is {_short(row)}, expected an object with {', '.join(known)}.")
    odd = [f"no field {name!r}" for name in row if name not in known]
    odd += [f"{name!r} missing" for name in known if name not in row and _required(known[name])]
    odd += [
        f"{name} is {_short(row[name])}, no {field.type}"
        for name, field in known.items()
        if name in row and not isinstance(row[name], _JSON_TYPES[str(field.type)])
    ]
    if odd:
        raise DataError(
            f"{where} is no {kind.__name__} ({'; '.join(odd)}); expected {', '.join(known)}. "
            "Restore the file from a copy."
        )
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in row.items()}
    try:
        return kind(**values)
    except ConfigError as error:
        raise DataError(f"{where} is no {kind.__name__}: {error}") from error


def _required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _write_json(path: Path, old: Sequence[Any], new: Sequence[Any]) -> None:
    if len(new) > len(old):
        write_text(path, json.dumps([asdict(noun) for noun in new], indent=1) + "\n")


class PromptCatalog:
    """Prompts by key, read once and kept up to date with what other writers add."""

    def __init__(self, folder: PartFolder) -> None:
        self._folder = folder
        self._seen: set[str] = set()
        self._content: dict[str, str] = {}
        self._prompts: dict[str, Prompt] = {}

    def refresh(self) -> None:
        """Read the parts that were added since the last call; DataError for a damaged one."""
        for name in self._folder.names():
            if name not in self._seen:
                self._content.update(_contents_of(self._folder.path / name))
                self._seen.add(name)

    def __len__(self) -> int:
        return len(self._content)

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def prompts(self, task: str | None) -> list[Prompt]:
        """Return the prompts in the order of their keys."""
        found = (self.prompt(key) for key in sorted(self._content))
        return [prompt for prompt in found if task is None or prompt.task == task]

    def prompt(self, key: str) -> Prompt:
        """Return the prompt with this key; KeyError when there is none, DataError for damage."""
        if key not in self._prompts:
            self._prompts[key] = _prompt_of(key, self._content[key], self._folder.path)
        return self._prompts[key]

    def add(self, prompts: Iterable[Prompt]) -> None:
        """Write the prompts that are new; hold the write lock. DataError for a clash of keys."""
        self.refresh()
        fresh: dict[str, Prompt] = {}
        contents: dict[str, str] = {}
        for prompt in prompts:
            key, content = prompt.key, content_of(prompt)
            known = self._content.get(key, contents.get(key))
            if known is None:
                fresh[key], contents[key] = prompt, content
            elif known != content:
                _prompt_of(key, known, self._folder.path)
                raise DataError(_clash(key, known, content))
        if fresh:
            self._write(fresh, contents)

    def _write(self, fresh: Mapping[str, Prompt], contents: Mapping[str, str]) -> None:
        columns = {
            "prompt_key": list(fresh),
            "task": [safe(prompt.task) for prompt in fresh.values()],
            "content": list(contents.values()),
        }
        self._seen.add(self._folder.write(pa.table(columns, schema=PROMPTS)))
        self._content.update(contents)


def content_of(prompt: Prompt) -> str:
    """Return all of a prompt as ASCII JSON; DataError when its facts are no JSON."""
    content = {
        "task": prompt.task,
        "task_version": prompt.task_version,
        "messages": [[message.role, message.content] for message in prompt.messages],
        "facts": dict(prompt.facts),
        "explicit_key": prompt.explicit_key,
    }
    try:
        return json.dumps(content, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"facts of prompt {prompt.key} must be JSON: {error}.") from error


def _contents_of(path: Path) -> dict[str, str]:
    """Return key -> content of a part of prompts."""
    try:
        with pq.ParquetFile(path) as file:  # read_table would load pandas where it is installed
            table = file.read(columns=["prompt_key", "content"])
        keys, contents = (table[name].to_pylist() for name in ("prompt_key", "content"))
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        line = str(error).split("\n", 1)[0]
        raise DataError(
            f"the prompts part {path} is damaged: {line}. Restore it from a copy, or move it away "
            "and sample again to go on, which writes the prompts anew."
        ) from error
    return dict(zip(keys, contents, strict=True))


def _prompt_of(key: str, content: str, folder: Path) -> Prompt:
    try:
        raw = json.loads(content)
        messages = tuple(Message(role=role, content=text) for role, text in raw.pop("messages"))
        return Prompt(messages=messages, **raw)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(
            f"prompt {key} in {folder} is not what was written there ({error!r}): "
            f"{_short(content)}. Restore the part that holds it from a copy."
        ) from error


def _clash(key: str, known: str, content: str) -> str:
    old, new = json.loads(known), json.loads(content)
    fields = [name for name in old if old[name] != new[name]]
    field = fields[0]
    return (
        f"prompt {key} is stored with another {' and '.join(fields)}: stored {field} "
        f"{_short(old[field])}, got {_short(new[field])}. Raise the task version, or use another "
        "run folder."
    )


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 160 else text[:157] + "..."
