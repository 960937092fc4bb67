"""What of a response is its answer: after the reasoning, in a tag, in a box, on the last line.

Every function is linear in the length of the text and sees the response alone, never the prompt.
"""

from __future__ import annotations

import re

OPEN, CLOSE = "<think>", "</think>"
_BOXES = ("\\boxed{", "\\fbox{")
_STRUCTURE = re.compile(r"\\(?:boxed|fbox)\{|\\[{}]|[{}]")


def after_reasoning(text: str, *, opened: bool = False) -> str | None:
    """Return what follows the closed reasoning block, None when a block is not closed.

    Chat templates may write the opening tag into the prompt: a lone closing tag is enough, and
    ``opened`` says that the prompt ends with the opening tag.
    """
    cut = text.rfind(CLOSE)
    if cut < 0:
        return None if opened or OPEN in text else text
    rest = text[cut + len(CLOSE) :]
    return None if OPEN in rest else rest


def prompt_opens_reasoning(prompt_text: str) -> bool:
    """Tell whether a prompt ends with an opening reasoning tag."""
    return prompt_text.rstrip().endswith(OPEN)


def last_tag(text: str, tag: str = "answer") -> str | None:
    """Return the content of the last complete ``<tag>...</tag>``, stripped; None without one."""
    end = text.rfind(f"</{tag}>")
    start = text.rfind(f"<{tag}>", 0, max(end, 0))
    return None if end < 0 or start < 0 else text[start + len(tag) + 2 : end].strip()


def last_box(text: str) -> str | None:
    r"""Return the content of the last complete ``\boxed{...}``, braces balanced, stripped.

    None when no box is complete, or when the last complete one is empty. Boxes are never joined.
    """
    opened: list[tuple[int, bool]] = []
    content: str | None = None
    for match in _STRUCTURE.finditer(text):
        token = match.group()
        if token == "}":
            if opened:
                start, is_box = opened.pop()
                content = text[start : match.start()].strip() if is_box else content
        elif token not in ("\\{", "\\}"):
            opened.append((match.end(), token in _BOXES))
    return content or None


def last_marked(text: str, marker: str = "####") -> str | None:
    """Return the line after the last ``marker``, stripped; None when there is none or empty."""
    at = text.rfind(marker)
    if at < 0:
        return None
    lines = text[at + len(marker) :].strip().splitlines()
    return lines[0].strip() if lines else None


def last_line(text: str) -> str | None:
    """Return the last line with content, stripped; None for a blank text."""
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else None
