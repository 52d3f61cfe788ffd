"""Turn a chart into a small static SVG that may stand in a page."""

from __future__ import annotations

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
    root.set("role", "img")
    root.set("aria-label", label)
    return Html(ET.tostring(root, encoding="unicode"))


def _prune(element: ET.Element, prefix: str) -> None:
    for name, value in list(element.attrib.items()):
        if name not in _KEPT or (name, value) in (("opacity", "1"), ("transform", "translate(0,0)")):
            del element.attrib[name]
        elif name == "id":
            element.set(name, prefix + value)
        elif name == "clip-path":
            element.set(name, value.replace("#", f"#{prefix}"))
    for child in list(element):
        if child.tag not in _SHAPES or _draws_nothing(child):
            element.remove(child)
            continue
        _prune(child, prefix)
        if child.tag == f"{_SVG}g" and not len(child):
            element.remove(child)


def _draws_nothing(element: ET.Element) -> bool:
    """Tell the frames that Vega puts around every group, most of them without extent or colour."""
    if element.get("display") == "none":
        return True
    return element.get("class") == "background" and not (element.get("fill") or element.get("stroke"))
