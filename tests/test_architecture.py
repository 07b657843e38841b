"""Imports flow one way: no module knows of a layer above its own."""

import ast
from collections.abc import Iterator
from pathlib import Path

import indextables

ROOT = Path(next(iter(indextables.__path__)))
LAYERS = [  # from the bottom up; names on one line do not know each other
    ("errors", "nearest", "release", "words"),
    ("schema",),
    ("kernels",),
    ("civil",),
    ("values", "config"),
    ("predicate",),
    ("layout", "statements"),
    ("search",),
    ("storage",),
    ("split",),
    ("log",),
    ("read",),
    ("write",),
    ("maintain",),
    ("inspect",),
    ("report",),
    ("table",),
    ("spark",),
    ("functions",),
    ("lazy",),
    ("demo",),
    ("cli",),
]
LEVEL = {name: level for level, layer in enumerate(LAYERS) for name in layer}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module, with the name of the part that it belongs to."""
    for path in sorted(ROOT.rglob("*.py")):
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if part != "__init__":
            yield part, path


def imported_parts(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "indextables":
            _, *inner = node.module.split(".")
            yield from [inner[0]] if inner else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("indextables."))


def test_every_part_has_a_layer() -> None:
    assert {part for part, _ in modules()} == LEVEL.keys()


def test_no_part_knows_of_a_higher_one() -> None:
    upwards = [
        f"{path.relative_to(ROOT)} imports {other}"
        for part, path in modules()
        for other in imported_parts(path)
        if other != part and LEVEL[other] >= LEVEL[part]
    ]
    assert upwards == []


def test_packages_hold_names_only() -> None:
    statements = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr)
    code = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in ROOT.rglob("__init__.py")
        for node in ast.parse(path.read_text()).body
        if not isinstance(node, statements)
    ]
    assert code == []
