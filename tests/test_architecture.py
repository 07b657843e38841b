"""Imports flow one way: no module knows of a layer above its own, and only one package looks into Spark."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import indextables

ROOT = Path(next(iter(indextables.__path__)))
LAYERS = [  # from the bottom up; names on one line do not know each other
    ("arrow_features", "engine", "errors", "nearest", "plural", "redaction", "release", "stderr_logging"),
    ("error_notes", "events"),
    ("schema", "worker_versions"),
    ("kernels",),
    ("civil",),
    ("values", "config"),
    ("predicate",),
    ("expressions",),
    ("layout", "statements"),
    ("search",),
    ("display",),
    ("storage",),
    ("split",),
    ("log",),
    ("read",),
    ("query", "write"),
    ("maintain",),
    ("inspect",),
    ("report",),
    ("table",),
    ("serve",),
    ("spark",),
    ("functions",),
    ("lazy",),
    ("demo",),
    ("cli",),
]
LEVEL = {name: level for level, layer in enumerate(LAYERS) for name in layer}
SPARK_LAYERS = [  # the folders and files of `spark/`, in the same order
    ("versions", "options", "job_description"),
    ("planner",),
    ("source",),
    ("catalyst",),
    ("environment",),
    ("write",),
    ("frames",),
    ("statements",),
    ("connect",),
    ("api",),
]
SPARK_LEVEL = {name: level for level, layer in enumerate(SPARK_LAYERS) for name in layer}
MODULES = {
    ".".join(["indextables", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}


def part_of(module: str) -> str:
    """The file or folder of the package that a module belongs to."""
    return module.split(".")[1] if "." in module else "__init__"


def imported_by(path: Path) -> set[str]:
    """The modules of the package that a file imports: at its top, in functions, for type checks, and by name in a string."""
    return {module for node in ast.walk(ast.parse(path.read_text())) for module in imports_of(node)}


def imports_of(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.ImportFrom(module=str(module), names=names):
            inner = {f"{module}.{alias.name}" for alias in names} & MODULES.keys()
            yield from inner | ({module} & MODULES.keys() if len(inner) < len(names) else set())
        case ast.Import(names=names):
            yield from {alias.name for alias in names} & MODULES.keys()
        case ast.Constant(value=str(text)) if text.startswith("indextables."):  # import_module("indextables.spark")
            yield from {text} & MODULES.keys()
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]) if re.fullmatch(r"indextables\.(\w+\.)+", text):
            yield from {module for module in MODULES if module.startswith(text)}  # any module of the folder


def test_every_part_has_a_layer() -> None:
    assert {part_of(module) for module in MODULES} - {"__init__"} == LEVEL.keys()


def test_no_part_knows_of_a_higher_one() -> None:
    upwards = [
        f"{module} imports {other}"
        for module, path in MODULES.items()
        for other in imported_by(path)
        if module != "indextables"
        if part_of(other) != part_of(module)
        if other == "indextables" or LEVEL[part_of(other)] >= LEVEL[part_of(module)]
    ]
    assert upwards == []


def test_so_it_is_inside_the_spark_layer() -> None:
    inside = {module: module.split(".")[2] for module in MODULES if module.startswith("indextables.spark.")}
    assert set(inside.values()) == SPARK_LEVEL.keys()
    upwards = [
        f"{module} imports {other}"
        for module, part in inside.items()
        for other in imported_by(MODULES[module])
        if other in inside and inside[other] != part and SPARK_LEVEL[inside[other]] >= SPARK_LEVEL[part]
    ]
    assert upwards == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = {module: imported_by(path) - {module} for module, path in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_no_name_of_a_module_is_used_twice() -> None:
    names = Counter(path.stem for path in MODULES.values() if path.stem != "__init__")
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize(
    ("code", "imported"),
    [
        ("from indextables.log.log import TransactionLog", {"indextables.log.log"}),
        ("from indextables.log import log", {"indextables.log.log"}),
        ("from indextables.log import TransactionLog, log", {"indextables.log", "indextables.log.log"}),
        ("def f():\n    import indextables.log.log", {"indextables.log.log"}),
        ('import_module("indextables.log.log")', {"indextables.log.log"}),
        ('HOMES = {"x": "indextables.log.log"}', {"indextables.log.log"}),
        (
            'import_module(f"indextables.config.{name}")',
            {name for name in MODULES if name.startswith("indextables.config.")},
        ),
        ('KEY = "indextables.no.module"', set()),
    ],
)
def test_imports_are_seen_wherever_they_are(tmp_path: Path, code: str, imported: set[str]) -> None:
    path = tmp_path / "module.py"
    path.write_text(code)
    assert imported_by(path) == imported


def test_packages_hold_names_only() -> None:
    statements = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr)
    code = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in ROOT.rglob("__init__.py")
        for node in ast.parse(path.read_text()).body
        if not isinstance(node, statements)
    ]
    assert code == []


CATALYST = ROOT / "spark" / "catalyst"
PRIVATE = re.compile(r"_j(c|conf|df|dfw|expr|rdd|reader|sc|sparkSession|udf|vm|wf|write|writer)|_sc|_gateway")


def test_only_one_package_looks_into_spark() -> None:
    """Elsewhere there is no JVM: no private attributes of PySpark, no py4j, no names of Spark's classes."""
    found = [
        f"{path.relative_to(ROOT)}: {what}"
        for path in sorted(ROOT.rglob("*.py"))
        if not path.is_relative_to(CATALYST)
        for what in internals_in(path)
    ]
    assert found == []


def test_only_one_package_knows_spark_connect() -> None:
    """Its classes need packages that other parts do without."""
    found = [
        f"{path.relative_to(ROOT)}: {node.module}"
        for path in sorted(ROOT.rglob("*.py"))
        if not path.is_relative_to(ROOT / "spark" / "connect")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyspark.sql.connect")
    ]
    assert found == []


def internals_in(path: Path) -> Iterator[str]:
    text = path.read_text()
    if path.is_relative_to(ROOT / "spark") and "noqa: SLF001" in text:
        yield "noqa: SLF001"
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Attribute(attr=name) if PRIVATE.fullmatch(name):
                yield name
            case ast.Constant(value=str(value)) if value.startswith("org.apache.spark"):
                yield value
            case ast.Import(names=names):
                yield from (alias.name for alias in names if alias.name.split(".")[0] == "py4j")
            case ast.ImportFrom(module=str(module), names=names):
                yield from imported_internals(module, [alias.name for alias in names])


def imported_internals(module: str, names: list[str]) -> Iterator[str]:
    package = module.partition(".")[0]
    if package == "py4j" or module == "indextables.spark.catalyst.java":
        yield module
    if package == "pyspark":
        yield from (f"{module}.{name}" for name in names if name.startswith("_") and name != "__version__")


def test_the_architecture_page_names_every_module_of_the_spark_layer() -> None:
    page = (ROOT.parent.parent / "docs" / "architecture.md").read_text()
    paths = [path for path in (ROOT / "spark").rglob("*.py") if path.stem != "__init__"]
    assert [path.stem for path in paths if not re.search(rf"`(spark/([a-z]+/)?)?{path.stem}`", page)] == []
