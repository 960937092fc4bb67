"""Split a test source into units: statements that each assert something, and what stands between.

The source is ``check(candidate)`` or plain statements. Every statement at its top level that holds
an assertion is one unit; the others prepare. ``assert True`` asserts nothing.
"""

from __future__ import annotations

import ast
from types import CodeType
from typing import NamedTuple


class Unit(NamedTuple):
    """One statement. ``checks``: it holds an assertion and counts."""

    code: CodeType
    checks: bool
    line: int


class Script(NamedTuple):
    """The statements outside ``check``, those to be run in order, and the tested name in them."""

    prelude: CodeType
    units: tuple[Unit, ...]
    candidate: str


def split_tests(source: str, entry_point: str) -> Script:
    """Return the units of a test source; SyntaxError where it is no Python."""
    module = ast.parse(source)
    check = next(
        (s for s in module.body if isinstance(s, ast.FunctionDef) and s.name == "check"), None
    )
    if check is None:
        outside, inside, name = list[ast.stmt](), module.body, entry_point
    else:
        outside = [s for s in module.body if s is not check and not _calls_check(s)]
        inside, name = check.body, check.args.args[0].arg if check.args.args else entry_point
    return Script(
        prelude=_compiled(outside),
        units=tuple(Unit(code=_compiled([s]), checks=_asserts(s), line=s.lineno) for s in inside),
        candidate=name,
    )


def _compiled(statements: list[ast.stmt]) -> CodeType:
    return compile(ast.Module(body=statements, type_ignores=[]), "tests.py", "exec")


def _asserts(statement: ast.stmt) -> bool:
    nodes = (node for node in ast.walk(statement) if isinstance(node, ast.Assert))
    return any(not isinstance(node.test, ast.Constant) for node in nodes)


def _calls_check(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Name)
        and statement.value.func.id == "check"
    )
