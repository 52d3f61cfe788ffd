"""Put a page together: what was decided, what moved, and the answers behind it."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from polars_evals._version import __version__
from polars_evals.drift import Calibration, Comparison, Timeline
from polars_evals.report import questions, sections, thresholds, timelines
from polars_evals.report.markup import Html, tag
from polars_evals.report.measures import measures
from polars_evals.report.page_tables import verdict
from polars_evals.wording import line

if TYPE_CHECKING:
    from polars_evals.drift.result import Result
    from polars_evals.report.sections import Section


STYLES = ("report.css", "chart.css")
SCRIPTS = ("texts.js", "items.js", "report.js")


def comparison_page(
    comparison: Comparison, timeline: Timeline | None = None, source: str | None = None
) -> str:
    """
    Return a comparison as a page that opens offline.

    Parameters
    ----------
    comparison
        What to show.
    timeline
        The same scores over time, to show too.
    source
        Where the scores come from, in words.
    """
    parts = [
        sections.board(comparison),
        sections.evidence(comparison),
        measures(comparison),
        sections.items(comparison),
        sections.distributions(comparison),
        None if timeline is None else timelines.timeline_section(timeline),
        sections.unmatched(comparison),
    ]
    lede = sections.lede(comparison, source)
    return _page(comparison, lede, [part for part in parts if part is not None], sections.METHOD)


def page_of(result: Result, *, timeline: Timeline | None = None, source: str | None = None) -> str:
    """
    Return any result as a page that opens offline.

    Parameters
    ----------
    result
        A comparison, timeline or calibration.
    timeline
        The scores of a comparison over time, to show too.
    source
        Where the scores of a comparison come from, in words.
    """
    if isinstance(result, Comparison):
        return comparison_page(result, timeline, source)
    if isinstance(result, Timeline):
        return _page(result, timelines.lede(result), [timelines.timeline_section(result)], timelines.METHOD)
    if isinstance(result, Calibration) and result.summary.height == 1:
        return _page(result, None, [thresholds.threshold_section(result)], thresholds.METHOD)
    return _page(result, None, [questions.question_section(result)], questions.METHODS[type(result)])


def _page(result: Result, lede: Html | None, parts: list[Section], method: str) -> str:
    style, script = asset(*STYLES), asset(*SCRIPTS)
    headline = line(result.headline)
    parts = [*parts, sections.notes(result, method)]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy(style, script)),
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
        tag(
            "header",
            tag("p", verdict(result.badge), class_="overall") if result.badge else None,
            tag("h1", _title(result)),
            lede,
        ),
        tag(
            "nav",
            tag("ul", (tag("li", tag("a", part.title, href=f"#{part.name}")) for part in parts)),
            aria_label="Sections",
        ),
        tag("main", (_section(part) for part in parts), id="content"),
        tag(
            "footer",
            tag("p", "What is folded on the screen is not printed: unfold it first.", class_="paper"),
            tag("p", f"Made with polars-evals {__version__}."),
        ),
        tag("script", Html(script)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def asset(*names: str) -> str:
    """Return files of the page, one after the other."""
    return "\n".join(files(__package__).joinpath("assets", name).read_text("utf-8") for name in names)


def _title(result: Result) -> str:
    if isinstance(result, Comparison) and len(result.spec.candidates) > 1:
        return f"{len(result.spec.candidates):,} versions against {line(result.spec.baseline, 80)}"
    return line(result.headline).removeprefix(f"{result.badge}: ")


def _section(part: Section) -> Html:
    heading = tag("h2", part.title, id=f"{part.name}-title")
    return tag("section", heading, part.content, id=part.name, aria_labelledby=f"{part.name}-title")


def policy(style: str, script: str) -> str:
    """Return a policy under which nothing runs, applies or loads but this page's own script and style."""
    own = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in (style, script)]
    return (
        f"default-src 'none'; style-src {own[0]}; script-src {own[1]}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
