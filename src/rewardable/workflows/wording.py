"""Count the wording of a run's texts once, so that measuring reads no text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain

from rewardable.collect import Grams, Progress, count_wording
from rewardable.metrics import count_grams, ngram_repetition
from rewardable.store import Run, WordingBook
from rewardable.workflows.events import Event, OnEvent

ORDERS = (1, 2, 3)
"""Of the n-grams whose distinct ones are counted."""
REPEATED = 4
"""Order of the n-grams that are looked for again within a text."""


def keep_wording(
    run: Run, prompt_keys: Collection[str], on_event: OnEvent, *, task: str, first: int = 0
) -> int:
    """Store what is missing or out of date; return for how many (policy, spec, prompt).

    first: count only rollouts with an index below it; 0 counts all.
    """

    def tell(progress: Progress) -> None:
        stage = f"wording of {task}"
        on_event(Event(stage=stage, done=progress.done, total=progress.total))

    book = WordingBook(run.path)
    return count_wording(book, prompt_keys, grams_of, first=first, on_progress=tell)


def grams_of(rows: Sequence[Sequence[int]]) -> Grams:
    """Count the n-grams of one prompt's texts, given as numbered words."""
    tokens = list(chain.from_iterable(rows))
    row = [place for place, words in enumerate(rows) for _ in words]
    found = [count_grams(tokens, row, order) for order in ORDERS]
    repeated = ngram_repetition(tokens, row, len(rows), REPEATED).tolist() if rows else []
    entries = [
        (order, seen, number)
        for order, (seen_S, number_S, _) in zip(ORDERS, found, strict=True)
        for seen, number in zip(seen_S.tolist(), number_S.tolist(), strict=True)
    ]
    return Grams(
        repetition=tuple(repeated),
        orders=tuple(order for order, _, _ in entries),
        seen=tuple(seen for _, seen, _ in entries),
        numbers=tuple(number for _, _, number in entries),
        totals=tuple(total for _, _, total in found),
    )
