"""Layers look down only: who imports whom, at the top of a module or inside a function."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "polars_evals"

# Lowest first. What stands in one line may not import one another.
LAYERS = [
    {"_errors", "_native", "_polars", "_version", "mypy"},
    {"wording"},
    {"_lazy"},
    {"expressions", "storage"},
    {"metrics"},
    {"clean"},
    {"namespace", "traces", "suite"},
    {"drift"},
    {"_diff"},
    {"report"},
    {"cluster", "jobs"},
    {"__init__"},
    # The command uses the package as anyone does.
    {"cli"},
]
# Results say which class their charts are, for editors; nothing is imported when the program runs.
ONLY_TYPES = {
    (f"drift.{name}", "report")
    for name in ("agreement", "calibrate", "comparison", "plan", "rank", "runs", "timeline")
}


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {module_name(path): path for path in SOURCE.rglob("*.py")}


def only_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imports_of(name: str, *, types: bool) -> set[str]:
    """Return what a module imports of this package, anywhere in it, with or without what only types need."""
    tree = ast.parse(MODULES[name].read_text("utf-8"))
    skipped = {
        id(inner) for node in ast.walk(tree) if only_types(node) and not types for inner in ast.walk(node)
    }
    found = set[str]()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            whole = [alias.name for alias in node.names]
        else:
            continue
        for target in whole:
            if target.split(".")[0] != "polars_evals":
                continue
            inner = target.removeprefix("polars_evals").removeprefix(".")
            # A name inside a module stands for the module.
            while inner and inner not in MODULES and inner != "_native":
                inner = inner.rpartition(".")[0]
            found.add(inner or "__init__")
    return found - {name}


def layer_of(name: str) -> int:
    top = name.split(".", maxsplit=1)[0]
    for number, names in enumerate(LAYERS):
        if top in names:
            return number
    pytest.fail(f"{top} has no place in LAYERS")


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_imports_only_what_is_below_it(name: str) -> None:
    own = name.split(".", maxsplit=1)[0]
    for target in imports_of(name, types=True):
        top = target.split(".")[0]
        if top != own and (name, top) not in ONLY_TYPES:
            assert layer_of(target) < layer_of(name), f"{name} imports {target}"


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {name: imports_of(name, types=False) - {"__init__"} for name in MODULES if name != "__init__"}
    # A package imports its modules, and these import one another: the package itself is left out.
    packages = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    inside = {
        name: {target for target in targets if not (target in packages and name.startswith(f"{target}."))}
        for name, targets in graph.items()
    }
    try:
        TopologicalSorter(inside).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_what_only_types_need_is_still_needed() -> None:
    for name, target in ONLY_TYPES:
        assert target in {one.split(".")[0] for one in imports_of(name, types=True)}
        assert target not in {one.split(".")[0] for one in imports_of(name, types=False)}


def test_one_module_calls_map_batches() -> None:
    callers = {
        name
        for name, path in MODULES.items()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "map_batches"
    }
    # Ray's datasets have a method of that name, which has nothing to do with expressions.
    assert callers <= {"expressions.python", "cluster.engines"}


@pytest.mark.parametrize(
    ("library", "homes"), [("obstore", ("storage.",)), ("deltalake", ("storage.", "jobs.store"))]
)
def test_object_stores_and_tables_are_opened_in_one_place(library: str, homes: tuple[str, ...]) -> None:
    importers = {
        name
        for name, path in MODULES.items()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (isinstance(node, ast.Import) and any(one.name.split(".")[0] == library for one in node.names))
        or (isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == library)
    }
    assert importers
    assert all(name.startswith(homes) for name in importers)
