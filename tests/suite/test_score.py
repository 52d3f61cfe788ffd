import re
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.exceptions import ColumnNotFoundError, DuplicateError
from polars.testing import assert_frame_equal

import polars_evals as pe
from polars_evals.suite.metric import metric_type
from tests.cases import CASES, Case

FAMILY = ("exact_match", "contains", "starts_with", "ends_with")

Rows: TypeAlias = list[int]


def calls(frame: pl.LazyFrame, function: str) -> int:
    """Count the calls of a native function in the optimized plan."""
    return frame.explain().count(f":{function}(")


@pytest.fixture
def df() -> pl.DataFrame:
    texts = ["The quick brown fox", "Paris", "paris, I think", "", None, "42", "ΟΔΥΣΣΕΥΣ"]
    return pl.DataFrame(
        {"model": ["a", "b"] * 35, "output": texts * 10, "expected": texts[1:] * 10 + texts[:1] * 10}
    )


@pytest.fixture
def suite() -> pe.Suite:
    return pe.Suite(
        [pe.Metric("levenshtein", threshold=0.8), pe.Metric("regex_match", name="digits", pattern=r"\d")]
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_suite_gives_what_the_expression_gives(case: Case) -> None:
    kind = metric_type(case.name)
    is_complete = kind.has_expected or case.columns == "output"
    columns: dict[str, Any] = {} if is_complete else dict.fromkeys(kind.by_column, "expected")
    suite = pe.Suite([pe.Metric(case.name, name="m", details=True, **case.options, **columns)])
    expected = case.frame.with_columns(case(details=True).alias("m")).unnest("m", separator="_")
    assert_frame_equal(suite.score(case.frame), expected)
    lazy = suite.score(case.frame.lazy())
    assert lazy.collect_schema() == expected.schema
    assert_frame_equal(lazy.collect(), expected)
    assert_frame_equal(lazy.collect(engine="streaming"), expected)


def test_score_adds_score_and_label(suite: pe.Suite, df: pl.DataFrame) -> None:
    added = ["levenshtein_score", "levenshtein_label", "digits_score", "digits_label"]
    scored = suite.score(df)
    assert scored.columns == [*df.columns, *added]
    assert_frame_equal(scored.select(df.columns), df)
    signed = suite.score(df, signatures=True)
    assert_frame_equal(signed.select(scored.columns), scored)
    for name, text in suite.signature.items():
        assert signed[f"{name}_signature"].unique().to_list() == [text]


def test_score_of_no_rows(suite: pe.Suite, df: pl.DataFrame) -> None:
    scored = suite.score(df.clear(), signatures=True)
    assert scored.height == 0
    assert scored.schema == suite.score(df, signatures=True).schema


def test_each_metric_runs_once(suite: pe.Suite, df: pl.DataFrame) -> None:
    scored = suite.score(df.lazy())
    assert (calls(scored, "levenshtein"), calls(scored, "given")) == (1, 1)


def test_a_lazy_query_runs_what_it_uses(suite: pe.Suite, df: pl.DataFrame, tmp_path: Path) -> None:
    df.write_parquet(tmp_path / "traces.parquet")
    scored = suite.score(pl.scan_parquet(tmp_path / "traces.parquet"))

    one = scored.filter(pl.col("model") == "a").group_by("model").agg(pl.col("digits_score").mean())
    assert re.search(r'SELECTION: .*col\("model"\)+ == .*"a"', one.explain())
    assert (calls(one, "levenshtein"), calls(one, "given")) == (0, 1)
    both = scored.filter(pl.col("levenshtein_label") == "fail").select("levenshtein_score", "digits_score")
    assert (calls(both, "levenshtein"), calls(both, "given")) == (1, 1)


def test_metrics_that_differ_in_threshold_are_computed_once(df: pl.DataFrame) -> None:
    thresholds = {"lenient": 0.3, "default": 0.7, "strict": 1.0}
    suite = pe.Suite([pe.Metric("levenshtein", name=name, threshold=t) for name, t in thresholds.items()])
    scored = suite.score(df)
    assert calls(suite.score(df.lazy()), "levenshtein") == 1
    for name, threshold in thresholds.items():
        alone = pe.Suite([pe.Metric("levenshtein", name=name, threshold=threshold)]).score(df)
        assert_frame_equal(scored.select(alone.columns), alone)

    others = [
        pe.Metric("levenshtein"),
        pe.Metric("levenshtein", details=True),
        pe.Metric("levenshtein", output="model"),
    ]
    suite = pe.Suite([*others, pe.Metric("levenshtein", case_sensitive=True)])
    assert calls(suite.score(df.lazy()), "levenshtein") == 4


texts = st.none() | st.text(st.sampled_from("aAΣσςİıßẞéÉ \t\n\u00a0.x\u00ad"), max_size=6)


@settings(deadline=None)
@given(st.lists(st.tuples(texts, texts), max_size=8), st.booleans())
def test_lowercasing_once_changes_nothing(pairs: list[tuple[str | None, str | None]], as_list: bool) -> None:
    df = pl.DataFrame(pairs, schema={"output": pl.String, "expected": pl.String}, orient="row")
    if as_list:
        df = df.with_columns(pl.concat_list("expected"))
    together = pe.Suite([pe.Metric(name) for name in FAMILY]).score(df)
    for name in FAMILY:
        expected = df.with_columns(getattr(pe, name)("output", "expected")).unnest(name, separator="_")
        assert_frame_equal(together.select(expected.columns), expected)


def test_suites_over_different_columns_of_one_frame() -> None:
    df = pl.DataFrame({"answer": ["Paris"], "truth": ["paris"], "summary": ["a b"], "reference": ["a c"]})
    answers = pe.Suite([pe.Metric("exact_match", name="answer")], output="answer", expected="truth")
    summaries = pe.Suite([pe.Metric("levenshtein", name="summary")], output="summary", expected="reference")
    expected = {
        "answer_score": [1.0],
        "answer_label": ["pass"],
        "summary_score": [0.67],
        "summary_label": ["fail"],
    }

    in_turn = summaries.score(answers.score(df))
    assert in_turn.drop(df.columns).to_dict(as_series=False) == expected
    assert_frame_equal(pe.Suite([*answers.metrics, *summaries.metrics]).score(df), in_turn)
    mixed = pe.Suite(
        [
            pe.Metric("exact_match", name="answer"),
            pe.Metric("levenshtein", name="summary", output="summary", expected="reference"),
        ],
        output="answer",
        expected="truth",
    )
    assert_frame_equal(mixed.score(df), in_turn)


def test_names() -> None:
    def names(*metrics: pe.Metric) -> list[str | None]:
        return [metric.name for metric in pe.Suite(metrics).metrics]

    plain = pe.Metric("levenshtein")
    assert names(plain, plain, plain) == ["levenshtein", "levenshtein_2", "levenshtein_3"]
    assert names(plain, pe.Metric("contains", name="levenshtein")) == ["levenshtein_2", "levenshtein"]
    assert names(pe.Metric("rouge"), pe.Metric("rouge", variant="rougeL")) == ["rouge1", "rougeL"]
    assert names(plain, plain, pe.Metric("contains", name="levenshtein_2")) == [
        "levenshtein",
        "levenshtein_3",
        "levenshtein_2",
    ]
    with pytest.raises(ValueError, match='two metrics are named "a"; give them different names'):
        names(pe.Metric("levenshtein", name="a"), pe.Metric("contains", name="a"))


def test_what_is_not_a_suite() -> None:
    with pytest.raises(ValueError, match="a suite needs at least one metric"):
        pe.Suite([])
    with pytest.raises(TypeError, match=r"a suite is made of pe\.Metric.*pe\.Metric\(function\)"):
        pe.Suite([lambda output: output])  # type: ignore[list-item]
    with pytest.raises(ValueError, match='unknown metric "levenstein"; did you mean "levenshtein"'):
        pe.Suite("levenstein")


def test_suites_of_names_and_sums_of_suites() -> None:
    suite = pe.Suite(["levenshtein", "rouge"])
    assert suite == pe.Suite([pe.Metric("levenshtein"), pe.Metric("rouge")])
    assert pe.Suite("levenshtein") == pe.Suite(["levenshtein"])
    assert len(suite) == 2
    more = suite + "exact_match" + pe.Suite([pe.Metric("contains", expected="word")], measures="cost")
    assert [metric.name for metric in more] == ["levenshtein", "rouge1", "exact_match", "contains"]
    assert [*more.measures] == ["cost"]
    with pytest.raises(ValueError, match='two metrics are named "levenshtein"'):
        suite + suite
    with pytest.raises(TypeError):
        suite + 3


def test_fields_have_metrics_of_their_own(tmp_path: Path) -> None:
    order = '{"customer": {"name": "Ada Lovelace"}, "total": 12.50, "items": [{"id": "a1"}]}'
    answers = [
        order,
        '```json\n{"customer": {"name": "Ada Lovelace"}, "total": "12.5", "items": [{"id": "A1"}]}\n```',
        '{"customer": {"name": "Ada"}, "items": []}',
        "Ada Lovelace",
    ]
    df = pl.DataFrame({"output": answers, "expected": [order] * 4})
    suite = pe.Suite(
        [
            pe.Metric("levenshtein", field="$.customer.name"),
            pe.Metric("numeric_match", name="total", field="$.total"),
            pe.Metric("exact_match", field="$.items[0].id", details=True),
            pe.Metric("json_match", name="items", field="$.items[*].id"),
        ],
        clean=["fence"],
    )
    scored = suite.score(df)
    assert scored["levenshtein_customer_name_score"].to_list() == [1.0, 1.0, 0.25, 0.0]
    assert scored["total_score"].to_list() == [1.0, 1.0, 0.0, 0.0]
    assert scored["exact_match_items_0_id_score"].to_list() == [1.0, 1.0, 0.0, 0.0]
    assert scored["exact_match_items_0_id_cleaning"].to_list()[2] == "no fence, no $.items[0].id"
    assert scored["items_score"].to_list() == [1.0, 0.0, 0.0, 0.0]
    for lazy in (suite.score(df.lazy()), suite.score(df.lazy()).filter(pl.col("total_label") == "pass")):
        assert lazy.collect(engine="streaming").equals(scored.join(lazy.collect(), on="output", how="semi"))
        assert "python_udf" not in lazy.explain()
    for ending in ("toml", "yaml", "json"):
        suite.save(tmp_path / f"evals.{ending}")
        assert pe.Suite.load(tmp_path / f"evals.{ending}") == suite
    # Structs and lists hold fields too; a literal is compared as it is.
    parsed = df.select(output=pl.lit(order), expected=pl.lit(order).str.json_decode(ORDER)).head(1)
    assert pe.Suite([pe.Metric("exact_match", field="$.customer.name")]).score(parsed)[
        "exact_match_customer_name_score"
    ].to_list() == [1.0]
    literal = pe.Metric("exact_match", name="m", field="$.customer.name", expected=pl.lit("Ada Lovelace"))
    assert pe.Suite([literal]).score(df)["m_score"].to_list() == [1.0, 0.0, 0.0, 0.0]
    for field, message in {
        "customer": "takes a JSON path",
        "$.a[": 'is not a JSON path: cannot read "\\["',
    }.items():
        with pytest.raises(ValueError, match=f"levenshtein: `field`.*{message}"):
            pe.Metric("levenshtein", field=field)


ORDER = pl.Struct({"customer": pl.Struct({"name": pl.String}), "total": pl.Float64})


@pytest.mark.parametrize("lazy", [False, True])
def test_columns_that_exist_are_not_overwritten(lazy: bool, suite: pe.Suite, df: pl.DataFrame) -> None:
    scored: Any = suite.score(df)
    with pytest.raises(
        DuplicateError, match='already has "levenshtein_score", "levenshtein_label", "digits_score"'
    ):
        suite.score(scored.lazy() if lazy else scored)
    scratch: Any = df.with_columns(__evals_0=1)
    with pytest.raises(DuplicateError, match='already has "__evals_0"'):
        suite.score(scratch.lazy() if lazy else scratch)
    made: Any = df.with_columns(__evals_made_0=1)
    for options in ({"expected": pl.lit("a")}, {"clean": ["fence"]}):
        with pytest.raises(DuplicateError, match='already has "__evals_made_0"'):
            pe.Suite([pe.Metric("contains", **options)]).score(made.lazy() if lazy else made)


@pytest.mark.parametrize("lazy", [False, True])
def test_columns_that_are_missing_are_named(lazy: bool, suite: pe.Suite, df: pl.DataFrame) -> None:
    renamed: Any = df.rename({"expected": "expected_output"})
    with pytest.raises(ColumnNotFoundError) as error:
        suite.score(renamed.lazy() if lazy else renamed)
    assert str(error.value) == (
        'metric "levenshtein": the frame has no column "expected"; did you mean "expected_output"?'
    )
    with pytest.raises(ColumnNotFoundError, match='no column "output"; there are "model"'):
        suite.score(df.select("model"))


@pytest.mark.parametrize("given", ["in.parquet", Path("in.parquet"), {"output": ["a"]}])
def test_a_path_is_no_frame(given: Any) -> None:
    suite = pe.Suite([pe.Metric("exact_match")])
    calls: list[Callable[[], object]] = [
        lambda: suite.score(given),
        lambda: suite.sink_parquet(given, "out.parquet"),
        lambda: suite.check(given),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"`frame` must be a DataFrame or a LazyFrame, got ") as refused:
            call()
        reads = isinstance(given, str | Path)
        assert ("pl.read_parquet(...) or pl.scan_parquet(...)" in str(refused.value)) is reads


OPTIONS_OF_EXPRESSIONS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "literals": ("regex_match", [{"pattern": pl.lit("zzz")}, {"pattern": pl.lit("^a")}]),
    "one column, as it is and changed": (
        "regex_match",
        [{"pattern": pl.col("p")}, {"pattern": pl.col("p").str.reverse()}],
    ),
    "expressions that look the same": (
        "regex_match",
        [
            {"pattern": pl.col("p").str.replace("^", "x", literal=True)},
            {"pattern": pl.col("p").str.replace("^", "x", literal=False)},
        ],
    ),
    "a column and a pattern of that name": ("regex_match", [{"pattern": pl.col("p")}, {"pattern": "column"}]),
    "schemas": (
        "json_schema",
        [{"schema": pl.lit('{"type": "string"}')}, {"schema": pl.lit('{"type": "number"}')}],
    ),
}


