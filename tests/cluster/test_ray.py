"""On a Ray cluster of two workers: what one machine gives, also when a worker dies."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

import polars_evals as pe
from polars_evals.cli.app import app
from polars_evals.cluster import compare, score_parquet, score_ray
from polars_evals.cluster.engines import _map
from tests.cluster import everything
from tests.cluster.data import DATA, PARTS, SUITE, answers, assert_example_scored, dies_once, wanted
from tests.cluster.test_compare import OPTIONS, SETTINGS, assert_equal, scored, with_texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

ray: Any = pytest.importorskip("ray", reason="Ray is tested by `make test-cluster`")
# Warnings are Ray's own.
pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=256 * 1024**2)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


def dataset() -> Any:
    frame = answers()
    return ray.data.from_arrow([frame.filter(part=part).to_arrow() for part in range(PARTS)])


def collected(result: Any) -> pl.DataFrame:
    tables = list(result.iter_batches(batch_size=None, batch_format="pyarrow"))
    return pl.concat(pl.DataFrame(pl.from_arrow(table)) for table in tables).sort("row")


def with_pid(table: pa.Table) -> pa.Table:
    return table.append_column("pid", [[os.getpid()] * table.num_rows])


def with_threads(table: pa.Table) -> pa.Table:
    return table.append_column("threads", [[pl.thread_pool_size()] * table.num_rows])


def test_scores_equal_those_of_one_machine_to_the_last_bit() -> None:
    result = score_ray(dataset(), SUITE, signatures=True, max_bytes=10_000)
    assert_frame_equal(collected(result), wanted(signatures=True), check_exact=True)


def test_all_metrics_score_as_on_one_machine() -> None:
    frame = everything.rows()
    tables = [part.drop("part").to_arrow() for part in frame.partition_by("part")]
    found = collected(score_ray(ray.data.from_arrow(tables), everything.SUITE, signatures=True))
    wanted = everything.SUITE.score(frame.drop("part"), signatures=True)
    assert_frame_equal(found, everything.as_on_a_cluster(wanted), check_exact=True)


def test_files_compare_with_those_of_one_machine(tmp_path: Path) -> None:
    everything.assert_files_compare_with_those_of_one_machine("ray", tmp_path)


def test_a_worker_dies_and_nothing_is_lost(tmp_path: Path) -> None:
    marker = tmp_path / "died"
    # Steps with the same options run in the same task, so it is a worker that scores which dies.
    result = collected(_map(score_ray(_map(dataset(), dies_once, str(marker)), SUITE), with_pid))
    dead = int(marker.read_text())
    assert dead not in set(result.filter(part=5)["pid"])
    assert_frame_equal(result.drop("pid"), wanted(), check_exact=True)


@pytest.mark.parametrize("options", [OPTIONS[2], OPTIONS[4], OPTIONS[6]], ids=str)
def test_a_comparison_equals_that_of_the_rows(options: dict[str, Any]) -> None:
    frame = with_texts(scored(1, 240))
    tables = ray.data.from_arrow([frame[:300].to_arrow(), frame[300:].to_arrow()])
    found = compare(tables, **(SETTINGS | options), max_items=5_000)
    assert_equal(found, pe.compare(frame, **(SETTINGS | options)))


def test_files(tmp_path: Path) -> None:
    frame = answers()
    for part in range(2):
        frame.filter(pl.col("part") % 2 == part).write_parquet(tmp_path / f"in-{part}.parquet")
    score_parquet(str(tmp_path / "in-*.parquet"), SUITE, tmp_path / "out", engine="ray")
    found = pl.read_parquet(tmp_path / "out" / "*.parquet").sort("row")
    assert_frame_equal(found, wanted(signatures=True), check_exact=True)
    with pytest.raises(FileExistsError, match="already exists"):
        score_parquet(str(tmp_path / "in-*.parquet"), SUITE, tmp_path / "out", engine="ray")


def test_columns_of_any_type_pass_through(tmp_path: Path) -> None:
    score_parquet(DATA, SUITE, tmp_path / "out", engine="ray")
    assert_example_scored(tmp_path / "out")


def test_the_command(tmp_path: Path) -> None:
    answers().write_parquet(tmp_path / "in.parquet")
    arguments = [
        "score",
        str(tmp_path / "in.parquet"),
        "--metric",
        "levenshtein",
        "--engine",
        "ray",
        "--json",
    ]
    ended = CliRunner().invoke(app, [*arguments, "--output", str(tmp_path / "out")])
    assert ended.exit_code == 0, ended.stderr
    told = json.loads(ended.stdout[ended.stdout.index("{") :])
    assert told["rows"] == len(answers())
    assert told["metrics"]["levenshtein"]["mean"] == pytest.approx(wanted()["levenshtein_score"].mean())
    compared = [
        "compare",
        str(tmp_path / "out"),
        "--version",
        "model",
        "--baseline",
        "v1",
        "--item",
        "item_id",
    ]
    assert CliRunner().invoke(app, compared).exit_code in (0, 1)
    assert CliRunner().invoke(app, [*arguments, "--output", str(tmp_path / "out")]).exit_code == 3


def test_errors_come_before_anything_runs() -> None:
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="answer"):
        score_ray(dataset(), pe.Suite([pe.Metric("levenshtein")], output="answer"))


def test_a_task_has_no_more_threads_than_processors() -> None:
    assert set(collected(_map(dataset(), with_threads))["threads"]) == {1}
