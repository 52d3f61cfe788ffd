"""Put pages and notebook cells together: what was found, the figures, and items with their answers.

A cell has no scripts, and the colours of its notebook.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from math import isnan
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import polars as pl

from polars_evals._version import __version__
from polars_evals.drift import Comparison, Timeline
from polars_evals.report.figures import (
    METHODS,
    comparison_figures,
    result_figures,
    table_of,
    timeline_figures,
)
from polars_evals.report.markup import Html, join, tag
from polars_evals.report.numbers import day, middle_cut, number_of, percent, signed
from polars_evals.report.pack import Packed, pack
from polars_evals.report.sentences import MOST_CLAIMS, Claim, changes, period_of, sentence, story, worst_items
from polars_evals.report.tables import MOVED, SIGNS, WORDS, tables_of
from polars_evals.wording import apart, clean, counted, line, reveal

if TYPE_CHECKING:
    from polars_evals.drift.result import Result

SCRIPTS = ("data", "diff", "dom", "filter", "state", "labels", "export", "grid", "panel", "main")
LONGEST_ADDRESS = 1_000
# Rows of the list that stand there without scripts.
STATIC = 50
# Of a cell: rows of a table, items, characters of a text, and bytes of a frame of items.
CELL_ROWS, SHOWN, LONGEST, FRAME = 8, 5, 5_000, 1_500_000
NEEDED = {"candidate", "metric", "item", "baseline_score", "candidate_score"}


def page_of(
    result: Result,
    *,
    timeline: Timeline | None = None,
    source: str | None = None,
    items: str | int = "auto",
    label: pl.DataFrame | None = None,
    gates: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return a result as a page that opens offline; the options are those of `to_html`."""
    # True is no number.
    if items not in ("auto", "all", "none") and not (type(items) is int and items >= 0):
        raise ValueError(f'items must be "auto", "all", "none" or a number of items, got {items!r}')
    if isinstance(result, Comparison):
        packed = pack(result, items, label)
        if label is not None and packed is None:
            raise ValueError("label: the comparison has no items to rate; compare with item=…")
        return _comparison_page(result, timeline, packed, _gates(gates), source)
    claims = changes(result) if isinstance(result, Timeline) else []
    said, rest = tag("h1", _capital(sentence(result))), None
    if isinstance(result, Timeline) and claims:
        more = len(claims) - MOST_CLAIMS
        said = _claims([(claim, _capital(claim.text), None) for claim in claims[:MOST_CLAIMS]])
        rest = f"{'. '.join([*([counted(more, 'more change')] if more > 0 else []), period_of(result)])}."
    parts = timeline_figures(result) if isinstance(result, Timeline) else result_figures(result)
    head = _head([_theme()], _gates(gates), said, rest, _stamp(source))
    main = tag("main", tag("section", parts, id="evidence"), _notes(result))
    return _document(line(sentence(result), 120), [head, main])


def _comparison_page(
    comparison: Comparison,
    timeline: Timeline | None,
    packed: Packed | None,
    gates: Html | None,
    source: str | None,
) -> str:
    found = story(comparison)
    said = _claims([(one, _claim(one, packed), _example(one, packed)) for one in found.claims])
    rest = found.rest
    if not found.claims:
        said, rest = tag("h1", rest[0] if rest else found.title), rest[1:]
    counts = [
        tag("span", f"{SIGNS[kind]} {found.counts[kind]:,} {word}", class_=f"count {kind}")
        for kind, word in WORDS.items()
        if found.counts[kind] or kind in MOVED
    ]
    single = len(comparison.spec.candidates) == 1
    unit = f"of {counted(sum(found.counts.values()), 'row')}" if single else "versions"
    who = tag("p", found.title.partition(": ")[0], class_="who")
    top = [who, tag("p", counts, tag("span", unit, class_="quiet"), class_="counts"), _theme()]
    main = tag(
        "main",
        tag("section", comparison_figures(comparison, found), id="evidence"),
        None if timeline is None else tag("section", timeline_figures(timeline), id="timeline"),
        _items(comparison, packed),
        _notes(comparison),
    )
    head = _head(top, gates, said, " ".join(rest) or None, _facts(comparison, packed, source))
    candidates = comparison.spec.candidates
    name = middle_cut(candidates[0], 40) if single else f"{len(candidates)} versions"
    title = f"{name} against {middle_cut(comparison.spec.baseline, 40)}"
    return _document(title, [head, main, *_parts(packed)])


