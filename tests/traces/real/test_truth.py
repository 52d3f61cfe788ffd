"""Exports that the real tools wrote, against what had been logged when they were made."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import polars_evals as pe

REAL = Path(__file__).parent


class Export(NamedTuple):
    """One export of a tool's run, and what it holds."""

    folder: Path
    truth: dict[str, Any]
    about: dict[str, Any]

    @property
    def files(self) -> list[Path]:
        return [self.folder / name for name in self.about["files"]]

    @property
    def answers(self) -> list[dict[str, Any]]:
        """What the export holds of all that was logged."""
        questions = self.about.get("questions")
        return [
            answer | self.about["changes"]
            for answer in self.truth["answers"]
            if (questions is None or answer["question"] in questions)
            and answer.get("epoch", 1) <= self.about["epochs"]
        ]

    def holds(self, field: str) -> bool:
        return field in self.about["fields"]

    def scan(self, **options: Any) -> pl.DataFrame:
        return pe.scan_traces(self.files, **options).collect()


def _exports() -> list[Any]:
    found = []
    for file in sorted(REAL.glob("*/*/truth.json")):
        truth = json.loads(file.read_text(encoding="utf-8"))
        found += [
            pytest.param(
                Export(file.parent, truth, about), id=f"{truth['tool']}-{truth['version']}-{about['name']}"
            )
            for about in truth["exports"]
        ]
    return found


EXPORTS = _exports()
every_export = pytest.mark.parametrize("export", EXPORTS)


def _called(calls: list[dict[str, str]] | None) -> list[Any]:
    return [(call["name"], json.loads(call["arguments"])) for call in calls or []]


# What the SDKs call the same end of an answer; a truth has the tool's word or the first SDK's.
ENDS = {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls", "tool_call": "tool_calls"}


def _logged(answer: dict[str, Any], field: str) -> Any:
    value = answer[field]
    if field == "tool_calls":
        return _called(value)
    if field == "contexts":
        return value or []
    return ENDS.get(value, value) if field == "finish_reason" else value


def _read(row: dict[str, Any], field: str) -> Any:
    if field == "tool_calls":
        return _called(row[field])
    if field == "contexts":
        return row[field] or []
    if field == "finish_reason":
        return ENDS.get(row[field], row[field])
    if field == "cost" and row[field] is not None:
        return pytest.approx(row[field])
    return row[field]


def _pairs(export: Export, rows: pl.DataFrame) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Find the row of each answer: the one of this question and model that agrees with it most."""
    key = [name for name in ("input", "model") if export.holds(name)]
    if not export.holds("input"):
        # What failed says of itself only that it did.
        rows = rows.with_columns(
            pl.coalesce("model", pl.when(pl.col("error").is_not_null()).then(pl.lit("")))
        )
    telling = [name for name in ("output", "expected") if export.holds(name)]
    left = rows.to_dicts()
    pairs = []
    for answer in export.answers:
        fitting = [row for row in left if all(row[name] in (answer[name], "") for name in key)]
        assert fitting, f"no row for {answer['question']} of {answer['version']}"

        def agrees(row: dict[str, Any], answer: dict[str, Any] = answer) -> int:
            scored = [row.get(f"{name}_score") == value for name, value in answer["scores"].items()]
            task = [str(answer.get(name)) in (row["item_id"] or "") for name in ("task", "filter")]
            row = row | {"error": row["error"] or ""}
            failed = (answer["error"] or "") in row["error"] and bool(answer["error"]) == bool(row["error"])
            return 4 * int(failed) + sum(
                map(bool, [*(row[name] == answer[name] for name in telling), *scored, *task])
            )

        best = max(fitting, key=agrees)
        left.remove(best)
        pairs.append((answer, best))
    # A question that one version's file could not hold (a blank cell) is left out of the truth for both.
    silent = {answer["input"] for answer in export.truth["answers"]} - {a["input"] for a in export.answers}
    assert all(row["input"] in silent and "csv" in export.about["name"] for row in left), left
    assert len(pairs) == export.about["rows"]
    return pairs


def _in_csv(value: Any) -> Any:
    return (
        json.dumps(json.loads(value)) if isinstance(value, str) and value.startswith("{") else value or None
    )


def test_there_are_exports() -> None:
    assert EXPORTS


@every_export
def test_every_answer_is_one_row_and_says_what_was_logged(export: Export) -> None:
    rows = export.scan()
    fields = [name for name in export.about["fields"] if name not in ("scores", "error", "latency_ms")]
    held = "".join(file.read_text("utf-8", "replace") for file in export.files if file.is_file())
    for answer, row in _pairs(export, rows):
        read = {name: _read(row, name) for name in fields}
        logged = {name: _logged(answer, name) for name in fields}
        if "csv" in export.about["name"]:
            # CSV has one way to write a blank text and a missing one, and promptfoo's re-writes JSON there.
            read, logged = ({n: _in_csv(v) for n, v in each.items()} for each in (read, logged))
        if read.get("model") == "":
            logged["model"] = ""
        assert read == logged, answer["question"]
        if export.holds("error"):
            assert (row["error"] is None) == (answer["error"] is None)
            # An export may say that a call failed, and not how.
            if answer["error"] is not None and answer["error"] in held:
                assert answer["error"] in row["error"]
        if export.holds("latency_ms") and answer["error"] is None:
            assert row["latency_ms"] is not None
            assert row["latency_ms"] >= 0


@every_export
def test_the_same_question_pairs(export: Export) -> None:
    items: dict[tuple[Any, ...], set[str]] = {}
    for answer, row in _pairs(export, export.scan()):
        assert row["item_id"] is not None
        question = (answer["question"], answer.get("task"), answer.get("filter"))
        items.setdefault(question, set()).add(row["item_id"])
    if not export.holds("input") and export.about["item"] == "question":
        return  # Without the questions, nothing can tell that two are the same.
    assert all(len(found) == 1 for found in items.values()), items
    assert len(set.union(*items.values())) == len(items), "two questions share an item"


@every_export
def test_scores_of_the_platform(export: Export) -> None:
    if not export.holds("scores"):
        assert export.scan(scores=True).height == export.scan().height
        return
    scored = export.scan(scores=True)
    held = {column.removesuffix("_score") for column in scored.columns}
    assert held & {name for answer in export.answers for name in answer["scores"]}
    for answer, row in _pairs(export, scored):
        for name, value in answer["scores"].items():
            if name not in held:
                continue  # The export says nothing of it.
            assert row[f"{name}_score"] == pytest.approx(value), (answer["question"], name)


@every_export
def test_nothing_is_lost_in_silence(export: Export) -> None:
    checked = pe.check_traces(export.files)
    assert checked.ok, str(checked)
    assert checked.rows == export.scan().height
    spans = checked.files.get_column("spans").sum()
    silent = checked.reasons.filter(pl.col("reason").str.starts_with("spans")).get_column("records").sum()
    assert checked.rows + silent == spans
    versions = Counter(answer["version"] for answer in export.answers)
    if len(versions) > 1 and export.holds("model"):
        can_pair = export.holds("input") or export.about["item"] == "id"
        assert checked.pairing == 1.0 or not can_pair or len(set(versions.values())) > 1


@every_export
def test_engines_agree_and_a_row_has_a_name(export: Export) -> None:
    lazy = pe.scan_traces(export.files)
    rows = lazy.collect()
    assert rows.equals(lazy.collect(engine="streaming"))
    assert dict(lazy.collect_schema()) == dict(rows.schema)
    named = rows.select("trace_id", "span_id")
    assert named.get_column("trace_id").null_count() == 0
    assert named.is_duplicated().sum() == 0
