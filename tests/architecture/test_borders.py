"""The house's borders: who may import what, counted over every import statement."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src" / "rewardable"
SHARED = {"errors", "records", "results", "protocols"}

# part -> (parts of the house, third-party packages); everyone may import the shared files
ALLOWED: dict[str, tuple[set[str], set[str]]] = {
    "errors": (set(), set()),
    "records": (set(), set()),
    "results": (set(), set()),
    "protocols": (set(), set()),
    "metrics": (set(), {"numpy", "scipy"}),
    "tasks": (
        set(),
        {
            "numpy",
            "math_verify",
            "latex2sympy2_extended",
            "sympy",
            "datasets",
            "langdetect",
            "syllapy",
        },
    ),
    "engines": (
        set(),
        {
            "numpy",
            "torch",
            "transformers",
            "peft",
            "gguf",
            "safetensors",
            "huggingface_hub",
            "httpx2",
            "vllm",
        },
    ),
    "store": (set(), {"numpy", "pyarrow", "duckdb"}),
    "importers": ({"store"}, {"numpy", "pyarrow", "duckdb"}),
    "collect": (set(), set()),
    "measure": ({"store", "metrics"}, {"numpy"}),
    "locate": ({"metrics"}, {"numpy"}),
    "guard": ({"metrics"}, {"numpy"}),
    "restore": (set(), {"torch", "safetensors"}),
    "train": (
        {"guard", "tasks"},
        {"numpy", "torch", "trl", "transformers", "datasets", "peft", "accelerate"},
    ),
    "report": (set(), {"jinja2", "altair", "vl_convert"}),
    "workflows": (
        {
            "tasks",
            "engines",
            "store",
            "importers",
            "collect",
            "metrics",
            "measure",
            "locate",
            "restore",
            "guard",
            "train",
            "report",
        },
        set(),
    ),
    "cli": ({"workflows"}, {"typer", "rich", "click"}),
}
TORCH_FREE = SHARED | {
    "metrics",
    "guard",
    "locate",
    "tasks",
    "store",
    "importers",
    "collect",
    "measure",
    "report",
}


def imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) of every import, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import at line {node.lineno}"
            assert node.module is not None
            if node.module == "rewardable":
                for alias in node.names:
                    yield node.lineno, f"rewardable.{alias.name}"
            else:
                yield node.lineno, node.module


def part_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def violations(path: Path, source: str) -> list[str]:
    part = part_of(path)
    house, third = ALLOWED[part]
    found = []
    for line, name in imports(ast.parse(source)):
        root, *rest = name.split(".")
        if root == "rewardable":
            target = rest[0] if rest else ""
            ok = target == part or target in house or target in SHARED or target == "__version__"
        else:
            ok = root in sys.stdlib_module_names or root in third
        if not ok:
            found.append(f"{path.relative_to(SRC)}:{line} imports {name}")
    return found


def sources() -> list[Path]:
    return [path for path in sorted(SRC.rglob("*.py")) if path.parent != SRC or path.stem in SHARED]


def test_every_part_is_in_the_table() -> None:
    parts = {part_of(path) for path in sources()}
    assert parts <= set(ALLOWED)


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(SRC)))
def test_imports_stay_inside_the_borders(path: Path) -> None:
    assert violations(path, path.read_text(encoding="utf-8")) == []


def test_a_crossing_is_found_also_inside_a_function() -> None:
    source = "def f():\n    import torch\n    from rewardable.store import Run\n"
    assert len(violations(SRC / "metrics" / "x.py", source)) == 2


def test_no_cycles_between_modules() -> None:
    graph = {module: edges(path) for path in SRC.rglob("*.py") for module in [module_name(path)]}
    state: dict[str, int] = {}

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert state.get(module) != 1, f"import cycle: {' -> '.join((*trail, module))}"
        if state.get(module) == 2:
            return
        state[module] = 1
        for target in sorted(graph.get(module, set())):
            visit(target, (*trail, module))
        state[module] = 2

    for module in sorted(graph):
        visit(module, ())


def module_name(path: Path) -> str:
    parts = ["rewardable", *path.relative_to(SRC).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def edges(path: Path) -> set[str]:
    """Modules of the house that ``path`` imports, ``from package import module`` resolved."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [
                full if exists(full := f"{node.module}.{alias.name}") else node.module
                for alias in node.names
            ]
        found |= {name for name in names if name.startswith("rewardable")}
    return found - {module_name(path)}


def exists(module: str) -> bool:
    base = SRC.parent / Path(*module.split("."))
    return base.with_suffix(".py").is_file() or (base / "__init__.py").is_file()


@pytest.mark.parametrize(
    "module", ["", ".metrics", ".tasks", ".engines", ".collect", ".train", ".restore"]
)
def test_import_loads_neither_torch_nor_pyarrow(module: str) -> None:
    code = (
        f"import sys, rewardable{module}\n"
        "print([m for m in ('torch', 'pyarrow', 'transformers', 'trl') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(SRC.parent), "PATH": "/usr/bin:/bin"},
    )
    assert result.stdout.strip() == "[]"