def _parts(packed: Packed | None) -> list[Html]:
    """Return where an item opens, and what the scripts unpack."""
    names = ("head", "scores", "previews", "texts") if packed is not None else ()
    templates = [tag("template", Html(getattr(packed, name)), id=f"pe-{name}") for name in names]
    return [tag("aside", id="panel", hidden=True, aria_label="item"), *templates]


def _head(top: list[Html], gates: Html | None, said: Html, rest: str | None, facts: str) -> Html:
    below = [tag("p", rest, class_="rest") if rest else None, tag("p", facts, class_="facts")]
    return tag("header", tag("div", top, class_="top"), gates, said, below)


def _claims(claims: Sequence[tuple[Claim, Html | str, Html | None]]) -> Html:
    """Return claims, each with its text and an example, as a list that begins with the page's title."""
    rows: list[Html] = []
    for claim, text, example in claims:
        sign = tag("span", SIGNS.get(claim.verdict, ""), aria_hidden="true", class_="sign")
        words = tag("p" if rows else "h1", sign, " ", text, class_="claim")
        rows.append(tag("li", words, example, class_=claim.verdict))
    return tag("ol", rows, class_="claims")


def _capital(text: str) -> str:
    """Capitalize the first letter, unless the text starts with a name such as `token_f1`."""
    return f"{text[:1].upper()}{text[1:]}" if re.match(r"[a-z]+[ :]", text) else text


def _theme() -> Html:
    said = "Light or dark"
    return tag("button", "◐", type="button", id="theme", title=said, aria_label=said, hidden=True)


def _claim(claim: Claim, packed: Packed | None) -> Html:
    """Return a claim as a link that filters the items it rests on."""
    text = _capital(claim.text)
    if packed is None or claim.row is None:
        return join(text)
    row = claim.row
    known = {metric["name"] for metric in packed.about["metrics"]}
    wanted: list[tuple[str, str]] = []
    if row.metric in known:
        chip = "worse" if claim.verdict == "regressed" else "better"
        wanted = [("chip", chip), *([] if packed.lead == row.metric else [("metric", row.metric)])]
    elif row.measure is not None and row.measure.share:
        wanted = [("chip", "errors")]
    # A name of a megabyte makes no address.
    if row.slice is not None and len(row.slice) < LONGEST_ADDRESS:
        wanted.append(("slice", row.slice))
    return tag("a", text, href=f"#items?{urlencode(wanted)}", data_items=True) if wanted else join(text)


def _example(claim: Claim, packed: Packed | None) -> Html | None:
    """Return one real item under a claim: question, expected, before → after."""
    if packed is None or claim.row is None or not claim.row.is_score:
        return None
    one = packed.example(claim.row)
    if one is None:
        return None
    texts = apart({"x": one["expected"], "b": one["before"], "a": one["after"]}, "b", "a")
    cut = {key: line(reveal(value), 90) for key, value in texts.items() if isinstance(value, str)}
    # Each text has its own direction, so that before stands left of after whatever their scripts.
    before, after = (tag("bdi", f"“{cut.get(key) or 'no answer'}”") for key in "ba")
    expected = [" · expected ", tag("bdi", f"“{cut['x']}”")] if cut.get("x") else None
    asked = tag("bdi", line(reveal(one["input"] or one["item"]), 110))
    return tag("p", "For example: ", asked, expected, " · ", before, " → ", after, class_="example")


def _gates(gates: Sequence[Mapping[str, Any]]) -> Html | None:
    """Return the result of the gates: which failed, by name, or that all passed."""
    if not gates:
        return None
    failed = [one for one in gates if one.get("status") == "failed"]
    others = Counter(str(one.get("status")) for one in gates if one not in failed)
    rest = ", ".join(f"{n:,} {status}" for status, n in others.items())
    if not failed:
        sign = "✓ " if set(others) <= {"passed"} else ""
        return tag("p", sign, f"Gates: {rest}", class_="gates", id="gates")
    rows = [
        tag(
            "li",
            tag("b", f"FAILED {line(str(one.get('gate')), 200)}"),
            (tag("p", line(str(text), 600)) for text in list(one.get("lines", ()))[:5]),
        )
        for one in failed
    ]
    word = tag("b", f"✗ {counted(len(failed), 'gate')} failed")
    content = [tag("p", word, f"; {rest}" if rest else ""), tag("ul", rows, id="failed-gates")]
    return tag("div", content, class_="gates regressed", id="gates")


