"""Find and check the columns of a scored frame, so that everything after may trust them."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.wording import counted, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    Frame = pl.DataFrame | pl.LazyFrame
    Schema = Mapping[str, pl.DataType]

LABELS = ["fail", "pass"]
# Squares of squares must stay finite.
LARGEST = 1e50
# A character that names do not have keeps what is added to them apart from names that read the same.
APART = "\x1f"
TRAIT = f"by{APART}"
# The metric that says whether an item has an answer, a score in every metric.
ANSWERED = "answered"
# Marks the rows of a baseline that have no other run of it to be scored against.
ONLY_RUN = "only_run"
# Intervals at a smaller level reach to infinity.
SMALLEST_LEVEL = 1e-12


def lazy(frame: Frame) -> pl.LazyFrame:
    """Return the frame as a LazyFrame, or say what else was given."""
    if not isinstance(frame, pl.DataFrame | pl.LazyFrame):
        hint = "; read files first, such as with pl.scan_parquet" if isinstance(frame, str | PathLike) else ""
        raise TypeError(f"expected a Polars DataFrame or LazyFrame, got {type(frame).__name__}{hint}")
    return frame.lazy()


def require_name(name: object, role: str) -> None:
    """Raise unless `name` can name a column."""
    if not isinstance(name, str):
        raise TypeError(f"{role} takes the name of a column, got {type(name).__name__}")


def require(schema: Schema, name: str, role: str) -> None:
    """Raise unless the frame has the column that plays `role`."""
    require_name(name, role)
    if name not in schema:
        raise pl.exceptions.ColumnNotFoundError(
            f"{role}: there is no column {name!r}{did_you_mean(name, schema)}"
        )


def require_number(schema: Schema, name: str, role: str) -> None:
    """Raise unless the frame has a column of numbers."""
    require(schema, name, role)
    dtype = schema[name]
    if not (dtype.is_numeric() or dtype == pl.Null):
        ways = {
            pl.Duration: ".dt.total_milliseconds() converts it to numbers",
            pl.String: f'pl.col("{name}").cast(pl.Float64) converts it to numbers',
            pl.Boolean: f'pl.col("{name}").cast(pl.Int8) converts it to numbers',
        }
        hint = next((f"; {way}" for kind, way in ways.items() if dtype == kind), "")
        raise pl.exceptions.InvalidOperationError(f"{role}: column {name!r} is {dtype}, not a number{hint}")


def require_fraction(value: float, role: str) -> None:
    """Raise unless 0 < value < 1."""
    if not 0 < value < 1:
        raise ValueError(f"{role} must lie between 0 and 1, got {value!r}")


def require_level(alpha: float) -> None:
    """Raise unless `alpha` is a level that intervals can be made at."""
    require_fraction(alpha, "alpha")
    if alpha < SMALLEST_LEVEL:
        raise ValueError(f"alpha must be at least {SMALLEST_LEVEL:g}, got {alpha!r}")


def require_effect(min_effect: float) -> None:
    """Raise unless 0 <= min_effect < 1."""
    if not 0 <= min_effect < 1:
        raise ValueError(f"min_effect must be at least 0 and below 1, got {min_effect!r}")


def verdicts(said: pl.Series) -> pl.Series | None:
    """Return pass and fail as booleans, null for another value; None where the type has no verdicts."""
    if said.dtype == pl.Boolean:
        return said
    if said.dtype.is_numeric():
        said, words = said.cast(pl.Float64), pl.Series([0.0, 1.0])
    elif said.dtype == pl.String or isinstance(said.dtype, pl.Enum | pl.Categorical):
        said, words = said.cast(pl.String), pl.Series(LABELS)
    else:
        return None
    return pl.select(pl.when(said.is_in(words.implode())).then(said == words[1])).to_series()


def find_metrics(schema: Schema, metrics: Sequence[str] | str | None) -> list[str]:
    """Return the metrics asked for, or every `<name>_score` column that holds numbers."""
    found = [
        name.removesuffix("_score")
        for name, dtype in schema.items()
        if name.endswith("_score") and name != "_score" and (dtype.is_numeric() or dtype == pl.Null)
    ]
    if metrics is None:
        if not found:
            raise pl.exceptions.ColumnNotFoundError(
                f"there is no <name>_score column of numbers; {_way_to_scores(schema)}"
            )
        return found
    if isinstance(metrics, str):
        metrics = [metrics]
    for name in metrics:
        if name not in found:
            nested = name in _scored_structs(schema)
            hint = f"; {_way_to_scores(schema)}" if nested else did_you_mean(name, found)
            raise pl.exceptions.ColumnNotFoundError(
                f"metrics: there is no numeric column '{name}_score'{hint}"
            )
    require_distinct(metrics)
    return list(metrics)


def require_distinct(metrics: Sequence[str]) -> None:
    """Raise unless there are metrics, each named once."""
    if not metrics or len(set(metrics)) < len(metrics):
        raise ValueError(f"metrics must name each metric once, got {list(metrics)!r}")


def _scored_structs(schema: Schema) -> list[str]:
    """Return the struct columns that a metric made and no one has unnested."""
    return [
        name
        for name, dtype in schema.items()
        if isinstance(dtype, pl.Struct) and "score" in [field.name for field in dtype.fields]
    ]


def _way_to_scores(schema: Schema) -> str:
    """Return how to get `<name>_score` columns from what the frame has."""
    if structs := _scored_structs(schema):
        listed = ", ".join(f'"{name}"' for name in structs)
        seen = f"column {listed} is a struct" if len(structs) == 1 else f"columns {listed} are structs"
        those = "it" if len(structs) == 1 else "them"
        return f'{seen} with a score, unnest {those} first: scored.unnest({listed}, separator="_")'
    if bare := [name for name in ("score", "label") if name in schema]:
        renamed = ", ".join(f'"{name}": "<name>_{name}"' for name in bare)
        return (
            f"{' and '.join(map(repr, bare))} lack the metric's name, which unnest() without a separator "
            f'drops: use .unnest("levenshtein", separator="_"), or .rename({{{renamed}}})'
        )
    return (
        "score first: with `polars-evals score`, with a suite, or with a metric and "
        '.unnest("levenshtein", separator="_")'
    )


def trait(name: str) -> str:
    """Return what a column to slice by is called among the rows."""
    return f"{TRAIT}{name}"


def as_text(schema: Schema, name: str) -> pl.Expr:
    """Return a column of group values as text, or raise if its values are not single values."""
    if schema[name].is_nested() or schema[name] in (pl.Object, pl.Binary):
        raise pl.exceptions.InvalidOperationError(
            f"column {name!r} is {schema[name]}; groups need text, numbers, booleans or dates"
        )
    return pl.col(name).cast(pl.String)


def item_key(schema: Schema, item: str) -> pl.Expr:
    """Return the column that versions are paired on; text is text, whatever its type."""
    text = isinstance(schema[item], pl.Enum | pl.Categorical)
    return pl.col(item).cast(pl.String) if text else pl.col(item)


def only_run(schema: Schema) -> pl.Expr:
    """Return which rows `against_baseline` could not give an expected text of another run."""
    known = schema.get(ONLY_RUN) == pl.Boolean
    return pl.col(ONLY_RUN).fill_null(value=False) if known else pl.lit(value=False)


def scores_and_labels(schema: Schema, metrics: Sequence[str]) -> list[pl.Expr]:
    """Return `<metric>:score` (Float64) and `<metric>:pass` (UInt8, null without a label)."""
    exprs = []
    for name in metrics:
        score = pl.col(f"{name}_score").cast(pl.Float64)
        if ONLY_RUN in schema:
            score = pl.when(~only_run(schema)).then(score)
        exprs.append(score.alias(f"{name}:score"))
        label = f"{name}_label"
        if label not in schema or schema[label] == pl.Null:
            passed: pl.Expr = pl.lit(None, dtype=pl.UInt8)
        elif schema[label] == pl.Enum(LABELS):
            passed = pl.col(label).to_physical()
        elif isinstance(schema[label], pl.Enum | pl.Categorical) or schema[label] == pl.String:
            # A strict cast: a label that is neither "fail" nor "pass" must not be counted as a failure.
            passed = pl.col(label).cast(pl.String).cast(pl.Enum(LABELS)).to_physical().cast(pl.UInt8)
        else:
            raise pl.exceptions.InvalidOperationError(
                f"column {label!r} is {schema[label]}; a label is Enum or String, 'fail' or 'pass'"
            )
        exprs.append(pl.when(score.is_not_null()).then(passed).alias(f"{name}:pass"))
    return exprs


def values_of(measures: Iterable[str]) -> list[pl.Expr]:
    """Return `<measure>:score` (Float64) and `<measure>:pass`, which measures do not have."""
    return [
        e for name in measures for e in (pl.col(name).cast(pl.Float64).alias(f"{name}:score"), no_label(name))
    ]


def no_label(name: str) -> pl.Expr:
    """Return the labels of what has none."""
    return pl.lit(None, dtype=pl.UInt8).alias(f"{name}:pass")


def collect(frame: pl.LazyFrame, metrics: Sequence[str], measures: Iterable[str] = ()) -> pl.DataFrame:
    """Run the selection of `scores_and_labels`, naming the column where a label or a score is not one."""
    try:
        rows = frame.collect(engine="streaming")
    except pl.exceptions.InvalidOperationError as error:
        if "enum" not in str(error).lower():
            raise
        raise pl.exceptions.InvalidOperationError(
            f"a <name>_label column holds a value other than 'fail' and 'pass': {error}"
        ) from error
    if not metrics and not measures:
        return rows
    bad = rows.select(
        (~(pl.col(f"{m}:score").abs() < LARGEST)).sum().alias(m)  # not >=, which NaN would pass
        for m in (*metrics, *measures)
    ).row(0, named=True)
    for name, count in bad.items():
        if count:
            column = f"{name}_score" if name in metrics else name
            raise ValueError(
                f"{column!r} has {counted(count, 'NaN or infinite value')}; "
                f"replace NaN with null to leave the rows out: pl.col({column!r}).fill_nan(None)"
            )
    return rows


def flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose lists of texts are texts, so that it can be written as CSV."""
    return frame.with_columns(
        pl.col(name).list.eval(pl.element().fill_null("null")).list.join(", ")
        for name, dtype in frame.schema.items()
        if dtype == pl.List(pl.String)
    )


