"""What holds for every metric, however it is built and however Polars runs it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.exceptions import ComputeError
from polars.testing import assert_frame_equal, assert_series_equal

from polars_evals.expressions.native import COMMON_FIELDS, LABEL
from tests.cases import CASES, Case


def parametrize(cases: Iterable[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", list(cases), ids=lambda case: f"{case.name}-{len(case.options)}")


every_metric = parametrize(CASES)
every_pair_metric = parametrize(case for case in CASES if case.columns != "output")
every_pair_of_texts = parametrize(case for case in CASES if case.columns == "texts")
# A pattern or a schema is not a text: it need not match itself, and random text need not be one.
TEXT_CASES = [
    case for case in CASES if case.columns == "texts" and case.name not in ("regex_match", "json_schema")
]
every_text_metric = parametrize(TEXT_CASES)


def run(frame: pl.DataFrame, expr: pl.Expr) -> pl.Series:
    return frame.select(expr).to_series()


def fields(scored: pl.Series) -> pl.DataFrame:
    return scored.struct.unnest()


@every_metric
def test_result_is_a_score_and_a_label_named_after_the_metric(case: Case) -> None:
    scored = run(case.frame, case())
    assert scored.name == case("a", "b").meta.output_name()
    assert scored.dtype == pl.Struct({"score": pl.Float64, "label": LABEL})
    assert scored.null_count() == 0
    score = scored.struct.field("score")
    assert score.is_between(0, 1).all()
    assert not score.is_nan().any()
    assert score.n_unique() > 1


@every_metric
@pytest.mark.parametrize("details", [False, True])
def test_schema_is_exact_without_running(case: Case, details: bool) -> None:
    def never() -> pl.DataFrame:
        raise AssertionError("the schema must not need the data")

    lazy = pl.defer(never, schema=case.frame.schema).with_columns(case(details=details))
    assert lazy.collect_schema() == case.frame.with_columns(case(details=details)).schema


@every_metric
def test_engines_agree(case: Case, tmp_path: Path) -> None:
    frame = case.frame.with_row_index()
    eager = frame.with_columns(case(details=True))
    lazy = frame.lazy().with_columns(case(details=True))
    assert_frame_equal(lazy.collect(), eager)
    assert_frame_equal(lazy.collect(engine="streaming"), eager)
    frame.write_parquet(tmp_path / "in.parquet", row_group_size=5)
    scan = pl.scan_parquet(tmp_path / "in.parquet").with_columns(case(details=True))
    scan.sink_parquet(tmp_path / "out.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "out.parquet"), eager)


@every_metric
def test_chunks_and_slices_agree(case: Case) -> None:
    frame = case.frame
    whole = run(frame, case(details=True))
    chunked = pl.concat([frame[:1], frame[1:1], frame[1:7], frame[7:]], rechunk=False)
    assert chunked.n_chunks() > 1
    assert_series_equal(run(chunked, case(details=True)), whole)
    odd = frame.select("output", pl.Series("expected", chunked["expected"], dtype=frame["expected"].dtype))
    assert_series_equal(run(odd, case(details=True)), whole)
    for start in range(0, len(frame), 3):
        assert_series_equal(run(frame[start : start + 5], case(details=True)), whole[start : start + 5])
    rows = [run(frame[row : row + 1], case(details=True)) for row in range(len(frame))]
    assert_series_equal(pl.concat(rows), whole)
    assert_series_equal(run(frame.reverse(), case()), run(frame, case()).reverse())


@every_metric
def test_groups_agree(case: Case) -> None:
    frame = case.frame.with_columns(group=pl.int_range(pl.len()) % 3)
    whole = frame.with_columns(case().alias("scored"))
    assert_frame_equal(frame.with_columns(case().over("group").alias("scored")), whole)
    grouped = frame.group_by("group", maintain_order=True).agg(case().alias("scored"))
    assert_frame_equal(grouped, whole.group_by("group", maintain_order=True).agg("scored"))
    mean = frame.group_by("group", maintain_order=True).agg(case().struct.field("score").mean())
    assert_frame_equal(
        mean, whole.group_by("group", maintain_order=True).agg(pl.col("scored").struct.field("score").mean())
    )


@every_metric
def test_filters_pass_below(case: Case) -> None:
    frame = case.frame.with_row_index()
    lazy = frame.lazy().with_columns(case()).filter(pl.col("index") % 2 == 0)
    assert_frame_equal(lazy.collect(), frame.with_columns(case()).filter(pl.col("index") % 2 == 0))


@every_pair_of_texts
def test_missing_values_fail_or_stay_null(case: Case) -> None:
    absent = pl.any_horizontal(pl.col("output", "expected").is_null())
    failed = case.frame.filter(absent).with_columns(scored=case(details=True)).unnest("scored")
    assert failed["score"].to_list() == [0.0] * len(failed)
    assert set(failed["label"]) == {"fail"}
    assert set(failed["reason"]) <= {"no output", "no expected value"}
    assert failed.filter(pl.col("reason") == "no output")["output"].null_count() > 0
    nulls = fields(run(case.frame.filter(absent), case(missing="null")))
    assert nulls.null_count().row(0) == (len(nulls), len(nulls))
    present = case.frame.filter(~absent)
    assert_series_equal(run(present, case(missing="null")), run(present, case()))
    unlabelled = case.frame.filter(absent).with_columns(scored=case(missing="unlabelled")).unnest("scored")
    for output, expected, score in unlabelled.select("output", "expected", "score").iter_rows():
        assert output is None or expected is None
        assert score == (None if expected is None else 0.0)
    assert_series_equal(run(present, case(missing="unlabelled")), run(present, case()))


@every_pair_metric
def test_null_dtype_is_all_missing(case: Case) -> None:
    for frame in (case.frame.with_columns(output=None), case.frame.with_columns(expected=None)):
        assert fields(run(frame, case()))["score"].to_list() == [0.0] * len(frame)
    assert fields(run(case.frame, case(expected=pl.lit(None), missing="null")))["score"].null_count() == len(
        case.frame
    )


@every_pair_metric
def test_nothing_beside_anything(case: Case) -> None:
    """A literal null is missing also over no rows and beside lists."""
    nothing = pl.lit(None)
    assert case.frame[:0].select(case(output=nothing)).is_empty()
    assert case.frame[:0].select(case(expected=nothing)).is_empty()
    if case.frame["output"].dtype == pl.String:
        lists = case.frame.select(pl.concat_list("output", "output"), pl.concat_list("expected", "expected"))
        for frame in (lists.with_columns(expected=None), lists.with_columns(output=None)):
            assert fields(run(frame, case()))["score"].to_list() == [0.0] * len(frame)


@every_pair_metric
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_literals_broadcast(case: Case, rows: int) -> None:
    frame = case.frame[:rows]
    value = case.frame["output"].to_list()[0]
    for side in ("output", "expected"):
        literal = run(frame, case(**{side: pl.lit(value)}))
        assert_series_equal(literal, run(frame.with_columns(pl.lit(value).alias(side)), case()))
        assert len(literal) == rows
    assert len(run(frame, case(output=pl.lit(value), expected=pl.lit(value)))) == 1


@every_metric
def test_details_append_fields(case: Case) -> None:
    plain, detailed = (fields(run(case.frame, case(details=details))) for details in (False, True))
    assert detailed.columns[:2] == ["score", "label"]
    assert detailed.columns[-len(COMMON_FIELDS) :] == list(COMMON_FIELDS)
    assert_frame_equal(detailed.select("score", "label"), plain)


@parametrize(case for case in TEXT_CASES if case.reflexive)
def test_identical_text_scores_one(case: Case) -> None:
    scored = fields(run(case.frame.drop_nulls("output"), case(expected="output")))
    assert (
        scored["score"].to_list() == [1.0] * len(scored)
        if "negate" not in case.options
        else [0.0] * len(scored)
    )
    assert set(scored["label"]) == {"pass"}


@every_text_metric
@settings(max_examples=30)
@given(data=st.data())
def test_any_text_in_any_chunks(case: Case, data: st.DataObject) -> None:
    text = st.none() | st.text(max_size=60) | st.text(alphabet="ab A.1\n", max_size=200)
    rows = data.draw(st.lists(st.tuples(text, text), max_size=12))
    cut = data.draw(st.integers(0, len(rows)))
    schema = {"output": pl.String, "expected": pl.String}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    scored = run(frame, case(details=True))
    chunked = pl.concat([frame[:cut], frame[cut:]], rechunk=False)
    assert_series_equal(run(chunked, case(details=True)), scored)
    assert_series_equal(
        chunked.lazy().select(case(details=True)).collect(engine="streaming").to_series(), scored
    )
    score = scored.struct.field("score")
    assert score.is_between(0, 1).all()
    assert not score.is_nan().any()
    threshold = case("output", "expected", threshold=0.5)
    passed = fields(run(frame, threshold))
    assert ((passed["score"] >= 0.5) == (passed["label"] == "pass")).all()


@every_pair_of_texts
def test_categories_are_texts(case: Case) -> None:
    scored = run(case.frame, case())
    categories = pl.Enum(
        case.frame.select(pl.concat([pl.col("output"), pl.col("expected")]).unique().drop_nulls()).to_series()
    )
    for dtype in (pl.Categorical(), categories):
        assert_series_equal(
            run(case.frame.with_columns(pl.col("output", "expected").cast(dtype)), case()), scored
        )


@every_pair_of_texts
def test_several_references(case: Case) -> None:
    frame = case.frame
    lists = frame.with_columns(
        expected=pl.concat_list(pl.lit(None, pl.String), "expected", pl.lit(case.other))
    )
    one_by_one = pl.DataFrame(
        [
            run(frame, case(missing="null")).struct.field("score").alias("a"),
            run(frame, case(expected=pl.lit(case.other), missing="null")).struct.field("score").alias("b"),
        ]
    )
    pick = pl.min_horizontal if case.options.get("mode") == "all" else pl.max_horizontal
    best = one_by_one.select(pick("a", "b").fill_null(0.0)).to_series().alias("score")
    assert_series_equal(fields(run(lists, case()))["score"], best)
    nothing = frame.with_columns(expected=pl.lit([None], pl.List(pl.String)))
    assert fields(run(nothing, case(missing="null")))["score"].null_count() == len(frame)
    empty = frame.with_columns(expected=pl.lit([], pl.List(pl.String)))
    assert fields(run(empty, case()))["score"].to_list() == [0.0] * len(frame)


@every_pair_of_texts
def test_references_in_any_engine(case: Case) -> None:
    lists = case.frame.with_columns(expected=pl.concat_list("expected", pl.lit(case.other)))
    eager = lists.select(case(details=True))
    assert_frame_equal(lists.lazy().select(case(details=True)).collect(engine="streaming"), eager)
    sliced = pl.concat([lists[:3].select(case(details=True)), lists[3:].select(case(details=True))])
    assert_frame_equal(sliced, eager)
    literal = case.frame[:0].select(case(expected=pl.lit([case.same, case.other])))
    assert literal.is_empty()


@every_pair_of_texts
def test_turns_are_averaged(case: Case) -> None:
    frame = case.frame.drop_nulls()
    single = run(frame, case()).struct.field("score")
    turns = pl.DataFrame({"output": [frame["output"].to_list()], "expected": [frame["expected"].to_list()]})
    scored = fields(run(turns, case(details=True)))
    assert scored["num_turns"].item() == len(frame)
    assert abs(scored["score"].item() - single.mean()) <= 0.011
    assert scored["turn_scores"].item().len() == len(frame)
    assert scored["num_low_scores"].item() == (scored["turn_scores"].item() < case_threshold(case)).sum()


@every_pair_of_texts
def test_turns_that_do_not_fit(case: Case) -> None:
    x = case.same
    turns = pl.DataFrame(
        {
            "output": [[x, x], [], None, [x], [x, None], [None]],
            "expected": [[x], [], [x], None, [x, x], [x]],
        },
        schema={"output": pl.List(pl.String), "expected": pl.List(pl.String)},
    )
    scored = fields(run(turns, case(details=True)))
    assert scored["score"].to_list() == [0.0, 0.0, 0.0, 0.0, 0.5, 0.0]
    assert scored["reason"].to_list()[:4] == [
        "turn count 2, expected 1",
        "no expected value",
        "no output",
        "no expected value",
    ]
    unlabelled = fields(run(turns, case(missing="null")))
    assert unlabelled["score"].to_list() == [0.0, None, None, None, 1.0, None]


def case_threshold(case: Case) -> float:
    import inspect

    return float(
        case.options.get("threshold", inspect.signature(case.metric).parameters["threshold"].default)
    )


NUMBERS, OBJECTS = {"exact_match", "contains", "choice", "numeric_match"}, {"json_match", "json_fields"}
# What is read beside texts. A struct may be a tool call.
ACCEPTED = {
    "Int64": NUMBERS,
    "Binary": set[str](),
    "List(Int64)": NUMBERS,
    "Struct": OBJECTS | {"tool_calls"},
}


@every_pair_of_texts
@pytest.mark.parametrize(
    ("values", "dtype"),
    [([1], "Int64"), ([b"x"], "Binary"), ([[1]], "List(Int64)"), ([{"a": "b"}], "Struct")],
)
def test_other_dtypes_are_refused(case: Case, values: list[Any], dtype: str) -> None:
    if case.name in ACCEPTED[dtype]:
        return
    for argument in ("output", "expected"):
        frame = pl.DataFrame({"output": ["x"], "expected": ["x"]}).with_columns(pl.Series(argument, values))
        with pytest.raises(ComputeError) as error:
            frame.select(case())
        # With the way out: how to make texts of it.
        way = ".struct.json_encode()" if dtype == "Struct" else ".cast(pl."
        assert all(part in str(error.value) for part in (case.name, dtype, way))


@parametrize(case for case in CASES if case.name in ACCEPTED["Int64"])
def test_numbers_and_booleans_are_their_usual_text(case: Case) -> None:
    values = [
        pl.Series([42, -7, 0, None]),
        pl.Series([42, 7, 255, None], dtype=pl.UInt8),
        pl.Series([0.5, 1234.5, -0.1, None]),
        pl.Series([42.0, 0.1, 1e10, None], dtype=pl.Float32),
        pl.Series([True, False, True, None]),
        pl.Series(["1.50", "-2.25", "0.00", None]).cast(pl.Decimal(10, 2)),
        pl.Series([[1, 2], [3], [], None]),
    ]
    for numbers in values:
        texts = numbers.cast(pl.List(pl.String) if isinstance(numbers.dtype, pl.List) else pl.String)
        for output, expected in ((texts, numbers), (numbers, texts), (numbers, numbers)):
            frame = pl.DataFrame({"output": output, "expected": expected})
            as_text = pl.DataFrame({"output": texts, "expected": texts})
            assert_series_equal(run(frame, case(details=True)), run(as_text, case(details=True)))


@every_pair_of_texts
def test_turns_against_one_text_are_refused(case: Case) -> None:
    with pytest.raises(ComputeError, match=f"{case.name}: `output` is a list of turns"):
        pl.DataFrame({"output": [["x"]], "expected": ["x"]}).select(case())


@every_metric
@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"threshold": 1.5}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"threshold": "0.7"}, "threshold"),
        ({"threshold": True}, "threshold"),
        ({"missing": "nul"}, 'missing.*"null"'),
        ({"details": 1}, "details"),
    ],
)
def test_bad_options_are_refused_at_once(case: Case, options: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=f"{case.name}.*{named}"):
        case(**options)


@every_pair_metric
def test_arguments_that_are_no_columns(case: Case) -> None:
    with pytest.raises(TypeError, match=r"pl\.lit"):
        case(output=3)
    with pytest.raises(TypeError, match=r"pl\.lit"):
        case(expected=None)


@every_pair_metric
def test_namespaces_are_the_functions(case: Case) -> None:
    expr = getattr(pl.col("output").evals, case.name)(pl.col("expected"), **case.options)  # type: ignore[attr-defined]
    assert_frame_equal(case.frame.select(expr), case.frame.select(case()))
    series = getattr(case.frame["output"].evals, case.name)  # type: ignore[attr-defined]
    assert_series_equal(series(case.frame["expected"], **case.options), run(case.frame, case()))
    assert_series_equal(
        series(pl.lit(case.same), **case.options), run(case.frame, case(expected=pl.lit(case.same)))
    )


@every_metric
def test_many_rows(case: Case) -> None:
    frame = pl.concat([case.frame] * 500)
    scored = run(frame, case())
    assert_series_equal(scored, pl.concat([run(case.frame, case())] * 500))
    assert_series_equal(frame.lazy().select(case()).collect(engine="streaming").to_series(), scored)
