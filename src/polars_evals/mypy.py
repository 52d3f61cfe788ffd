"""
A plugin that tells mypy of `.evals` on Polars' expressions and Series.

In the project that uses it::

    [tool.mypy]
    plugins = ["polars_evals.mypy"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import MDEF, SymbolTableNode, TypeInfo, Var
from mypy.plugin import AttributeContext, ClassDefContext, Plugin
from mypy.types import AnyType, Instance, Type, TypeOfAny

if TYPE_CHECKING:
    from collections.abc import Callable

NAMESPACE = "polars_evals.namespace"
# The class that has the attribute when a program runs, and what the attribute is.
CLASSES = {"polars.expr.expr.Expr": "ExprEvals", "polars.series.series.Series": "SeriesEvals"}
ATTRIBUTES = {f"{name}.evals": kind for name, kind in CLASSES.items()}


class EvalsPlugin(Plugin):
    """Adds the attribute `evals`, and says what it is where it is used."""

    def get_customize_class_mro_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        """Add the attribute while one of Polars' classes is read."""
        return _add_evals if fullname in CLASSES else None

    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        """Say what the attribute is; the namespace imports Polars, so that it is not known any earlier."""
        if (kind := ATTRIBUTES.get(fullname)) is None:
            return None
        return lambda context: _evals(context, kind)


def _add_evals(context: ClassDefContext) -> None:
    info = context.cls.info
    attribute = Var("evals", AnyType(TypeOfAny.special_form))
    attribute.info = info
    attribute.is_property = True
    attribute._fullname = f"{info.fullname}.evals"
    info.names["evals"] = SymbolTableNode(MDEF, attribute, plugin_generated=True)


def _evals(context: AttributeContext, kind: str) -> Type:
    modules = getattr(context.api, "modules", {})
    # A file that does not import polars_evals has no such attribute, but others may have registered it.
    found = modules[NAMESPACE].names[kind].node if NAMESPACE in modules else None
    return Instance(found, []) if isinstance(found, TypeInfo) else context.default_attr_type


def plugin(version: str) -> type[Plugin]:
    """Return the plugin, as mypy asks for it."""
    return EvalsPlugin
