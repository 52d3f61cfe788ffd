"""A third engine is one file: with it, scores are those of one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
from polars.testing import assert_frame_equal

from polars_evals.cluster import engines, score_parquet
from polars_evals.cluster.score import score_on
from polars_evals.suite.metric import metric_names
from tests.cluster import everything
from tests.cluster.data import PARTS, SUITE, answers, wanted
from tests.cluster.local import LocalEngine

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


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


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(engines.ENGINES, "local", LocalEngine)
    for part in range(2):
        answers().filter(pl.col("part") % 2 == part).write_parquet(tmp_path / f"in-{part}.parquet")
    score_parquet(str(tmp_path / "in-*.parquet"), SUITE, tmp_path / "out", engine="local")
    found = pl.read_parquet(tmp_path / "out" / "*.parquet").sort("row")
    assert_frame_equal(found, wanted(signatures=True), check_exact=True)


def test_files_compare_with_those_of_one_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(engines.ENGINES, "local", LocalEngine)
    everything.assert_files_compare_with_those_of_one_machine("local", tmp_path)
