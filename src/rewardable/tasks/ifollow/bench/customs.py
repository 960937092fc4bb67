"""Instructions that belong to one request each."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from datetime import date
from itertools import pairwise

from rewardable.tasks.ifollow.words import PUNCTUATION, bare

_CAPITALS = (
    "Reykjavik Helsinki Oslo Tallinn Stockholm Riga Moscow Copenhagen Vilnius Minsk Dublin Berlin "
    "Amsterdam Warsaw London Brussels Prague Luxembourg Paris Vienna Bratislava Budapest Vaduz "
    "Chisinau Bern Ljubljana Zagreb"
)
CAPITALS = tuple(_CAPITALS.split())
"""European capitals north of 45 degrees, from north to south."""

NAPOLEON = (1769, 1821)
COUNTRIES_OF_AFRICA = 52
_QUESTION = re.compile(r"\n*Question \d+[.|):;]?\s*")
_OPTION = re.compile(r"[A-Ea-e][.|)]\s*\w")
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_QUOTED_MARK = re.compile(r'"[^"\n]*[^\w\s"][^"\n]*"')


def multiples(text: str) -> bool:
    """Tell whether the numbers of the text are the multiples of 7 between 10 and 50."""
    return re.findall(r"\d+", text) == [str(n) for n in range(14, 51, 7)]


def mcq_count_length(text: str) -> bool:
    """Tell whether there are four questions of five options, each longer than the last."""
    if not text.startswith("Question"):
        return False
    blocks = [block for block in map(str.strip, _QUESTION.split(text)) if block]
    read = [_question(block) for block in blocks]
    longer = all(a[0] < b[0] for a, b in pairwise(read))
    return len(read) == 4 and longer and all(options == 5 for _, options in read)


def _question(block: str) -> tuple[int, int]:
    lines = [line.strip() for line in block.split("\n")]
    is_option = [_OPTION.match(line) is not None for line in lines]
    first = is_option.index(True) if True in is_option else len(lines)
    return len(" ".join(lines[:first]).strip()), sum(is_option)


def reverse_newline(text: str) -> bool:
    """Tell whether 52 lines or more stand in reverse order from Zimbabwe on, accents aside."""
    lines = [line for raw in text.split("\n") if (line := raw.strip(f"{PUNCTUATION} "))]
    start = next((i for i, line in enumerate(lines) if "Zimbabwe" in line), len(lines))
    names = [_plain(line) for line in lines[start:]]
    return len(names) >= COUNTRIES_OF_AFRICA and all(a >= b for a, b in pairwise(names))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")


def word_reverse(text: str) -> bool:
    """Tell whether the words in reverse order name the bald eagle."""
    return "bald eagle" in " ".join(reversed(bare(text.lower())))


def character_reverse(text: str) -> bool:
    """Tell whether the letters in reverse order name the bald eagle."""
    return "elgae dlab" in text.lower()


def european_capitals_sort(text: str) -> bool:
    """Tell whether the text is the capitals north of 45 degrees, in order."""
    names = [name.strip() for name in _plain(text).split(",")]
    return tuple(filter(None, names)) == CAPITALS


def csv_city(text: str) -> bool:
    """Tell whether there are a header of the five columns and seven rows."""
    rows = _rows(text, ",")
    header = ["ID", "Country", "City", "Year", "Count"]
    return rows is not None and rows[0] == header and _shaped(rows, 8)


def csv_special_character(text: str) -> bool:
    """Tell whether there are a header, 14 rows, and a quoted field with a special character."""
    rows = _rows(text, ",")
    header = ["ProductID", "Category", "Brand", "Price", "Stock"]
    if rows is None or [name.strip() for name in rows[0]] != header or not _shaped(rows, 15):
        return False
    body = text.split("\n", 1)[1]
    return _QUOTED_MARK.search(body) is not None


def csv_quotes(text: str) -> bool:
    """Tell whether there are a header and three rows, tabs between, every field in quotes."""
    lines = [line.split("\t") for line in text.strip().split("\n")]
    header = ["StudentID", "Subject", "Grade", "Semester", "Score"]
    if [name.strip().strip('"') for name in lines[0]] != header or not _shaped(lines, 4):
        return False
    fields = [field.strip() for line in lines for field in line]
    return all(len(field) > 1 and field[0] == field[-1] == '"' for field in fields)


def _rows(text: str, delimiter: str) -> list[list[str]] | None:
    try:
        return list(csv.reader(io.StringIO(text), delimiter=delimiter)) or None
    except csv.Error:
        return None


def _shaped(rows: list[list[str]], count: int) -> bool:
    return len(rows) == count and all(len(row) == 5 for row in rows[1:])


def date_format_list(text: str) -> bool:
    """Tell whether the text is dates YYYY-MM-DD of Napoleon's lifetime, commas between."""
    return all(_in_lifetime(item.strip()) for item in text.strip().split(","))


def _in_lifetime(item: str) -> bool:
    match = _DATE.fullmatch(item)
    if not match:
        return False
    try:
        day = date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return False
    return NAPOLEON[0] <= day.year <= NAPOLEON[1]
