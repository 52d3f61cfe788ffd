"""From kernels over text columns to Polars expressions.

A kernel takes two String columns, of equal length or of length one, and returns a frame whose `score` is null
where either side is. Everything that Polars adds to that is solved here, once: literals, nulls, dtypes,
lists, labels.
"""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Literal, TypeAlias

import polars as pl
from polars.exceptions import InvalidOperationError

from polars_evals._native import set_sigma_table
from polars_evals._polars import ENCODES_PARTS, NOTHING_OF_EMPTY, SIGMA_TABLE, format_text
from polars_evals.columns import align, read_text, read_tokens, read_vector, row_count, side_by_side

IntoText: TypeAlias = pl.Expr | pl.Series | str
Missing: TypeAlias = Literal["fail", "null"]
Kernel: TypeAlias = Callable[[pl.Series, pl.Series], pl.DataFrame]
Fields: TypeAlias = Mapping[str, pl.DataType | type[pl.DataType]]

LABEL = pl.Enum(["fail", "pass"])

# Kernels fold case as the installed Polars does.
set_sigma_table(SIGMA_TABLE)

# `details` ends with these for every metric: null for single texts, for a schema must not depend on the data.
COMMON_FIELDS: Fields = {
    "turn_scores": pl.List(pl.Float64),
    "num_turns": pl.Int64,
    "num_low_scores": pl.Int64,
    "reason": pl.String,
}

NO_EXPECTED, NO_OUTPUT = "no expected value", "no output"

# Averages are rounded to this many decimals, so that six turns of 0.8 average to 0.8.
AVERAGE_DECIMALS = 12


def lift(
    metric: str,
    output: IntoText,
    expected: IntoText,
    kernel: Kernel,
    *,
    threshold: float,
    missing: Missing,
    details: bool,
    fields: Fields,
    turn_kernel: Kernel | None = None,
    decimals: int | None = None,
    references: Literal["best", "worst"] = "best",
    rank_by: str = "score",
    name: str | None = None,
    expected_name: str = "expected",
    output_alone: bool = False,
    read: Callable[[pl.Series], pl.Series] | None = None,
) -> pl.Expr:
    """Make the expression of a metric.

    Parameters
    ----------
    metric
        The metric's name, for errors and for the result.
    output, expected
        The two columns: expressions, column names, or Series.
    kernel
        Scores pairs of texts.
    threshold
        The least score that passes.
    missing
        What a missing value scores: 0.0 with `"fail"`, null with `"null"`.
    details
        Whether to append `fields` and the common ones to score and label.
    fields
        What the kernel's frame holds beside `score` when details are wanted.
    turn_kernel
        Scores the turns of a conversation, where `kernel` rounds: then only the average is rounded.
    decimals
        Decimals of the average over turns.
    references
        Which of several references counts.
    rank_by
        The kernel's field that ranks references.
    name
        The result's name, where it is not the metric's.
    expected_name
        What the metric calls its second argument.
    output_alone
        Whether the metric has no second argument: then `expected` is ignored, and the kernel gets the output
        twice.
    read
        Brings columns of other types to text, before anything else.
    """
    note_kernel(kernel)
    kinds = result_fields(fields if details else None)
    arguments = {"output": output} if output_alone else {"output": output, expected_name: expected}

    def score(columns: Sequence[pl.Series]) -> pl.Series:
        if read is not None:
            columns = [read(column) for column in columns]
        texts = [read_text(metric, *c) for c in zip(arguments, columns, strict=True)]
        left, right = texts[0], texts[-1]
        if left.dtype == pl.String and right.dtype == pl.String:
            scored = kernel(left, right)
        elif left.dtype == pl.String:
            scored = score_references(kernel, left, right, references, rank_by)
        elif right.dtype == pl.List:
            scored = score_turns(
                turn_kernel or kernel, left, right, threshold=threshold, missing=missing, decimals=decimals
            )
        else:
            raise InvalidOperationError(
                f"{metric}: `output` is a list of turns but `expected` a single text; "
                "make it a list with a text for each turn"
            )
        if details and "reason" not in scored.columns:
            scored = scored.with_columns(reason=explain_missing(left, right, len(scored)))
        if details and output_alone:
            scored = scored.with_columns(pl.col("reason").replace(NO_EXPECTED, NO_OUTPUT))
        return assemble(scored, kinds, threshold, missing)

    return elementwise(metric, arguments, score, pl.Struct(kinds)).alias(name or metric)


