"""A third engine is one file: with it, scores and comparisons are those of one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe
from polars_evals.cluster import files, score_files
from polars_evals.cluster.engine import aggregate_on, score_on
from polars_evals.suite.metric import metric_names
from tests.cluster import everything
from tests.cluster.data import PARTS, SUITE, answers, wanted
from tests.cluster.local import LocalEngine
from tests.cluster.test_aggregates import OPTIONS, SETTINGS, assert_equal, scored

if TYPE_CHECKING:
    from pathlib import Path


def test_scores_equal_those_of_one_machine_to_the_last_bit() -> None:
    frame = answers()
    tables = [frame.filter(part=part).to_arrow() for part in range(PARTS)]
    result = score_on(LocalEngine(), tables, SUITE, signatures=True, max_bytes=10_000)
    found = pl.DataFrame(pl.from_arrow(pa.concat_tables(result))).sort("row")
    assert_frame_equal(found, wanted(signatures=True), check_exact=True)


def test_all_metrics_score_as_on_one_machine() -> None:
    assert {metric.type for metric in everything.SUITE.metrics} >= {*metric_names()}
    frame = everything.rows()
    tables = [part.drop("part").to_arrow() for part in frame.partition_by("part")]
    result = score_on(LocalEngine(), tables, everything.SUITE, signatures=True, max_bytes=10_000)
    found = pl.DataFrame(pl.from_arrow(pa.concat_tables(result))).sort("row")
    wanted = everything.SUITE.score(frame.drop("part"), signatures=True)
    assert_frame_equal(found, everything.as_on_a_cluster(wanted), check_exact=True)


@pytest.mark.parametrize(
    "candidate",
    [None, ["v2", "v3"], pl.Series(["v2", "v3"]), {"v3", "v2"}],
    ids=["none", "list", "series", "set"],
)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_comparison_equals_that_of_the_rows(options: dict[str, Any], candidate: Any) -> None:
    frame = scored(1, 240)
    tables = [frame[:300].to_arrow(), frame[300:].to_arrow(), frame[:0].to_arrow()]
    compared: Any = SETTINGS | {"candidate": candidate} | options
    found = aggregate_on(LocalEngine(), tables, compared, parts=3).compare()
    assert_equal(found, pe.compare(frame, **SETTINGS, **options))


def test_levels_are_those_of_the_aggregates_unless_told_otherwise() -> None:
    tables, compared = [scored(1, 60).to_arrow()], SETTINGS | {"item": "case_id", "alpha": 0.2}
    aggregates = aggregate_on(LocalEngine(), tables, compared, parts=2)  # type: ignore[arg-type]
    assert aggregates.compare().spec.alpha == 0.2
    assert aggregates.compare(alpha=0.01).spec.alpha == 0.01


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(files.ENGINES, "local", LocalEngine)
    for part in range(2):
        answers().filter(pl.col("part") % 2 == part).write_parquet(tmp_path / f"in-{part}.parquet")
    score_files(str(tmp_path / "in-*.parquet"), SUITE, tmp_path / "out", engine="local")
    found = pl.read_parquet(tmp_path / "out" / "*.parquet").sort("row")
    assert_frame_equal(found, wanted(signatures=True), check_exact=True)


def test_files_compare_with_those_of_one_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(files.ENGINES, "local", LocalEngine)
    everything.assert_files_compare_with_those_of_one_machine("local", tmp_path)
