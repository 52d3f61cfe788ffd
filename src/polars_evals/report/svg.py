"""Turn a chart into a small static SVG that may stand in a page."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

import vl_convert

from polars_evals.report.markup import Html

_SVG = "{http://www.w3.org/2000/svg}"
_SHAPES = {
    f"{_SVG}{name}"
    for name in ("svg", "g", "path", "line", "rect", "circle", "text", "tspan", "clipPath", "defs")
}
_KEPT = {
    "clip-path", "cx", "cy", "d", "dominant-baseline", "dx", "dy", "fill", "fill-opacity", "font-family",
    "font-size", "font-style", "font-weight", "height", "id", "opacity", "r", "rx", "ry", "stroke",
    "stroke-dasharray", "stroke-dashoffset", "stroke-linecap", "stroke-linejoin", "stroke-miterlimit",
    "stroke-opacity", "stroke-width", "text-anchor", "transform", "viewBox", "width", "x", "x1", "x2", "y",
    "y1", "y2",
}  # fmt: skip
_DEFAULTS = {
    ("fill-opacity", "1"), ("font-weight", "normal"), ("opacity", "1"), ("stroke-width", "1"),
    ("transform", "translate(0,0)"), ("x2", "0"), ("y2", "0"),
}  # fmt: skip
# What a group hands down to all that is in it.
_INHERITED = (
    "fill", "font-family", "font-size", "font-style", "font-weight", "stroke", "stroke-linecap",
    "stroke-linejoin", "stroke-width", "text-anchor",
)  # fmt: skip
_LONG_NUMBER = re.compile(r"-?\d*\.\d{3,}(?:e-?\d+)?")


def svg(chart: Any, *, label: str, prefix: str = "") -> Html:
    """
    Render a chart without a browser and without the network.

    Parameters
    ----------
    chart
        An Altair chart.
    label
        What the picture shows, for those who cannot see it.
    prefix
        Makes the names of clip paths unique in a page with several charts.

    Notes
    -----
    Only shapes, text and their geometry and colours are kept, so that the picture can neither run nor load
    anything whatever the data said.
    """
    ET.register_namespace("", _SVG[1:-1])
    # What lies behind the chart is the page's to colour.
    spec = chart.to_dict(validate=False) | {"background": "transparent"}
    root = ET.fromstring(vl_convert.vegalite_to_svg(spec))
    _prune(root, prefix)
    _gather(root)
    _name_fonts_once(root)
    root.set("role", "img")
    root.set("aria-label", label)
    return Html(ET.tostring(root, encoding="unicode"))


def _prune(element: ET.Element, prefix: str) -> None:
    for name, value in list(element.attrib.items()):
        if name not in _KEPT or (name, value) in _DEFAULTS:
            del element.attrib[name]
        elif name == "id":
            element.set(name, prefix + value)
        elif name == "clip-path":
            element.set(name, value.replace("#", f"#{prefix}"))
        else:
            element.set(name, _LONG_NUMBER.sub(_hundredths, value))
    for child in list(element):
        if child.tag not in _SHAPES or _draws_nothing(child):
            element.remove(child)
            continue
        _prune(child, prefix)
        if child.tag == f"{_SVG}g" and not len(child):
            element.remove(child)


def _hundredths(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _gather(element: ET.Element) -> None:
    """Write once, at a group, what all its parts say, and leave out groups that say nothing."""
    for at, child in enumerate(list(element)):
        _gather(child)
        if child.tag == f"{_SVG}g" and len(child) == 1 and not child.attrib:
            element[at] = child[0]
    # What lies in a definition is drawn elsewhere.
    if len(element) and element.tag in {f"{_SVG}g", f"{_SVG}svg"}:
        for name in _INHERITED:
            first = element[0].get(name)
            if (
                first is not None
                and (len(element) > 1 or element.get(name) is not None)
                and all(part.get(name) == first for part in element)
            ):
                element.set(name, first)
                for part in element:
                    del part.attrib[name]


def _name_fonts_once(root: ET.Element) -> None:
    """Write at the top the fonts that are the only ones: nothing but text asks for them."""
    for name in ("font-family", "font-size"):
        found = {part.get(name) for part in root.iter() if part.get(name) is not None}
        if len(found) == 1:
            for part in root.iter():
                part.attrib.pop(name, None)
            root.set(name, str(found.pop()))


def _draws_nothing(element: ET.Element) -> bool:
    """Tell the frames that Vega puts around every group, most of them without extent or colour."""
    if element.get("display") == "none":
        return True
    return element.get("class") == "background" and not (element.get("fill") or element.get("stroke"))