def _stamp(source: str | None) -> str:
    today = day(datetime.now(UTC).date())
    return today if source is None else f"{today} · from {line(source, 200)}"


def _facts(comparison: Comparison, packed: Packed | None, source: str | None) -> str:
    """Return when, of what, with which suite, and how much; errors and truncated answers always."""
    spec = comparison.spec
    n = max((one for one in comparison.summary["n"].to_list() if one is not None), default=0)
    paired = "unpaired rows" if spec.item is None else f"paired by {line(spec.item, 60)}"
    facts = [
        _stamp(source),
        counted(n if packed is None else packed.total, "item"),
        f"{paired}{'' if spec.cluster is None else f', clustered by {line(spec.cluster, 60)}'}",
        counted(len(spec.metrics), "metric"),
        _suite(comparison),
        *([] if packed is None else _failures(packed)),
    ]
    return " · ".join(filter(None, facts))


def _failures(packed: Packed) -> list[str]:
    """Return how often calls failed; errors and truncated answers also where there are none."""
    words = {"error": "errors", "truncated": "truncated", "empty": "empty answers", "filtered": "filtered"}
    none = {"error": "no errors", "truncated": "none truncated"}
    found: list[str] = []
    for fact, word in words.items():
        rates = packed.rates[fact]
        if not any(rates):
            found.append(none.get(fact, ""))
        elif len(rates) == 2:
            found.append(f"{word} {percent(rates[0])} → {percent(rates[1])}")
        else:
            found.append(f"{word} up to {percent(max(rates))}")
    return found


def _suite(comparison: Comparison) -> str | None:
    """Return a short name of the metrics' signatures, where the scores carry them."""
    known = comparison.table.collect_schema().names()
    columns = [name for one in comparison.spec.metrics if (name := f"{one}_signature") in known]
    found = comparison.table.select(pl.col(columns).drop_nulls().first()).collect()
    text = "\n".join(one for row in found.rows() for one in row if one is not None)
    return f"suite {sha256(text.encode()).hexdigest()[:10]}" if text else None


def _items(comparison: Comparison, packed: Packed | None) -> Html:
    if packed is None:
        why = (
            "There are no pairs: compare with item=… to see the items behind the numbers."
            if comparison.spec.item is None
            else "No item has a score to show."
        )
        return tag("section", tag("h2", "Items"), tag("p", why, class_="empty"), id="items")
    two = len(packed.about["versions"]) == 2
    total = counted(packed.total, "item")
    whole = packed.with_text == packed.total
    texts = "" if whole else f" {packed.with_text:,} have their full texts in this file."
    shown = min(STATIC, packed.total)
    rows = tag("tbody", (_row(at, packed, two=two) for at in range(shown)), id="rows")
    head = tag("thead", _row_heads(packed, two=two))
    table = tag("table", tag("caption", "Items, most informative first"), head, rows)
    return tag(
        "section",
        tag("h2", "Items"),
        tag("div", id="toolbar", hidden=True),
        tag("p", f"The first {shown:,} of {total}.{texts}", id="items-note"),
        tag("div", table, id="grid", data_versions="two" if two else "many", tabindex=0),
        id="items",
    )


def _row_heads(packed: Packed, *, two: bool) -> Html:
    names = packed.about["short"]
    if two:
        texts = [*(["expected"] if packed.about["expected"] else []), *names]
        heads = [*((name, "words", "") for name in texts), (packed.lead, "score", "")]
    else:
        full = (line(reveal(name), 300) for name in packed.about["versions"])
        heads = [(name, "score", whole) for name, whole in zip(names, full, strict=True)]
    cells = [
        tag("th", reveal(name), scope="col", class_=kind, title=title or None) for name, kind, title in heads
    ]
    item = tag("th", "item", scope="col", class_="first")
    return tag("tr", item, cells, tag("th", reveal(packed.lead), scope="col", class_="phone"))


