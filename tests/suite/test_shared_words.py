"""Word metrics over the same columns are scored in one pass, and each as if it were alone."""

import re
from functools import reduce
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe

TEXTS = [
    "The cat sat on the mat.",
    "A cat was sitting on the mat; it purred - loudly!",
    "",
    None,
    "1. Über die Brücke\n- läuft ein KATER",
    "Кошка сидит на ковре",
    "猫坐在垫子上",
    "ends with a hyphen-\nated line &amp; <skipped> words",
    "an " * 40 + "x" * 100,
]
METRICS = [
    pe.Metric("rouge"),
    pe.Metric("rouge", variant="rouge2", details=True),
    pe.Metric("rouge", variant="rougeL", measure="recall", tokenizer="rouge"),
    pe.Metric("rouge", variant="rougeLsum", stemmer=False),
    pe.Metric("rouge", name="by_pattern", tokenizer=r"\w\w+"),
    pe.Metric("token_f1", details=True),
    pe.Metric("jaccard"),
    pe.Metric("jaccard", name="unicode", tokenizer="unicode", case_sensitive=True),
    pe.Metric("recall", missing="null"),
    pe.Metric("bleu"),
    pe.Metric("bleu", name="intl", tokenize="intl", lowercase=True),
    pe.Metric("chrf", word_order=2),
    pe.Metric("response"),
    pe.Metric("response", name="exact", match_type="exact"),
    pe.Metric("response", name="exact_again", match_type="exact", threshold=0.1),
]


@pytest.fixture
def frame() -> pl.DataFrame:
    pairs = [(output, expected) for expected in TEXTS for output in TEXTS]
    return pl.DataFrame(pairs, schema={"output": pl.String, "expected": pl.String}, orient="row")


def passes(frame: pl.LazyFrame) -> list[str]:
    """Name the native functions that the optimized plan calls."""
    return sorted(re.findall(r"[.](?:so|pyd):(\w+)[(]", frame.explain()))


def alone(frame: pl.DataFrame) -> pl.DataFrame:
    names = [str(metric.name) for metric in pe.Suite(METRICS).metrics]
    renamed = [pe.Metric(m.type, name=n, **m.options) for n, m in zip(names, METRICS, strict=True)]
    scored = [pe.Suite([metric]).score(frame).drop(frame.columns) for metric in renamed]
    return reduce(pl.DataFrame.hstack, scored, frame)


def test_each_metric_scores_as_if_alone(frame: pl.DataFrame, tmp_path: Path) -> None:
    expected = alone(frame)
    suite = pe.Suite(METRICS)
    assert_frame_equal(suite.score(frame), expected, check_exact=True)
    lazy = suite.score(frame.lazy())
    # The pattern finds words in other texts.
    assert passes(lazy) == ["as_text_lists", "as_text_lists", "rouge", "words"]
    assert_frame_equal(lazy.collect(), expected, check_exact=True)
    assert_frame_equal(lazy.collect(engine="streaming"), expected, check_exact=True)
    halves = pl.concat([frame.head(40), frame.tail(-40)], rechunk=False)
    assert_frame_equal(suite.score(halves), expected, check_exact=True)
    frame.write_parquet(tmp_path / "texts.parquet", row_group_size=17)
    suite.score(pl.scan_parquet(tmp_path / "texts.parquet")).sink_parquet(tmp_path / "scored.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "scored.parquet"), expected, check_exact=True)


@pytest.mark.parametrize("mark", ["<skipped>", "<SKIPPED>", "<s\u212aipped>"])
def test_a_mark_that_13a_drops_joins_lines_whatever_its_case(mark: str) -> None:
    frame = pl.DataFrame({"output": [f"well-{mark}\nknown words"], "expected": ["wellknown words"]})
    bleu = pe.Metric("bleu", lowercase=True)
    for others in ([], [pe.Metric("jaccard")], [pe.Metric("jaccard"), pe.Metric("token_f1")]):
        assert pe.Suite([bleu, *others]).score(frame)["bleu_score"].to_list() == [1.0]


def test_a_pass_that_nobody_uses_is_not_made(frame: pl.DataFrame) -> None:
    scored = pe.Suite([pe.Metric("rouge"), pe.Metric("bleu"), pe.Metric("jaccard")]).score(frame.lazy())
    assert passes(scored.select("output", "bleu_score", "rouge1_label")) == ["words"]
    assert passes(scored.select("output")) == []


def test_other_columns_are_another_pass(frame: pl.DataFrame) -> None:
    suite = pe.Suite(
        [pe.Metric("rouge"), pe.Metric("bleu"), *(pe.Metric(m, expected="other") for m in ("chrf", "recall"))]
    )
    assert passes(suite.score(frame.with_columns(other=pl.col("output").reverse()).lazy())) == ["words"] * 2


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.List(pl.String)], ids=str)
def test_texts_of_another_type_are_scored_metric_by_metric(dtype: Any) -> None:
    frame = pl.DataFrame({"output": ["a b", "b c"], "expected": ["a b", "c"]})
    expected = frame.select(
        pl.col("expected").cast(dtype) if dtype == pl.Categorical else pl.concat_list("expected")
    )
    suite = pe.Suite([pe.Metric("rouge"), pe.Metric("recall")])
    scored = suite.score(frame.with_columns(expected)).drop("output", "expected")
    assert_frame_equal(scored, suite.score(frame).drop("output", "expected"))