@pytest.mark.parametrize(
    ("kind", "options"), OPTIONS_OF_EXPRESSIONS.values(), ids=OPTIONS_OF_EXPRESSIONS.keys()
)
def test_metrics_with_different_expressions_are_different(kind: str, options: list[dict[str, Any]]) -> None:
    df = pl.DataFrame({"output": ["abc", "xabc", "7", "column"], "p": ["^a", "^a", "^7", "^x"]})
    first, second = (pe.Metric(kind, **option) for option in options)
    suite = pe.Suite([first, second])
    together = suite.score(df)
    apart = [pe.Suite([metric]).score(df)[f"{kind}_score"] for metric in (first, second)]
    assert together[f"{kind}_score"].to_list() == apart[0].to_list()
    assert together[f"{kind}_2_score"].to_list() == apart[1].to_list()
    assert apart[0].to_list() != apart[1].to_list()
    assert len(set(suite.signature.values())) == 2


def test_metrics_with_the_same_expression_share_their_work() -> None:
    df = pl.DataFrame({"output": ["A1", "b"], "p": ["a1", "c"]})
    metrics = [
        pe.Metric("regex_match", pattern=pl.col("p").str.to_uppercase(), threshold=threshold)
        for threshold in (0.5, 1.0)
    ]
    scored = pe.Suite(metrics).score(df)
    assert scored["regex_match_score"].to_list() == scored["regex_match_2_score"].to_list() == [1.0, 0.0]
    assert pe.Suite(metrics).score(df.lazy()).explain().count(":paired(") == 1


def test_an_expression_that_cannot_be_serialized_is_its_own() -> None:
    lock = Lock()  # cannot be pickled

    def constant(text: str) -> pl.Expr:
        def fill(column: pl.Series) -> pl.Series:
            with lock:
                return pl.Series([text] * len(column))

        return pl.col("output").map_batches(fill, return_dtype=pl.String)

    suite = pe.Suite([pe.Metric("regex_match", pattern=constant(text)) for text in ("zzz", "^a")])
    scored = suite.score(pl.DataFrame({"output": ["abc"]}))
    assert scored.select("regex_match_score", "regex_match_2_score").row(0) == (0.0, 1.0)
    assert suite.signature == suite.signature
    assert len(set(suite.signature.values())) == 2
