"""Build HTML in which every text is escaped, because nothing else can be built."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, TypeAlias

from polars_evals.wording import clean

if TYPE_CHECKING:
    from collections.abc import Iterable

    Child: TypeAlias = "str | int | float | Html | Iterable[Child] | None"

_VOID = frozenset({"br", "hr", "input", "link", "meta"})


class Html(str):
    """Markup that `tag` made, and that goes into a page as it is."""

    __slots__ = ()


def join(*children: Child) -> Html:
    """Return the children one after the other, texts escaped."""
    return Html("".join(map(_html, children)))


def tag(element: str, /, *children: Child, **attributes: str | float | bool | None) -> Html:
    """
    Return an element.

    Parameters
    ----------
    element
        Name of the element.
    children
        Texts, which are escaped; numbers; other elements; iterables of these.
    attributes
        `class_` and `for_` lose the underscore at the end, others become hyphens: `aria_label`. True
        gives an attribute without a value; None and False leave it out.
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if element in _VOID:
        return Html(f"<{element}{given}>")
    return Html(f"<{element}{given}>{join(*children)}</{element}>")


def _escape(text: str) -> str:
    # A bare carriage return would be read back as a line feed.
    return escape(clean(text)).replace("\r", "&#13;")


def _attribute(key: str, value: str | float | bool | None) -> str:
    name = key.removesuffix("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{_escape(str(value))}"'


def _html(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, str):
        return _escape(child)
    if isinstance(child, int | float):
        return escape(str(child))
    return "".join(map(_html, child))