def _row(at: int, packed: Packed, *, two: bool) -> Html:
    """Return one of the first rows, for where there are no scripts."""
    one, metric = packed.frame.row(at, named=True), packed.about["metrics"][packed.about["lead"]]
    values = [None if isnan(number) else float(number) for number in packed.numbers[packed.lead][at]]
    steps = [_step(metric, value, values[0]) for value in values]
    slices = (one[f"by:{group['name']}"] for group in packed.about["sets"])
    where = " · ".join([one["item"], *(name for name in slices if name is not None)])
    asked = tag("div", line(reveal(one["input"] or one["item"]), 160), class_="input")
    first = tag("th", asked, tag("small", line(reveal(where), 120)), scope="row", dir="auto")
    if not two:
        cells = map(_score, values, steps, packed.flags[at] & 1)
        strip = tag("span", (tag("i", class_=f"t{at}") for at in steps[1:]), class_="strip")
        return tag("tr", first, cells, tag("td", strip, class_="phone"))
    texts = apart({"b": one["output:0"], "a": one["output:1"]}, "b", "a")
    words = [*([one["expected"]] if packed.about["expected"] else []), texts["b"], texts["a"]]
    said = ("no answer" if text is None else line(reveal(text), 160) for text in words)
    shown = (tag("td", tag("div", text), class_="words", dir="auto") for text in said)
    before, after = values[:2]
    moved = None if before is None or after is None else after - before
    levels, step = f"{number_of(before)} → {number_of(after)}", steps[1]
    sign = " ▼" if step < 0 else " ▲" if step > 0 else ""
    change = [tag("b", f"{signed(moved, 2)}{sign}"), tag("small", levels)]
    phone = tag("td", tag("span", levels, class_=f"t{step}"), class_="phone")
    return tag("tr", first, shown, tag("td", change, class_=f"score t{step}"), phone)


def _score(value: float | None, at: int, failed: bool) -> Html:
    if value is None:
        return tag("td", "!" if failed else "–", class_="score no-answer" if failed else "score none")
    return tag("td", number_of(value), class_=f"score t{at}")


def _step(metric: Mapping[str, Any], value: float | None, before: float | None) -> int:
    """Return the step of a tint, from −2 (much worse) to 2; 0 below the smallest change that matters."""
    if value is None or before is None:
        return 0
    gain = (before - value) if metric["lower"] else (value - before)
    size = abs(gain) if metric["unit_scale"] else abs(gain) / max(abs(before), 1e-12)
    if abs(gain) < max(metric["effect"], 1e-9):
        return 0
    return (1 if gain > 0 else -1) * (1 if size < 0.25 else 2)


def _notes(result: Result) -> Html:
    notes = [tag("li", line(reveal(note), 2_000)) for note in result.notes]
    return tag(
        "section",
        tag("h2", "Notes"),
        tag("ul", notes) if notes else None,
        tag("p", METHODS[type(result)], class_="quiet"),
        tag("p", f"Made with polars-evals {__version__}.", class_="quiet"),
        id="notes",
    )


def cell_of(result: Result) -> str:
    """Return a result as HTML for a notebook cell: the sentence, the figures, the worst items."""
    if isinstance(result, Comparison):
        return _cell(_found(result))
    said = tag("p", reveal(sentence(result)), class_="sentence")
    if isinstance(result, Timeline):
        return _cell(said, timeline_figures(result, most=2))
    shown, *more = result_figures(result)
    folded = [
        tag("details", tag("summary", one.title), table_of(one, most=20)) for one in tables_of(result)[1:]
    ]
    return _cell(said, shown, more[:1], folded)


def items_cell(items: pl.LazyFrame) -> str:
    """Return the first of some items as HTML for a notebook cell."""
    rows = items.head(SHOWN).collect()
    if set(rows.columns) < NEEDED:
        raise pl.exceptions.ColumnNotFoundError("not items any more")
    if rows.is_empty():
        return _cell(tag("p", "There are no such items."))
    left = items.select(pl.len()).collect().item() - rows.height
    more = tag("p", f"… and {counted(left, 'row')} more.", class_="quiet") if left else None
    return _cell([_texts(row) for row in rows.to_dicts()], more)