def aggregated(query: pl.LazyFrame) -> pl.DataFrame:
    """Run a query over rows in memory that sums floats, so that it repeats to the last bit."""
    # The streaming engine adds its batches up in the order in which they happen to be done. Groups that are
    # added up again must keep their order, in a query of their own: the optimizer drops it within one.
    return query.collect(engine="in-memory")


def check_signatures(frame: pl.LazyFrame, schema: Schema, metrics: Sequence[str]) -> None:
    """Refuse rows whose `<metric>_signature` differ: their scores were not made in the same way."""
    columns = [f"{name}_signature" for name in metrics if f"{name}_signature" in schema]
    if not columns:
        return
    seen = frame.select(pl.col(c).cast(pl.String).unique().sort().implode() for c in columns).collect(
        engine="streaming"
    )
    for column in columns:
        require_one_signature(column, seen[column].item())


def require_one_signature(column: str, seen: Collection[str | None]) -> None:
    """Raise if the scores of a metric were made in more than one way."""
    values = [value if value is not None else "(none)" for value in seen]
    if len(values) > 1:
        listed = "\n  ".join(values[:5])
        way_out = "score all rows with one suite"
        if len(values) == 2 and "(none)" in values:
            way_out = (
                "score all rows with signatures=True, or read files with polars_evals.jobs.scan_scored, "
                "which finds the signatures in their metadata"
            )
        raise ValueError(
            f"'{column}' differs between the rows, so the scores cannot be compared:\n  {listed}\n{way_out}"
        )


def absent(role: str, one: str, column: str, present: Sequence[str]) -> ValueError:
    """Return the error that a version is not in the frame."""
    shown = ", ".join(map(repr, present[:20])) or "none"
    return ValueError(
        f"{role} {one!r} is not in column {column!r}{did_you_mean(one, present)} (versions: {shown})"
    )


def version_text(schema: Schema, column: str, value: Any) -> str:
    """Return a version as text, as `as_text` writes it."""
    if isinstance(value, str):
        return value
    try:
        return str(pl.Series([value], dtype=schema[column]).cast(pl.String).item())
    except (TypeError, pl.exceptions.PolarsError):
        return str(value)
