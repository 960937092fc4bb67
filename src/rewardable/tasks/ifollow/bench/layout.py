"""Lines, bullets, brackets, quotes, emoji, templates and fixed answers."""

from __future__ import annotations

import re
from itertools import pairwise

from rewardable.tasks.ifollow.emoji import is_emoji
from rewardable.tasks.ifollow.sentences import sentences
from rewardable.tasks.ifollow.words import PUNCTUATION, bare, stripped

LEVELS_OF_BRACKETS, LEVELS_OF_QUOTES = 5, 3
TEMPLATE = ("My Answer:", "My Conclusion:", "Future Outlook:")
_PARTNERS = {")": "(", "]": "[", "}": "{"}
_LETTERED = re.compile(r"\W*[aA]\W+[bB]\W+[cC]\W*")
_THESIS = re.compile(r"<(i|em)>\s*\S")


def emoji(text: str) -> bool:
    """Tell whether every sentence ends with an emoji, before or behind its end mark."""
    found = sentences(text)
    return bool(found) and all(_ends_with_emoji(sentence) for sentence in found)


def _ends_with_emoji(sentence: str) -> bool:
    body = sentence.rstrip(f"{PUNCTUATION} ”’…\ufe0f\u200d")
    return bool(body) and is_emoji(body[-1])


def line_indent(text: str) -> bool:
    """Tell whether every line is indented by more spaces than the one before; one alone is."""
    lines = [line for line in text.split("\n") if line.strip()]
    depths = [len(line) - len(line.lstrip(" ")) for line in lines]
    return all(a < b for a, b in pairwise(depths))


def newline(text: str) -> bool:
    """Tell whether every word stands on a line of its own."""
    lines = [line for line in (bare(line) for line in text.split("\n")) if line]
    return bool(lines) and all(len(line) == 1 for line in lines)


def no_whitespace(text: str) -> bool:
    """Tell whether there is no white space at all."""
    return not any(map(str.isspace, text))


def list_items(text: str, sep: str) -> bool:
    """Tell whether the bullet mark occurs at least twice."""
    return text.count(sep) >= 2


def sub_bullets(text: str) -> bool:
    """Tell whether there is a ``*``, and a ``-`` behind every ``*`` before the next."""
    bullets = text.split("*")[1:]
    return bool(bullets) and all("-" in bullet for bullet in bullets)


def no_bullets_bullets(text: str) -> bool:
    """Tell whether two sentences or more come first, then two ``*`` lines or more, then nothing."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    first = next((i for i, line in enumerate(lines) if line.startswith("*")), len(lines))
    before, bullets = lines[:first], lines[first:]
    enough = sum(len(sentences(line)) for line in before) >= 2
    return enough and len(bullets) >= 2 and all(line.startswith("*") for line in bullets)


def thesis(text: str) -> bool:
    """Tell whether some text stands in ``<i>`` or ``<em>``, and more follows behind it."""
    start = _THESIS.search(text)
    if not start:
        return False
    close = f"</{start[1]}>"
    end = text.find(close, start.end())
    inner = text[start.end() - 1 : end]
    return end >= 0 and bool(inner.strip()) and bool(text[end + len(close) :].strip())


def parentheses(text: str) -> bool:
    """Tell whether brackets nest five deep and close rightly; a wrong one starts anew."""
    open_brackets: list[str] = []
    for letter in text:
        if letter in "([{":
            open_brackets.append(letter)
        elif letter in _PARTNERS:
            if not open_brackets or open_brackets[-1] != _PARTNERS[letter]:
                open_brackets = []
            elif len(open_brackets) >= LEVELS_OF_BRACKETS:
                return True
            else:
                open_brackets.pop()
    return False


def quotes(text: str) -> bool:
    """Tell whether double and single quotes nest three deep, in turn, and three close."""
    open_marks: list[str] = []
    deepest = 0
    for letter in text:
        if letter not in "\"'":
            continue
        if open_marks and open_marks[-1] == letter:
            open_marks.pop()
            if deepest - len(open_marks) >= LEVELS_OF_QUOTES:
                return True
        else:
            open_marks.append(letter)
            deepest = max(deepest, len(open_marks))
    return False


def quote_unquote(text: str) -> bool:
    """Tell whether no quoted phrase directly follows another, and none ends the response."""
    body = "".join(text.replace("“", '"').replace("”", '"').replace("'\"'", "").split())
    end = body.rstrip("".join(set(PUNCTUATION) - {'"'}) + "0123456789")
    return '""' not in body and not end.endswith('"')


def options(text: str, options: str) -> bool:
    """Tell whether the response is one of the options; where lettered, exactly."""
    mark = "/" if "/" in options else " or " if " or " in options else ","
    allowed = [option.strip() for option in options.split(mark)]
    if _LETTERED.match(options):
        return text in allowed
    plain = f"{PUNCTUATION} \n"
    return text.strip(plain).lower() in [option.strip(plain).lower() for option in allowed]


def title_case(text: str) -> bool:
    """Tell whether no word begins small, one of mixed case like ``iPhone`` excepted."""
    return not any(_small(word) for word in stripped(text))


def _small(word: str) -> bool:
    rest = word[1:]
    return word[0].islower() and (rest.islower() or rest.isupper() or not rest)


def output_template(text: str) -> bool:
    """Tell whether the three headings of the template occur."""
    return all(heading in text for heading in TEMPLATE)