def lift_vectors(
    metric: str,
    output: IntoText,
    expected: IntoText,
    kernel: Kernel,
    *,
    threshold: float,
    missing: Missing,
    details: bool,
) -> pl.Expr:
    """Make the expression of a metric over vectors.

    `kernel` takes two columns of List(Float64) and gives a frame of `score` and `reason`.
    """
    kinds = result_fields({} if details else None)
    arguments = {"output": output, "expected": expected}

    def score(columns: Sequence[pl.Series]) -> pl.Series:
        vectors = (read_vector(metric, *c) for c in zip(arguments, columns, strict=True))
        return assemble(kernel(*vectors), kinds, threshold, missing)

    return elementwise(metric, arguments, score, pl.Struct(kinds)).alias(metric)


def lift_distance(
    metric: str, output: IntoText, expected: IntoText, kernel: Kernel, list_kernel: Kernel
) -> pl.Expr:
    """Make an expression of whole numbers: null in, null out. The nearest of several references counts.

    `kernel` takes two columns of String, `list_kernel` two of List(String); both give a frame of `distance`.
    """

    def measure(columns: Sequence[pl.Series]) -> pl.Series:
        left, right = columns
        if isinstance(left.dtype, pl.List | pl.Array) and isinstance(right.dtype, pl.List | pl.Array):
            return list_kernel(*read_tokens(metric, left, right))["distance"]
        left, right = (read_text(metric, *c) for c in zip(("output", "expected"), columns, strict=True))
        if right.dtype == pl.String and left.dtype == pl.String:
            return kernel(left, right)["distance"]
        if right.dtype == pl.String:
            raise InvalidOperationError(
                f"{metric}: `output` is a list but `expected` a text; compare a list with a list"
            )
        return score_references(kernel, left, right, "worst", "distance")["distance"]

    return elementwise(metric, {"output": output, "expected": expected}, measure, pl.Int64()).alias(metric)


def elementwise(
    metric: str,
    arguments: Mapping[str, IntoText],
    function: Callable[[Sequence[pl.Series]], pl.Series],
    dtype: pl.DataType,
    *,
    whole: bool = False,
) -> pl.Expr:
    """Call `map_batches`, here and nowhere else.

    Row i of the result depends on row i of the columns alone. That lets Polars stream the metric, push
    predicates below it and run it in groups; and since Polars takes our word for it, a result of any other
    length is stopped here. Only what needs the `whole` columns is no such function.
    """

    def checked(columns: Sequence[pl.Series]) -> pl.Series:
        rows = row_count(*columns)
        result = function(align(columns, rows))
        if len(result) != rows:
            raise AssertionError(f"{metric}: {len(result)} results for {rows} rows")
        return result

    columns = [as_expr(metric, argument, value) for argument, value in arguments.items()]
    return pl.map_batches(columns, checked, return_dtype=dtype, is_elementwise=not whole)


def json_text(structs: pl.Expr) -> pl.Expr:
    """Write structs as JSON."""
    if ENCODES_PARTS:
        return structs.struct.json_encode()

    def encode(columns: Sequence[pl.Series]) -> pl.Series:
        [values] = columns
        # A copy of the part that is looked at.
        return values.gather(pl.int_range(len(values), eager=True)).struct.json_encode()

    return elementwise("json_text", {"structs": structs}, encode, pl.String())


def announced(
    output: IntoText, expected: IntoText, announce: Callable[[pl.Series, pl.Series], None]
) -> pl.Expr:
    """Hand the output on as it is, and tell `announce` of each batch that comes by."""

    def hand_on(columns: Sequence[pl.Series]) -> pl.Series:
        left, right = columns
        announce(left, right)
        return left

    return elementwise("announced", {"output": output, "expected": expected}, hand_on, pl.String())


# The kernels that `lift` is given, while someone asks for them.
NOTED: ContextVar[list[Kernel] | None] = ContextVar("NOTED", default=None)


def note_kernel(kernel: Kernel) -> None:
    """Note a kernel for `kernels_of`."""
    noted = NOTED.get()
    if noted is not None:
        noted.append(kernel)


def kernels_of(make: Callable[[], pl.Expr]) -> list[Kernel]:
    """Return the kernels behind the expression that `make` makes."""
    kernels: list[Kernel] = []
    token = NOTED.set(kernels)
    try:
        make()
    finally:
        NOTED.reset(token)
    return kernels


def as_expr(metric: str, argument: str, value: object) -> pl.Expr:
    """Take a column name, an expression or a Series."""
    if isinstance(value, pl.Expr):
        return value
    if isinstance(value, str):
        return pl.col(value)
    if isinstance(value, pl.Series):
        return pl.lit(value)
    raise TypeError(
        f"{metric}: `{argument}` must be an expression or a column name, got {type(value).__name__}; "
        "wrap a literal in pl.lit(...)"
    )


def result_fields(details: Fields | None) -> Fields:
    """Name the fields of a result, with the metric's own ones if details are wanted."""
    kinds: Fields = {"score": pl.Float64(), "label": LABEL}
    return kinds if details is None else {**kinds, **details, **COMMON_FIELDS}


