"""One rule: a function that only its own module uses starts with an underscore, and no other does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
# Mypy and pytest look for some names in these.
CALLED_BY_TOOLS = {"polars_evals.mypy", "polars_evals_command", "polars_evals_pytest"}
# What registers a function makes it known.
REGISTERS = ("app.", "_command", "_question", "overload")


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TREES = {
    module_name(path): ast.parse(path.read_text("utf-8"))
    for path in [*SOURCE.glob("*.py"), *SOURCE.glob("polars_evals/**/*.py")]
}
STUBS = [ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("__init__.pyi")]
TESTS = [
    ast.parse(path.read_text("utf-8"))
    for folder in ("tests", "benchmarks", "docs")
    for path in (ROOT / folder).rglob("*.py")
    if path.name != "generate.py"
]


def uses(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Return the names of our modules that a file uses: imported, as attributes, patched, or in a text."""
    modules = dict[str, str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield node.module, alias.name
                modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            modules |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.Constant) and str(node.value).startswith("polars_evals."):
            module, _, name = str(node.value).rpartition(".")
            yield module, name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield modules.get(node.value.id, ""), node.attr
        elif isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(node.args[0], ast.Name):
            yield modules.get(node.args[0].id, ""), str(getattr(node.args[1], "value", ""))


USED_IN_PACKAGE = {(name, *use) for name, tree in TREES.items() for use in uses(tree) if use[0] != name}
USED = {use[1:] for use in USED_IN_PACKAGE} | {use for tree in STUBS + TESTS for use in uses(tree)}


def functions(module: str) -> list[str]:
    return [
        node.name
        for node in TREES[module].body
        if isinstance(node, ast.FunctionDef)
        and not any(word in ast.unparse(one) for one in node.decorator_list for word in REGISTERS)
    ]


@pytest.mark.parametrize("module", sorted(TREES.keys() - CALLED_BY_TOOLS))
def test_a_function_that_only_its_module_uses_is_private(module: str) -> None:
    public = {
        element.value
        for node in TREES[module].body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for element in ast.walk(node.value)
        if isinstance(element, ast.Constant)
    }
    found = [name for name in functions(module) if not name.startswith("_") and name not in public]
    assert [name for name in found if (module, name) not in USED] == []


@pytest.mark.parametrize("module", sorted(TREES))
def test_a_private_function_is_used_in_its_module_alone(module: str) -> None:
    private = [name for name in functions(module) if name.startswith("_") and not name.startswith("__")]
    assert [name for name in private if (module, name) in {use[1:] for use in USED_IN_PACKAGE}] == []