def items_frame(comparison: Comparison, height: int) -> str:
    """Return the items as a frame that needs no widgets: notebooks and VS Code show it as it is."""
    packed = pack(comparison, budget=FRAME)
    if packed is None:
        return tag("p", "There are no paired items to show.")
    document = _document("items", [tag("main", _items(comparison, packed)), *_parts(packed)], theme="light")
    # The frame cannot see the notebook's theme: it is light, and turned around where the notebook is dark.
    hint = "The items are shown where the notebook is trusted; to_html(path) writes them as a page."
    return tag(
        "div",
        tag("style", Html(asset("cell.css"))),
        tag("p", hint, class_="said"),
        tag(
            "iframe", srcdoc=document, sandbox="allow-scripts allow-downloads", width="100%", height=height,
            title="items of the comparison", class_="polars-evals-frame",
        ),
        class_="polars-evals-items",
    )  # fmt: skip


def _cell(*content: Any) -> str:
    return tag("div", tag("style", Html(asset("common.css", "cell.css"))), content, class_="polars-evals")


def _found(comparison: Comparison) -> Html:
    """Return what a comparison found, and its worst items."""
    found = story(comparison)
    signs = [tag("span", SIGNS[claim.verdict], class_=claim.verdict) for claim in found.claims]
    hint = "All items: comparison.items, or with filters comparison.show_items()."
    items = [_texts(row) for row in worst_items(comparison)]
    if items:
        items = [tag("p", tag("b", "Worst items")), *items, tag("p", hint, class_="quiet")]
    return join(
        tag("p", reveal(found.title), class_="sentence"),
        (
            tag("p", sign, " ", reveal(claim.text), class_="claim")
            for sign, claim in zip(signs, found.claims, strict=True)
        ),
        tag("p", " ".join(found.rest)) if found.rest else None,
        comparison_figures(comparison, found, most=CELL_ROWS)[:2],
        items,
    )


def _texts(row: dict[str, Any]) -> Html:
    numbers = f"{number_of(row.get('baseline_score'))} → {number_of(row.get('candidate_score'))}"
    who = middle_cut(reveal(str(row.get("candidate") or "candidate")), 40)
    blocks = (
        ("input", "input"), ("expected", "expected"), ("baseline", "baseline_output"),
        (who, "candidate_output"),
    )  # fmt: skip
    shown = [
        tag(
            "div",
            tag("div", name, class_="name"),
            tag("div", clean(reveal(str(row[key])), LONGEST), class_="text", dir="auto"),
        )
        for name, key in blocks
        if row.get(key) is not None
    ]
    scores = f" · {who} · {line(reveal(str(row.get('metric'))), 60)} {numbers}"
    name = tag("b", line(reveal(str(row.get("item"))), 90))
    return tag("details", tag("summary", name, scores), tag("div", shown, class_="texts"))


def asset(*names: str) -> str:
    """Return files of the page, one after the other."""
    return "\n".join(files(__package__).joinpath("assets", name).read_text("utf-8") for name in names)


def script() -> str:
    """Return the modules of the page as one script, without their imports and exports."""
    code = asset(*(f"{name}.js" for name in SCRIPTS))
    code = re.sub(r"(?m)^import .*;\n", "", code)
    return f'"use strict";\n(() => {{\n{re.sub(r"(?m)^export ", "", code)}}})();\n'


def _document(title: str, body: Sequence[Html | None], theme: str | None = None) -> str:
    style, code = asset("common.css", "page.css"), script()
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, code)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"polars-evals {__version__}"),
        tag("title", title),
        tag("link", rel="icon", href="data:,"),
        tag("style", Html(style)),
    )
    content = tag("body", body, tag("script", Html(code)))
    return (
        f"<!DOCTYPE html>\n{tag('html', head, content, lang='en', class_='polars-evals', data_theme=theme)}\n"
    )


def _policy(style: str, code: str) -> str:
    """Return a policy under which nothing runs, applies or loads but this page's own script and style."""
    own = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in (style, code)]
    return (
        f"default-src 'none'; style-src {own[0]}; script-src {own[1]}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
