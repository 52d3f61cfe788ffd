"""Import the public names of a package when they are first used, so that the import costs little."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polars_evals.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable


def import_lazily(package: str, file: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """
    Return `__all__`, `__getattr__` and `__dir__` of a package by the imports of its stub.

    The stub `__init__.pyi` beside `__init__.py` is the only list of the public names. A checker reads it too.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text("utf-8"))
    modules = dict[str, str]()
    for node in stub.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            is_star = node.names[0].name == "*"
            names = import_module(node.module).__all__ if is_star else [alias.name for alias in node.names]
            modules |= dict.fromkeys(names, node.module)

    def attribute(name: str) -> Any:
        if name not in modules:
            hint = did_you_mean(name, modules)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return list(modules), attribute, lambda: sorted(modules)