def assemble(scored: pl.DataFrame, kinds: Fields, threshold: float, missing: Missing) -> pl.Series:
    """Make the struct of a result from what a kernel gave."""
    score = pl.col("score").fill_null(0.0) if missing == "fail" else pl.col("score")
    made = {"score": score, "label": label(score, threshold)}
    given = {
        field: pl.col(field) if field in scored.columns else pl.lit(None, kind)
        for field, kind in kinds.items()
    }
    return scored.select(**(given | made)).to_struct()


def label(score: pl.Expr, threshold: float) -> pl.Expr:
    """Say pass or fail, or null where there is no score."""
    passed = pl.when(score >= threshold).then(pl.lit("pass", LABEL)).otherwise(pl.lit("fail", LABEL))
    return pl.when(score.is_not_null()).then(passed)


def explain_missing(left: pl.Series, right: pl.Series, rows: int) -> pl.Series:
    """Say why a row has nothing to compare."""
    no_output = pl.lit(left.is_null())
    no_expected = pl.lit(
        right.is_null() if right.dtype == pl.String else right.list.drop_nulls().list.len().fill_null(0) == 0
    )
    reason = pl.when(no_expected).then(pl.lit(NO_EXPECTED)).when(no_output).then(pl.lit(NO_OUTPUT))
    return pl.select(pl.lit(pl.repeat(None, rows, dtype=pl.String, eager=True)).fill_null(reason)).to_series()


def score_references(
    kernel: Kernel, left: pl.Series, right: pl.Series, which: Literal["best", "worst"], rank_by: str
) -> pl.DataFrame:
    """Score texts against lists of references. Null references do not count."""
    rows = side_by_side(left, right)
    pairs = rows.explode("expected", **NOTHING_OF_EMPTY).filter(
        pl.col("expected").is_not_null() & pl.col("output").is_not_null()
    )
    scored = kernel(pairs["output"], pairs["expected"])
    rank = pl.col(rank_by)
    first = rank.arg_max() if which == "best" else rank.arg_min()
    counted = scored.with_columns(pairs["row"]).group_by("row").agg(pl.all().get(first))
    return rows.select("row").join(counted, on="row", how="left", maintain_order="left").drop("row")


def score_turns(
    kernel: Kernel,
    left: pl.Series,
    right: pl.Series,
    *,
    threshold: float,
    missing: Missing,
    decimals: int | None,
) -> pl.DataFrame:
    """Score conversations turn by turn. Conversations of different length do not match at all."""
    rows = side_by_side(left, right).with_columns(
        turns=pl.col("output").list.len().cast(pl.Int64),
        expected_turns=pl.col("expected").list.len().cast(pl.Int64),
    )
    turns, expected_turns = pl.col("turns"), pl.col("expected_turns")
    pairs = rows.filter(turns == expected_turns, turns > 0).explode("output", "expected", **NOTHING_OF_EMPTY)
    turn = kernel(pairs["output"], pairs["expected"]).select("score", pairs["row"])
    if missing == "fail":
        turn = turn.with_columns(pl.col("score").fill_null(0.0))
    score = pl.col("score")
    averaged = turn.group_by("row", maintain_order=True).agg(
        round_half_up(score.mean(), decimals).alias("average"),
        score.alias("turn_scores"),
        (score < threshold).sum().cast(pl.Int64).alias("num_low_scores"),
    )
    differ = turns != expected_turns
    both_empty = (turns == 0) & (expected_turns == 0)
    reason = (
        pl.when(pl.col("expected").is_null() | both_empty)
        .then(pl.lit(NO_EXPECTED))
        .when(pl.col("output").is_null())
        .then(pl.lit(NO_OUTPUT))
        .when(differ)
        .then(format_text("turn count {}, expected {}", turns, expected_turns))
    )
    return rows.join(averaged, on="row", how="left", maintain_order="left").select(
        pl.when(differ).then(0.0).otherwise("average").alias("score"),
        "turn_scores",
        turns.alias("num_turns"),
        "num_low_scores",
        reason.alias("reason"),
    )


def round_half_up(average: pl.Expr, decimals: int | None) -> pl.Expr:
    """Round an average in [0, 1], on whole numbers, so that 0.145 is 0.15 with two decimals."""
    whole: int = 10**AVERAGE_DECIMALS
    units = (average * whole).round().cast(pl.Int64)
    if decimals is None or decimals >= AVERAGE_DECIMALS:
        return divide(units, whole)
    scale: int = 10**decimals
    step = whole // scale
    return divide((units + step // 2) // step, scale)


def divide(units: pl.Expr, scale: int) -> pl.Expr:
    """Divide whole numbers, to the nearest float.

    By a column: where a column has several rows, Polars divides it by a scalar as it multiplies it by the
    inverse, and 7 / 10 would be 0.7000000000000001.
    """
    return units / (units * 0 + scale)
