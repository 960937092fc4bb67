"""Texts with known fields: from a local JSONL file, or generated."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardable.errors import DataError
from rewardable.records import Prompt, user_prompt
from rewardable.tasks.distinct import distinct_prompts
from rewardable.tasks.extraction.compare import KINDS, Policy, kind_of
from rewardable.tasks.extraction.generate import draw_record
from rewardable.tasks.extraction.verify import ExtractionVerifier
from rewardable.tasks.options import spec_of
from rewardable.tasks.rows import read_rows, seeded

VERSION = "1"
_TEXT = (
    "Extract these fields from the text and give them as one JSON object.\n{fields}\n"
    "Dates are written YYYY-MM-DD.\n\nText: {text}"
)


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """Options of field extraction.

    path: JSONL with ``text``, ``fields`` (name -> gold value) and, optional, ``types`` (name ->
    string, integer, number, boolean, date, list); empty generates booking notes. policy: see
    ``verify``.
    """

    path: str = ""
    policy: Policy = "strict"

    def build(self) -> ExtractionTask:
        """Build the task; nothing is read before prompts are asked for."""
        verifier = ExtractionVerifier(policy=self.policy)
        name = spec_of("extraction", self, leave_out=("policy",))
        return ExtractionTask(name=name, verifier=verifier, config=self)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractionTask:
    """Prompts; facts hold ``fields``, ``types`` and the number of fields as ``difficulty``."""

    name: str
    verifier: ExtractionVerifier
    config: Extraction
    version: str = VERSION

    def prompts(self, count: int, seed: int) -> Sequence[Prompt]:
        """Return ``count`` distinct prompts; a larger count continues the same sequence.

        Raises
        ------
        DataError: the file has fewer, or a row that cannot be used.
        """
        rng = random.Random(f"extraction {seed}")
        if not self.config.path:
            return self._generated(rng, count)
        rows = list(enumerate(read_rows("extraction", self.config.path, "", "")))
        order = seeded(rows, count, seed, self.name)
        return tuple(self._from_row(row, index) for index, row in order)

    def gold_answers(self, prompt: Prompt) -> Sequence[str]:
        """Return the gold fields as one JSON object."""
        return (json.dumps(prompt.facts["fields"]),)

    def _generated(self, rng: random.Random, count: int) -> tuple[Prompt, ...]:
        def draw(_: int) -> Prompt:
            text, fields = draw_record(rng)
            return self._prompt(text, fields, {})

        return distinct_prompts(self.name, count, draw)

    def _from_row(self, row: Any, index: int) -> Prompt:
        row = row if isinstance(row, dict) else {}
        text, fields, types = row.get("text"), row.get("fields"), row.get("types") or {}
        if not isinstance(text, str) or not isinstance(fields, dict) or not fields:
            raise DataError(f"row {index} of {self.config.path} needs text and fields.")
        for name, gold in fields.items():
            if (types.get(name) or kind_of(gold)) not in KINDS:
                raise DataError(
                    f"row {index} of {self.config.path}: field {name!r} must be one of "
                    f"{', '.join(KINDS)} (of strings), got {gold!r}."
                )
        return self._prompt(text, fields, types)

    def _prompt(self, text: str, fields: Mapping[str, Any], told: Mapping[str, str]) -> Prompt:
        types = {name: told.get(name) or kind_of(gold) for name, gold in fields.items()}
        listing = "\n".join(f"- {name} ({kind})" for name, kind in types.items())
        facts = {
            "fields": dict(fields),
            "types": types,
            "difficulty": {"fields": len(fields)},
        }
        content = _TEXT.format(fields=listing, text=text)
        return user_prompt(self.name, self.version, content, facts)
