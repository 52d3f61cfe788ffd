"""The items that changed their label: a table to search and sort, with the texts compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from rapidfuzz.distance import Indel

from polars_evals.drift.flips import slice_columns
from polars_evals.drift.measure import slice_name
from polars_evals.drift.text import cell, change
from polars_evals.report.diff import diff
from polars_evals.report.markup import Html, join, reveal, tag
from polars_evals.report.tables import LIMIT, left_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polars_evals.drift import Comparison
    from polars_evals.report.diff import Piece

MOST_FLIPS = 200
# All flips together, in characters of markup; what goes beyond is left out of the page.
BUDGET = 1_200_000
# Characters of a text that are compared; the longest runs of equal ones are not all shown.
COMPARED = 4_000
SHOWN = 3_000
CONTEXT = 80

_LEGEND = join(
    " In the texts, ", tag("ins", "this was added"), " and ", tag("del", "this is missing"),
    " in comparison with the text named.",
)  # fmt: skip
_TAGS = {"same": None, "added": "ins", "missing": "del"}


def flips(comparison: Comparison) -> Html:
    """Return the section's table of flips, at most so many and so long that the page stays small."""
    frame, settings = comparison.flips, comparison.settings
    several = len(settings["candidates"]) > 1
    by = _by(comparison)
    heads = [
        "item", *(["slice"] if by else []), "metric", *(["candidate"] if several else []), "flip", "score",
        "change",
    ]  # fmt: skip
    bodies: list[Html] = []
    spent = 0
    for at, row in enumerate(_greatest(frame).iter_rows(named=True)):
        body = _flip(row, at, settings["baseline"], several, by)
        spent += len(body)
        if spent > BUDGET:
            break
        bodies.append(body)
    numbers = {"score", "change"}
    columns = tag(
        "thead",
        tag(
            "tr",
            (tag("th", name, scope="col", class_="number" if name in numbers else None) for name in heads),
        ),
    )
    caption = tag("caption", "Items whose label changed")
    # Not the height of the frame, which `max_flips` may have cut.
    total = comparison.summary.select(pl.sum_horizontal("newly_failing", "newly_passing").sum()).item()
    greatest = ", the greatest changes of each metric" if len(bodies) < total else ""
    return join(
        tag("p", f"{len(bodies):,} of {total:,} flips{greatest}.", _LEGEND),
        _controls(comparison),
        tag(
            "div",
            tag("table", caption, columns, bodies, id="flips", data_sortable=True),
            class_="scroll flips",
        ),
        left_out(len(bodies), frame.height),
    )


def _by(comparison: Comparison) -> list[str]:
    """Return the columns of the slices that the flips have."""
    by = comparison.settings["by"]
    groups = [] if isinstance(by, str) else by
    return slice_columns(dict.fromkeys(name for group in groups for name in group))


