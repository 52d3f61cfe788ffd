"""Word metrics over the same columns are scored in one pass, and each as if it were alone."""

import gc
import pickle
import weakref
from collections.abc import Iterator
from functools import partial, reduce
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe
from polars_evals import _native
from polars_evals.metrics import words

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


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    """The metrics of each pass over texts."""
    seen: list[list[str]] = []
    scored = _native.words

    def words_seen(left: pl.Series, right: pl.Series, metrics: Any, *, threads: int) -> Any:
        seen.append([name for name, _ in metrics])
        return scored(left, right, metrics, threads=threads)

    monkeypatch.setattr(_native, "words", words_seen)
    yield seen
    assert not any(batches.batches for batches in words.OPEN), "a batch was kept that nobody asks for"


def alone(frame: pl.DataFrame) -> pl.DataFrame:
    names = [str(metric.name) for metric in pe.Suite(METRICS).metrics]
    renamed = [pe.Metric(m.type, name=n, **m.options) for n, m in zip(names, METRICS, strict=True)]
    scored = [pe.Suite([metric]).score(frame).drop(frame.columns) for metric in renamed]
    return reduce(pl.DataFrame.hstack, scored, frame)


def test_each_metric_scores_as_if_alone(frame: pl.DataFrame, tmp_path: Path, passes: list[list[str]]) -> None:
    expected = alone(frame)
    suite = pe.Suite(METRICS)
    passes.clear()
    assert_frame_equal(suite.score(frame), expected, check_exact=True)
    # The pattern finds words in other texts; the two exact ones differ in threshold alone.
    assert [len(metrics) for metrics in sorted(passes, key=len)] == [1, 13]
    lazy = suite.score(frame.lazy())
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


def test_a_metric_that_nobody_uses_is_not_computed(frame: pl.DataFrame, passes: list[list[str]]) -> None:
    scored = pe.Suite([pe.Metric("rouge"), pe.Metric("bleu"), pe.Metric("jaccard")]).score(frame.lazy())
    scored.select("output", "bleu_score", "rouge1_label").collect()
    assert passes
    assert all(sorted(metrics) == ["bleu", "rouge"] for metrics in passes)
    passes.clear()
    scored.select("jaccard_score").collect(engine="streaming")
    assert passes
    assert all(metrics == ["jaccard"] for metrics in passes)
    passes.clear()
    scored.select("output").collect()
    assert passes == []
    scored.filter(pl.col("output") == "").filter(pl.col("bleu_score") >= 0).select("rouge1_score").collect()
    assert passes
    assert all(sorted(metrics) == ["bleu", "rouge"] for metrics in passes)


def test_other_columns_are_another_pass(frame: pl.DataFrame, passes: list[list[str]]) -> None:
    suite = pe.Suite(
        [pe.Metric("rouge"), pe.Metric("bleu"), *(pe.Metric(m, expected="other") for m in ("chrf", "recall"))]
    )
    suite.score(frame.with_columns(other=pl.col("output").reverse()))
    assert sorted(sorted(metrics) for metrics in passes) == [["bleu", "rouge"], ["chrf", "recall"]]


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.List(pl.String)], ids=str)
def test_texts_of_another_type_are_scored_metric_by_metric(dtype: Any, passes: list[list[str]]) -> None:
    frame = pl.DataFrame({"output": ["a b", "b c"], "expected": ["a b", "c"]})
    expected = frame.select(
        pl.col("expected").cast(dtype) if dtype == pl.Categorical else pl.concat_list("expected")
    )
    suite = pe.Suite([pe.Metric("rouge"), pe.Metric("recall")])
    scored = suite.score(frame.with_columns(expected)).drop("output", "expected")
    assert_frame_equal(scored, suite.score(frame).drop("output", "expected"))


def test_a_failed_query_leaves_nothing(frame: pl.DataFrame) -> None:
    scored = pe.Suite([pe.Metric("rouge"), pe.Metric("bleu")]).score(frame.lazy())
    failing = scored.with_columns(pl.col("rouge1_score").cast(pl.String).str.to_integer())
    for _ in range(20):
        with pytest.raises(pl.exceptions.PolarsError):
            failing.collect()
    left = [batches for batches in words.OPEN if batches.batches]
    assert all(len(batches.batches) <= 4 * pl.thread_pool_size() for batches in left)
    # With the query goes what it left.
    gone = [weakref.ref(batches) for batches in left]
    del scored, failing, left
    gc.collect()
    assert not any(batches() for batches in gone)


def test_what_is_announced_can_go_to_another_process() -> None:
    kernel = words.WordKernel.of("bleu")
    announce = pickle.loads(pickle.dumps(partial(words.Batches().announce, kernel)))
    assert announce.args == (kernel,)
    assert not announce.func.__self__.batches
