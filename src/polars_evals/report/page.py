"""Put a page together: what was decided, what moved, and the answers behind it."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from polars_evals._version import __version__
from polars_evals.drift.text import line
from polars_evals.report import over_time, sections, thresholds
from polars_evals.report.markup import Html, tag
from polars_evals.report.tables import verdict

if TYPE_CHECKING:
    from polars_evals.drift import Comparison, Timeline
    from polars_evals.drift.result import Result
    from polars_evals.report.sections import Section


def comparison_page(comparison: Comparison, timeline: Timeline | None = None) -> str:
    """
    Return a comparison as a page that opens offline.

    Parameters
    ----------
    comparison
        What to show.
    timeline
        The same scores over time, to show too.
    """
    parts = [
        sections.metrics(comparison),
        sections.distributions(comparison),
        sections.slices(comparison),
        None if timeline is None else over_time.over_time(timeline),
        sections.changed_items(comparison),
        sections.unmatched(comparison),
    ]
    lede = sections.lede(comparison)
    return _page(comparison, lede, [part for part in parts if part is not None], sections.METHOD)


def page(result: Result) -> str:
    """
    Return any result as a page that opens offline.

    Parameters
    ----------
    result
        A comparison, timeline or calibration.
    """
    from polars_evals.drift import Calibration, Comparison, Timeline

    if isinstance(result, Comparison):
        return comparison_page(result)
    if isinstance(result, Timeline):
        return _page(result, None, [over_time.over_time(result)], over_time.METHOD)
    assert isinstance(result, Calibration)
    return _page(result, None, [thresholds.thresholds(result)], thresholds.METHOD)


def _page(result: Result, lede: Html | None, parts: list[Section], method: str) -> str:
    style, script = (
        files(__package__).joinpath("assets", name).read_text("utf-8") for name in ("report.css", "report.js")
    )
    headline = line(result.headline)
    title = headline.removeprefix(f"{result.verdict}: ")
    parts = [*parts, sections.notes(result, method)]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"polars-evals {__version__}"),
        tag("title", headline),
        tag("link", rel="icon", href="data:,"),
        tag("style", Html(style)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag("header", tag("p", verdict(result.verdict), class_="overall"), tag("h1", title), lede),
        tag(
            "nav",
            tag("ul", (tag("li", tag("a", part.title, href=f"#{part.name}")) for part in parts)),
            aria_label="Sections",
        ),
        tag("main", (_section(part) for part in parts), id="content"),
        tag("footer", tag("p", f"Made with polars-evals {__version__}.")),
        tag("script", Html(script)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _section(part: Section) -> Html:
    heading = tag("h2", part.title, id=f"{part.name}-title")
    return tag("section", heading, part.content, id=part.name, aria_labelledby=f"{part.name}-title")


def _policy(style: str, script: str) -> str:
    """Return a policy under which nothing runs, applies or loads but this page's own script and style."""
    own = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in (style, script)]
    return (
        f"default-src 'none'; style-src {own[0]}; script-src {own[1]}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