def _greatest(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the greatest changes of each candidate, metric and kind of flip, as many as there is room."""
    rank = pl.col("change").abs().rank("ordinal", descending=True).over("candidate", "metric", "flip")
    chosen = frame.with_columns(rank=rank).sort("rank", maintain_order=True).head(MOST_FLIPS)
    return chosen.sort("change", maintain_order=True)


def _controls(comparison: Comparison) -> Html:
    """Return the search field and filters; the script shows them, as they are nothing without it."""
    settings = comparison.settings
    choices = {
        "flip": ["newly failing", "newly passing"],
        "metric": settings["metrics"][:50],
        "candidate": settings["candidates"][:50],
    }
    selects = (
        _control(
            name,
            tag(
                "select",
                tag("option", "all", value=""),
                (tag("option", cell(choice, LIMIT)) for choice in options),
                id=f"filter-{name}",
                data_filter=name,
            ),
        )
        for name, options in choices.items()
        if len(options) > 1
    )
    return tag(
        "form",
        _control("search", tag("input", type="search", id="filter-search", autocomplete="off")),
        selects,
        tag("button", "show all texts", type="button", id="open-all", aria_pressed="false"),
        tag("output", id="found", for_="filter-search", aria_live="polite"),
        class_="controls",
        id="controls",
        role="search",
        aria_label="flips",
        hidden=True,
    )


def _control(name: str, control: Html) -> Html:
    return tag("span", tag("label", name, for_=f"filter-{name}"), " ", control)


def _flip(row: dict[str, Any], at: int, baseline: str, several: bool, by: list[str]) -> Html:
    kind = str(row["flip"]).replace("_", " ")
    sign = "▼" if row["flip"] == "newly_failing" else "▲"
    cells = [tag("th", tag("span", cell(row["item"], LIMIT), class_="item"), scope="row")]
    if by:
        place = slice_name(by, tuple(row[name] for name in by))
        cells.append(tag("td", cell(place, LIMIT), data_name="slice"))
    cells.append(tag("td", cell(row["metric"], LIMIT), data_name="metric"))
    if several:
        cells.append(tag("td", cell(row["candidate"], LIMIT), data_name="candidate"))
    cells += [
        tag(
            "td",
            tag("span", tag("span", sign, aria_hidden="true"), " ", kind, class_=f"verdict {row['flip']}"),
            data_name="flip",
            data_text=kind,
        ),
        tag(
            "td",
            change(row["baseline_score"], row["candidate_score"], ".2f"),
            class_="number",
            data_value=row["candidate_score"],
        ),
        tag("td", f"{row['change']:+.2f}", class_="number", data_value=row["change"]),
    ]
    texts = tag("td", tag("div", _texts(row, baseline), class_="texts"), colspan=len(cells))
    return tag("tbody", tag("tr", cells), tag("tr", texts, id=f"flip-{at}", class_="detail"))


def _texts(row: dict[str, Any], baseline: str) -> Iterator[Html]:
    expected, before, after = row["expected"], row["baseline_output"], row["candidate_output"]
    baseline_name = f"baseline {cell(baseline, 40)} ({row['baseline_label']})"
    candidate_name = f"candidate {cell(row['candidate'], 40)} ({row['candidate_label']})"
    if row["input"] is not None:
        yield _block("input", _plain(_text(row["input"])))
    if expected is None:
        yield _block(baseline_name, _plain(_text(before)))
    else:
        references = isinstance(expected, list) and not isinstance(after, list)
        yield _block("expected, one of" if references else "expected", _plain(_text(expected)))
        for name, output in ((baseline_name, before), (candidate_name, after)):
            against = _nearest(expected, output) if references else _text(expected)
            yield _block(f"{name} against expected", _marked(_text(output), against))
    yield _block(f"{candidate_name} against baseline", _marked(_text(after), _text(before)))


def _block(title: str, content: Html) -> Html:
    return tag("div", tag("h4", title), tag("p", content, dir="auto", class_="text"))


def _text(value: Any) -> str | None:
    """Return a text; turns of a conversation follow each other on lines of their own."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join("–" if turn is None else str(turn) for turn in value)
    return str(value)


def _nearest(references: list[str | None], output: str | None) -> str | None:
    """Return the reference that is nearest to an output."""
    known = [text for text in references if text is not None]
    short = (output or "")[:COMPARED]
    return max(known, key=lambda text: Indel.normalized_similarity(short, text[:COMPARED]), default=None)


def _plain(text: str | None) -> Html:
    if text is None:
        return tag("i", "none")
    return join(reveal(text[:SHOWN]), _cut(len(text) - SHOWN))


def _marked(text: str | None, other: str | None) -> Html:
    """Return a text with what it adds to the other one, and what it misses of it."""
    if text is None or other is None:
        return _plain(text)
    parts: list[Html] = []
    room = SHOWN
    for piece in diff(text[:COMPARED], other[:COMPARED]):
        if room <= 0:
            return join(parts, tag("span", " … (the rest is left out)", class_="left-out"))
        shown = _shown(piece)[:room]
        room -= len(shown) + 16
        name = _TAGS[piece.kind]
        parts.append(join(shown) if name is None else tag(name, shown))
    return join(parts, _cut(len(text) - COMPARED))


def _shown(piece: Piece) -> str:
    """Return a piece as it is read: equal text shortened, line breaks that differ made visible."""
    text = reveal(piece.text)
    if piece.kind != "same":
        return text.replace("\n", "↵\n")
    if len(text) > 3 * CONTEXT:
        return f"{text[:CONTEXT]} ⟨… {len(text) - 2 * CONTEXT:,} equal characters …⟩ {text[-CONTEXT:]}"
    return text


def _cut(hidden: int) -> Html:
    return tag("span", f" … (+{hidden:,} characters)", class_="left-out") if hidden > 0 else Html("")
