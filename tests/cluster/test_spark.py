"""On a Spark cluster of two executors: what one machine gives, also when an executor dies."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe
from polars_evals.cluster import compare, score_parquet, score_spark
from tests.cluster import everything
from tests.cluster.data import (
    DATA,
    PARTS,
    ROOT,
    SUITE,
    answers,
    assert_example_scored,
    executor_dies_once,
    wanted,
)
from tests.cluster.test_compare import OPTIONS, SETTINGS, assert_equal, scored, with_texts
from tests.jobs.support import command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

pyspark: Any = pytest.importorskip("pyspark.sql", reason="Spark is tested by `make test-cluster`")
# Warnings are Spark's own.
pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", autouse=True)
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_WORKER_DIR", str(tmp_path_factory.mktemp("spark")))
        started = (
            pyspark.SparkSession.builder.master("local-cluster[2,1,1024]")
            .config("spark.executorEnv.PYTHONPATH", ROOT)
            .config("spark.sql.shuffle.partitions", "3")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
        yield started
        started.stop()


def dataframe(session: Any) -> Any:
    return session.createDataFrame(answers().to_arrow()).repartition(PARTS, "part")


def collected(result: Any) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(result.toArrow())).sort("row")


def test_scores_equal_those_of_one_machine_to_the_last_bit(session: Any) -> None:
    result = score_spark(dataframe(session), SUITE, signatures=True, max_bytes=10_000)
    assert result.columns == wanted(signatures=True).columns
    assert_frame_equal(collected(result), wanted(signatures=True), check_exact=True)


def test_all_metrics_score_as_on_one_machine(session: Any) -> None:
    frame = everything.rows()
    rows = session.createDataFrame(frame.to_arrow()).repartition(everything.PARTS, "part").drop("part")
    found = collected(score_spark(rows, everything.SUITE, signatures=True))
    wanted = everything.SUITE.score(frame.drop("part"), signatures=True)
    times = pl.col("ts").dt.convert_time_zone("UTC")
    assert_frame_equal(
        found.with_columns(times), everything.as_on_a_cluster(wanted).with_columns(times), check_exact=True
    )


@pytest.mark.usefixtures("session")
def test_files_compare_with_those_of_one_machine(tmp_path: Path) -> None:
    everything.assert_files_compare_with_those_of_one_machine("spark", tmp_path)


def test_an_executor_dies_and_nothing_is_lost(session: Any, tmp_path: Path) -> None:
    marker = str(tmp_path / "died")
    whole = dataframe(session)
    dying = whole.mapInArrow(lambda batches: executor_dies_once(batches, marker), whole.schema)
    result = collected(score_spark(dying, SUITE))
    assert os.path.exists(marker)
    assert_frame_equal(result, wanted(), check_exact=True)


@pytest.mark.parametrize("options", [OPTIONS[2], OPTIONS[4], OPTIONS[6]], ids=str)
def test_a_comparison_equals_that_of_the_rows(session: Any, options: dict[str, Any]) -> None:
    frame = with_texts(scored(1, 240))
    rows = session.createDataFrame(frame.with_columns(pl.col("a_label").cast(pl.String)).to_arrow())
    found = compare(rows, **(SETTINGS | options), max_items=5_000)
    assert_equal(found, pe.compare(frame, **(SETTINGS | options)))


def test_files(session: Any, tmp_path: Path) -> None:
    answers().write_parquet(tmp_path / "in.parquet")
    score_parquet(tmp_path / "in.parquet", SUITE, tmp_path / "out", engine="spark")
    found = pl.read_parquet(tmp_path / "out" / "*.parquet").sort("row")
    assert_frame_equal(found, wanted(signatures=True), check_exact=True)


def test_the_command_starts_a_session_on_this_machine(tmp_path: Path) -> None:
    """Its workers run the Python that the command runs with, whichever `python3` is."""
    arguments = ["score", DATA, "--metric", "levenshtein", "--engine", "spark", "--json"]
    unset = {name: value for name, value in os.environ.items() if "SPARK" not in name}
    ended = command(*arguments, "--output", tmp_path / "out", env=unset | {"PATH": os.defpath})
    assert ended.returncode == 0, ended.stderr
    expected = pe.Suite([pe.Metric("levenshtein")]).score(pl.read_parquet(DATA))
    told = json.loads(ended.stdout)
    assert told["rows"] == len(expected)
    assert told["metrics"]["levenshtein"]["mean"] == pytest.approx(expected["levenshtein_score"].mean())


def test_columns_of_any_type_pass_through(session: Any, tmp_path: Path) -> None:
    score_parquet(DATA, SUITE, tmp_path / "out", engine="spark")
    assert_example_scored(tmp_path / "out")


def test_errors_come_before_anything_runs(session: Any) -> None:
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="answer"):
        score_spark(dataframe(session), pe.Suite([pe.Metric("levenshtein")], output="answer"))


def test_a_task_has_no_more_threads_than_processors(session: Any) -> None:
    from polars_evals.cluster.engines import _threads

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from (pa.record_batch({"threads": [pl.thread_pool_size()]}) for _ in batches)

    with _threads(session):
        counted = dataframe(session).mapInArrow(count, "threads long")
    assert {row["threads"] for row in counted.collect()} == {1}
    assert "POLARS_MAX_THREADS" not in session.sparkContext.environment
