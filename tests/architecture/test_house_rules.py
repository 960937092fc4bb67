"""Sizes and habits that keep the code readable."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src" / "rewardable"
FILES = sorted(SRC.rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, Function):
            yield node


def length(node: Function, path: Path) -> int:
    """Lines of a function; in ``metrics`` (eight fixed docstring headings) of its code alone."""
    assert node.end_lineno is not None
    whole = node.end_lineno - node.lineno + 1
    return whole - docstring_lines(node) if path.parent.name == "metrics" else whole


def docstring_lines(node: Function) -> int:
    first = node.body[0]
    if ast.get_docstring(node) is None or first.end_lineno is None:
        return 0
    return first.end_lineno - first.lineno + 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_file_and_functions_are_short(path: Path) -> None:
    assert path.read_text(encoding="utf-8").count("\n") <= 400
    too_long = [node.name for node in functions(path) if length(node, path) > 60]
    assert too_long == []


def test_the_median_function_is_short() -> None:
    lengths = [length(node, path) for path in FILES for node in functions(path)]
    assert statistics.median(lengths) <= 15


def test_no_utils_and_no_print_outside_the_command_line() -> None:
    assert [path for path in FILES if path.stem in {"utils", "helpers", "common"}] == []
    printing = [
        f"{path.relative_to(SRC)}:{node.lineno}"
        for path in FILES
        if path.relative_to(SRC).parts[0] != "cli"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert printing == []
