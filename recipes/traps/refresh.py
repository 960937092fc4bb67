"""Run the code of docs/traps.md and write what it prints below it.

    python recipes/traps/refresh.py          # rewrites the page
    python recipes/traps/refresh.py --check  # exits with 1 where the page differs

Blocks of one page share their names. The output of a ``python`` block goes to the ``text`` block
that follows it; a block without one must print nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "traps.md"
_BLOCK = re.compile(r"```python\n(.*?)```\n(\n```text\n)?(?(2)(.*?)```\n)", re.DOTALL)


def refreshed(page: str) -> str:
    """Return the page with every output replaced by what its code prints now."""
    names: dict[str, object] = {"__name__": "page"}

    def run(match: re.Match[str]) -> str:
        code, has_output, _ = match.groups()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)
        text = printed.getvalue()
        if bool(text) != bool(has_output):
            raise SystemExit(f"this block printed {text!r}, the page shows otherwise:\n{code}")
        output = f"\n```text\n{text}```\n" if has_output else ""
        return f"```python\n{code}```\n{output}"

    return _BLOCK.sub(run, page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing")
    args = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    new = refreshed(page)
    if args.check:
        sys.exit(int(new != page))
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
