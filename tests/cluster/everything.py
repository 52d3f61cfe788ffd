"""A suite of all metrics there are, over texts, calls, JSON, lists of ids and vectors, for every engine."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

import polars_evals as pe
from polars_evals.cli.app import app
from polars_evals.cluster import score_parquet
from polars_evals.jobs import scan_scored

if TYPE_CHECKING:
    from pathlib import Path

PARTS = 4
VERSIONS = ("v1", "v2")


def letters(texts: list[str]) -> list[list[int]]:
    """An encoder: how often a text has each vowel, and how long it is."""
    return [[*(text.count(vowel) for vowel in "aeiou"), len(text)] for text in texts]


@pe.metric(name="brevity", threshold=0.25, version="2")
def brevity(output: pl.Expr, expected: pl.Expr, *, slack: int = 0) -> pl.Expr:
    """An expression of Polars, of both sides."""
    return 1.0 / (1 + (output.str.len_chars().cast(pl.Int64) - expected.str.len_chars() - slack).abs())


def shouting(output: pl.Expr) -> pl.Expr:
    """A function of Python, element by element."""
    return output.map_elements(str.isupper, return_dtype=pl.Boolean)


def shortest(output: str, expected: str) -> bool:
    """A metric over the values of a row."""
    return len(output) <= len(expected)


CALLS: dict[str, Any] = {"output": "calls", "expected": "expected_calls"}
JSON: dict[str, Any] = {"output": "json", "expected": "expected_json"}
IDS: dict[str, Any] = {"output": "found", "expected": "relevant"}

SUITE = pe.Suite(
    [
        *(
            pe.Metric(kind)
            for kind in (
                "bleu", "cer", "chrf", "contains", "damerau_levenshtein", "ends_with", "exact_match", "gleu",
                "hamming", "indel", "jaccard", "jaro_winkler", "levenshtein", "numeric_match", "osa",
                "recall", "response", "rouge", "similarity", "starts_with", "token_f1",
            )
        ),
        pe.Metric("wer", details=True),
        pe.Metric("rouge", name="turns", variant="rougeL", output="said", expected="script", details=True),
        pe.Metric(
            "exact_match", name="capital", expected=pl.lit("Paris"), clean=["reasoning", {"after": "Answer:"}]
        ),
        pe.Metric("choice", clean="reasoning", expected="letter"),
        pe.Metric("contains", name="words", expected=pl.lit(pl.Series([["Paris", "the"]])).first()),
        pe.Metric(
            "levenshtein", name="cleaned", clean=["reasoning", "fence"], clean_expected=True, details=True
        ),
        pe.Metric("length_between", maximum=40),
        pe.Metric("regex_match", pattern=r"\bthe\b"),
        pe.Metric("semantic", encoder=letters, missing="null"),
        pe.Metric("cosine", output="vector", expected="expected_vector"),
        pe.Metric("tool_calls", mode="f1", arguments="subset", details=True, **CALLS),
        pe.Metric("tool_calls_valid", output="calls", tools=[{"name": "look"}], details=True),
        pe.Metric("json_fields", details=True, match_by="$.days[*].id", **JSON),
        pe.Metric("exact_match", field="$.city", **JSON),
        pe.Metric(shortest, rows=True),
        pe.Metric("json_match", **JSON),
        pe.Metric("json_schema", output="json", schema={"type": "object", "required": ["city"]}),
        pe.Metric("ndcg", k=3, **IDS),
        pe.Metric("precision_at_k", k=2, **IDS),
        pe.Metric("recall_at_k", k=2, **IDS),
        pe.Metric("reciprocal_rank", **IDS),
        pe.Metric("column", name="judge", column="stars", low=1, high=5),
        pe.Metric(brevity, slack=1),
        pe.Metric(shouting, missing="null"),
    ]
)  # fmt: skip


def rows(count: int = 240) -> pl.DataFrame:
    """Rows of two versions, a time and what every metric reads, with gaps in every column."""
    rng = np.random.default_rng(1)
    words = ["Paris", "ist", "die", "Hauptstadt", "Москва", "東京", "naïve", "ANSWER", "", "the", "3", "42.5"]
    frames = ["{}", "<think>{}</think> Answer: Paris", "```\n{}\n```", "The answer is (B). {}"]

    def text() -> str:
        return " ".join(rng.choice(words, 5))

    def call() -> str:
        arguments = {"city": str(rng.choice(words)), "days": int(rng.integers(3))}
        return json.dumps([{"name": str(rng.choice(["look", "book"])), "arguments": arguments}])

    def document() -> str:
        return json.dumps({"city": str(rng.choice(words)), "days": [int(rng.integers(3)), 1.0]})

    def ids() -> list[str]:
        return [str(one) for one in rng.choice(["a", "b", "c", "d"], 3, replace=False)]

    def numbers() -> list[float]:
        return [float(one) for one in rng.normal(size=3)]

    whole = pl.DataFrame(
        {
            "row": range(count),
            "item_id": [f"item-{n // 2}" for n in range(count)],
            "model": list(VERSIONS) * (count // 2),
            "ts": [datetime(2026, 3, 29, tzinfo=UTC) + timedelta(minutes=17 * n) for n in range(count)],
            "output": [str(rng.choice(frames)).format(text()) for _ in range(count)],
            "expected": [text() for _ in range(count)],
            "letter": [str(rng.choice(list("ABCD"))) for _ in range(count)],
            "said": [[text(), text()] for _ in range(count)],
            "script": [[text(), text()] for _ in range(count)],
            "calls": [call() for _ in range(count)],
            "expected_calls": [call() for _ in range(count)],
            "json": [document() for _ in range(count)],
            "expected_json": [document() for _ in range(count)],
            "found": [ids() for _ in range(count)],
            "relevant": [ids()[:2] for _ in range(count)],
            "vector": [numbers() for _ in range(count)],
            "expected_vector": [numbers() for _ in range(count)],
            "stars": [int(one) for one in rng.integers(1, 6, count)],
        }
    )
    kept = ["row", "item_id", "model", "ts"]
    return whole.with_columns(
        pl.when((pl.col("row") + place) % 13 != 0).then(name).alias(name)
        for place, name in enumerate(whole.columns)
        if name not in kept
    ).with_columns(part=pl.col("row") % PARTS)


def as_on_a_cluster(scored: pl.DataFrame) -> pl.DataFrame:
    """The scores of one machine with labels as text, and no unsigned integers."""
    return scored.with_columns(
        pl.col(pl.Enum(["fail", "pass"])).cast(pl.String), pl.col(pl.UInt32).cast(pl.Int64)
    )


def assert_files_compare_with_those_of_one_machine(engine: str, folder: Path) -> None:
    """Score one version on a cluster and the other here: comparing both is comparing one table."""
    frame = rows().drop("part")
    compared: dict[str, Any] = {"version": "model", "baseline": "v1", "candidate": "v2", "item": "item_id"}
    whole = SUITE.score(frame)
    wanted = pe.compare(whole, **compared)
    before, after = (frame.filter(model=version) for version in VERSIONS)
    before.write_parquet(folder / "in.parquet")
    score_parquet(folder / "in.parquet", SUITE, folder / "cluster", engine=engine)
    SUITE.sink_parquet(after, folder / "local.parquet")
    paths = [str(folder / "cluster"), str(folder / "local.parquet")]
    assert pe.signatures(paths) == SUITE.signature

    scored = scan_scored(paths)
    assert_frame_equal(pe.compare(scored, **compared).summary, wanted.summary)
    assert scored.collect_schema()["ts"] == pl.Datetime("us", "UTC")
    days: dict[str, Any] = {"time": "ts", "every": "6h", "metrics": ["levenshtein"], "reference": 3}
    assert_frame_equal(pe.timeline(scored, **days).windows, pe.timeline(whole, **days).windows)

    read = pl.read_parquet(folder / "cluster" / "*.parquet")
    assert read.schema["ts"] == pl.Datetime("us", "UTC")
    joined = pl.concat([read, SUITE.score(after, signatures=True)], how="vertical_relaxed")
    assert_frame_equal(pe.compare(joined, **compared).summary, wanted.summary)

    flags = [text for name, value in compared.items() for text in (f"--{name}", value)]
    ended = CliRunner().invoke(app, ["compare", *paths, *flags, "--json"])
    told = json.loads(ended.stdout)
    assert told["verdict"] == wanted.verdict
    assert told["summary"]["total"] == len(wanted.summary)

    pe.Suite([pe.Metric("levenshtein", threshold=0.1)]).sink_parquet(after, folder / "other.parquet")
    ended = CliRunner().invoke(app, ["compare", paths[0], str(folder / "other.parquet"), *flags])
    assert ended.exit_code == 3
    assert "not made in the same way" in ended.stderr
    unsigned = pl.concat([read, SUITE.score(after)], how="diagonal_relaxed")
    with pytest.raises(ValueError, match="signatures=True"):
        pe.compare(unsigned, **compared)
