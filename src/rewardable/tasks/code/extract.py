"""Which part of a response is the program. Regular expressions alone: nothing is parsed or run.

- With fenced blocks: the last block that defines the entry point, after the earlier blocks that
  define or import a name which it uses. No such block: no code.
- Without: the whole response where it defines the entry point, else the continuation of the
  prompt, up to the first line that stands at the margin again.

The prompt's own definitions stand before the program, as the tests expect.
"""

from __future__ import annotations

import re
from textwrap import dedent

LONGEST = 100_000

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n`]*$", re.MULTILINE)
_NAMES = re.compile(
    r"^(?:async[ ]+def|def|class)[ ]+(\w+)"
    r"|^(\w+)[ ]*(?::[^=\n]*)?=(?!=)"
    r"|^(?:import|from)[ ]([^\n]*)",
    re.MULTILINE,
)
_WORD = re.compile(r"[^\W\d]\w*")


def program_of(response: str, entry_point: str, prompt_code: str) -> str | None:
    """Return the program of a response, None when it holds no definition and no continuation."""
    if len(response) > LONGEST:
        return None
    blocks = _blocks(response)
    if blocks is None:
        bare = dedent(_FENCE.sub("", response))
        if defines(bare, entry_point):
            return f"{prompt_of(prompt_code)}\n{bare}"
        body = _continuation(_FENCE.sub("", response))
        return f"{prompt_code.rstrip()}\n{body}" if body and prompt_code else None
    chosen = next(
        (i for i in reversed(range(len(blocks))) if defines(blocks[i], entry_point)), None
    )
    if chosen is None:
        return None
    needed = set(_WORD.findall(blocks[chosen]))
    before = [
        block
        for block in blocks[:chosen]
        if needed & defined_names(block) and not defines(block, entry_point)
    ]
    return "\n".join([prompt_of(prompt_code), *before, blocks[chosen]])


def prompt_of(code: str) -> str:
    """Return the prompt's code as a module that loads: an open function gets a body."""
    return f"{code.rstrip()}\n    pass\n" if code.strip() else ""


def defines(code: str, name: str) -> bool:
    """Tell whether the code binds ``name`` at its margin."""
    return name in defined_names(code)


def defined_names(code: str) -> set[str]:
    """Return the names that code binds at its margin: functions, classes, values, imports."""
    found: set[str] = set()
    for match in _NAMES.finditer(code):
        function, value, imported = match.groups()
        found |= set(_WORD.findall(imported)) if imported else {function or value}
    return found


def _blocks(text: str) -> list[str] | None:
    """Return the fenced blocks; None when no fence opens a block with something in it.

    A fence that is never closed holds the rest of the response.
    """
    pieces = _FENCE.split(text)
    blocks = [dedent(piece) for piece in pieces[1::2]]
    return blocks if any(block.strip() for block in blocks) else None


def _continuation(text: str) -> str:
    """Return the lines up to the first one at the margin that is not blank."""
    kept: list[str] = []
    for line in text.split("\n"):
        if line.strip() and not line[0].isspace():
            break
        kept.append(line)
    return "\n".join(kept).rstrip()
