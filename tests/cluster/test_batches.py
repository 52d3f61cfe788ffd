"""Arrow tables are scored as frames are, whatever the batches, with the schema that was declared."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

import polars_evals as pe
from polars_evals.cli.app import app
from polars_evals.cluster import score_parquet
from polars_evals.cluster.score import MAX_BYTES, Scorer, bounded
from tests.texts import any_text

if TYPE_CHECKING:
    from collections.abc import Callable

SUITE = pe.Suite(
    [
        pe.Metric("levenshtein", decimals=None),
        pe.Metric("rouge", details=True),
        pe.Metric("exact_match", missing="null"),
        pe.Metric("jaccard", name="words"),
    ]
)


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """As it leaves a cluster: labels as text."""
    return frame.with_columns(pl.col(pl.Enum(["fail", "pass"])).cast(pl.String))


@given(
    rows=st.lists(st.tuples(st.none() | any_text, st.none() | any_text), max_size=20),
    max_bytes=st.sampled_from([1, 100, 1_000, MAX_BYTES]),
    cut=st.integers(0, 20),
)
def test_any_batches_give_the_scores_of_the_frame(
    rows: list[tuple[str | None, str | None]], max_bytes: int, cut: int
) -> None:
    frame = pl.DataFrame(rows, schema={"output": pl.String, "expected": pl.String}, orient="row")
    frame = frame.with_row_index("id").cast({"id": pl.Int64})
    table = frame.to_arrow()
    scorer = Scorer.of(SUITE, table.schema, signatures=True, max_bytes=max_bytes)
    scorer = pickle.loads(pickle.dumps(scorer))
    pieces = [*scorer.score_all([table[:cut], table[cut:]])]
    assert all(piece.schema == pa.schema([*scorer.existing, *scorer.added]) for piece in pieces)
    found = pl.DataFrame(pl.from_arrow(pa.concat_tables(pieces)))
    assert_frame_equal(found, plain(SUITE.score(frame, signatures=True)), check_exact=True)


def test_pieces_are_bounded_and_complete() -> None:
    table = pa.table({"id": range(1_000), "output": ["x" * (n % 97) for n in range(1_000)]})
    pieces = [*bounded(iter([table[:10], table[10:]]), 4_000)]
    assert pa.concat_tables(pieces).equals(table)
    assert all(piece.nbytes <= 4_000 for piece in pieces)
    assert len(pieces) < 2.5 * table.nbytes / 4_000


def test_a_row_above_the_bound_is_a_piece_of_its_own() -> None:
    table = pa.table({"output": ["a", "b" * 10_000, "c"]})
    assert [piece.num_rows for piece in bounded([table], 1_000)] == [1, 1, 1]


def test_views_are_measured_by_what_they_hold() -> None:
    table = pa.table({"output": pa.array(["x" * 100] * 1_000, pa.string_view())})
    pieces = [*bounded([table], 20_000)]
    assert 5 < len(pieces) < 15
    scorer = Scorer.of(
        pe.Suite([pe.Metric("length_between", minimum=1)]), table.schema, signatures=False, max_bytes=20_000
    )
    assert all(
        piece.schema == pa.schema([*scorer.existing, *scorer.added]) for piece in scorer.score_all([table])
    )


def test_columns_that_polars_does_not_know_pass_through() -> None:
    intervals = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    table = pa.table({"output": ["a"], "expected": ["a"], "between": intervals})
    scored = Scorer.of(SUITE, table.schema, signatures=False, max_bytes=MAX_BYTES).score(table)
    assert scored["between"].combine_chunks() == intervals
    assert scored["levenshtein_score"].to_pylist() == [1.0]


def test_what_would_fail_on_a_worker_fails_now() -> None:
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="expected"):
        Scorer.of(SUITE, pa.schema({"output": pa.string()}), signatures=False, max_bytes=1)
    taken = {"output": pa.string(), "expected": pa.string(), "words_score": pa.float64()}
    with pytest.raises(pl.exceptions.DuplicateError, match="words_score"):
        Scorer.of(SUITE, pa.schema(taken), signatures=False, max_bytes=1)
    numbers = {"output": pa.int64(), "expected": pa.string()}
    with pytest.raises(pl.exceptions.ComputeError, match="levenshtein"):
        Scorer.of(SUITE, pa.schema(numbers), signatures=False, max_bytes=1)
    with pytest.raises(ValueError, match="max_bytes"):
        Scorer.of(SUITE, pa.schema({"output": pa.string()}), signatures=False, max_bytes=0)


def test_the_command_names_its_engines(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pl.DataFrame({"output": ["a"], "expected": ["a"]}).write_parquet(path)
    arguments = ["score", str(path), "--metric", "levenshtein", "--output", str(tmp_path / "out")]
    ended = CliRunner().invoke(app, [*arguments, "--engine", "sparc"])
    assert ended.exit_code == 2
    assert 'did you mean "spark"' in ended.stderr
    ended = CliRunner().invoke(app, [*arguments, "--engine", "ray", "--format", "langfuse"])
    assert ended.exit_code == 2
    assert "options of traces" in ended.stderr


def test_a_folder_is_never_overwritten(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match="already exists"):
        score_parquet("in.parquet", SUITE, tmp_path, engine="ray")
    with pytest.raises(ValueError, match="engine must be one of 'ray', 'spark', got 'dask'"):
        score_parquet("in.parquet", SUITE, tmp_path, engine="dask")


def test_metrics_that_look_across_rows_are_refused() -> None:
    """On a cluster, their scores would depend on how the rows are spread."""
    schema = pa.schema({"output": pa.string()})

    def refused(function: Callable[[pl.Expr], pl.Expr]) -> None:
        suite = pe.Suite([pe.Metric(function, name="mine")])
        with pytest.raises(
            ValueError, match=r'metric "mine": its scores depend on other rows.*is_elementwise=True'
        ):
            Scorer.of(suite, schema, signatures=False, max_bytes=MAX_BYTES)

    refused(lambda output: output.is_duplicated())
    refused(lambda output: output.map_batches(lambda column: column.is_null(), return_dtype=pl.Boolean))
