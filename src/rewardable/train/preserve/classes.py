"""Opening classes of a prompt as token ids: of texts that a task lists, or of sampled ids.

A tokenizer may join the end of an opening with what follows ("4" and "*7"). So openings are taken
from the ids of whole texts: the shortest run of tokens that covers the opening's text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from rewardable.errors import DataError
from rewardable.records import Prompt
from rewardable.train.preserve.trees import Ids


@runtime_checkable
class ListsOpenings(Protocol):
    """A task that can say how answers may begin, and give texts that do."""

    def entry_openings(self, prompt: Prompt) -> Mapping[str, Sequence[str]]:
        """Return class -> texts that an answer of this class may begin with."""
        ...

    def solution_texts(self, prompt: Prompt, count: int, seed: int) -> Sequence[str]:
        """Return up to ``count`` whole answers."""
        ...


def prompt_text(tokenizer: Any, prompt: Prompt) -> str:
    """Return the prompt as the tokenizer reads it."""
    if tokenizer.chat_template is None:
        return prompt.text
    turns = [{"role": m.role, "content": m.content} for m in prompt.messages]
    return tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)


def continuation_ids(tokenizer: Any, before: str, text: str) -> Ids:
    """Return the ids of ``text`` behind ``before``.

    Where the tokenizer would join both, the text's own ids are taken: a policy continues the
    prompt's ids as they are.
    """
    head = list(tokenizer(before, add_special_tokens=False)["input_ids"])
    both = list(tokenizer(before + text, add_special_tokens=False)["input_ids"])
    if both[: len(head)] == head:
        return tuple(both[len(head) :])
    return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])


def covering(tokenizer: Any, ids: Ids, opening: str) -> Ids | None:
    """Return the fewest first tokens of ``ids`` whose text begins with ``opening``."""
    for end in range(1, len(ids) + 1):
        if tokenizer.decode(ids[:end]).startswith(opening):
            return ids[:end]
    return None


def listed_openings(
    tokenizer: Any, task: ListsOpenings, prompt: Prompt, *, texts: int, seed: int
) -> dict[str, list[Ids]]:
    """Return class -> openings, from ``texts`` whole answers and from the opening texts alone.

    An opening text alone ends where the class does, so its ids hold for a tokenizer that keeps the
    border; the whole answers add the tokens that stretch over it.

    Raises
    ------
    DataError: the task lists no opening for the prompt.
    """
    before = prompt_text(tokenizer, prompt)
    whole = [
        continuation_ids(tokenizer, before, t) for t in task.solution_texts(prompt, texts, seed)
    ]
    found: dict[str, list[Ids]] = {}
    for name, starts in sorted(task.entry_openings(prompt).items()):
        found[name] = [
            ids
            for start in starts
            for text in (continuation_ids(tokenizer, before, start), *whole)
            if (ids := covering(tokenizer, text, start)) is not None
        ]
    if not any(found.values()):
        raise DataError(f"the task lists no openings for {prompt.text[:80]!r}.")
    return {name: ids for name, ids in found.items() if ids}


def sampled_openings(rows: Sequence[Ids], most: int) -> dict[str, list[Ids]]:
    """Return the ``most`` frequent distinct rows, each a class of its own.

    Rows are the first m ids of completions, or fewer where these end: none begins another.
    """
    counts = Counter(tuple(row) for row in rows)
    kept = sorted(counts, key=lambda ids: (-counts[ids], ids))[:most]
    return {" ".join(map(str, ids)): [ids] for ids in kept}
