"""Import the parts of a package when they are first used, so that importing it costs little."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from polars_evals.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def import_lazily(package: str, modules: Mapping[str, str], public: Sequence[str]) -> Callable[[str], Any]:
    """
    Return the `__getattr__` of a package.

    Parameters
    ----------
    package
        Its name.
    modules
        For each name, the module of the package that has it.
    public
        All names, for a hint where one is misspelt.
    """

    def attribute(name: str) -> Any:
        if name not in modules:
            hint = did_you_mean(name, public)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        return getattr(import_module(f".{modules[name]}", package), name)

    return attribute
