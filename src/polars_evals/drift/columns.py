"""Find and check the columns of a scored frame, so that everything after may trust them."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Frame = pl.DataFrame | pl.LazyFrame
    Schema = Mapping[str, pl.DataType]

LABELS = ["fail", "pass"]
# Squares of squares must stay finite.
LARGEST = 1e50
# A character that names do not have keeps what is added to them apart from names that read the same.
APART = "\x1f"
TRAIT = f"by{APART}"
# Intervals at a smaller level reach to infinity.
SMALLEST_LEVEL = 1e-12


def lazy(frame: Frame) -> pl.LazyFrame:
    """Return the frame as a LazyFrame, or say what else was given."""
    if not isinstance(frame, pl.DataFrame | pl.LazyFrame):
        msg = f"expected a Polars DataFrame or LazyFrame, got {type(frame).__name__}"
        raise TypeError(msg)
    return frame.lazy()


def nearest(name: str, choices: Iterable[str]) -> str:
    """Return ``", did you mean 'x'?"`` for the nearest choice, or nothing."""
    close = get_close_matches(name, list(choices), n=1)
    return f", did you mean {close[0]!r}?" if close else ""


def require(schema: Schema, name: str, role: str) -> None:
    """Raise unless the frame has the column that plays `role`."""
    if not isinstance(name, str):
        msg = f"{role} takes the name of a column, got {type(name).__name__}"
        raise TypeError(msg)
    if name not in schema:
        msg = f"{role}: there is no column {name!r}{nearest(name, schema)}"
        raise pl.exceptions.ColumnNotFoundError(msg)


def require_fraction(value: float, role: str) -> None:
    """Raise unless 0 < value < 1."""
    if not 0 < value < 1:
        msg = f"{role} must lie between 0 and 1, got {value!r}"
        raise ValueError(msg)


def require_level(alpha: float) -> None:
    """Raise unless `alpha` is a level that intervals can be made at."""
    require_fraction(alpha, "alpha")
    if alpha < SMALLEST_LEVEL:
        msg = f"alpha must be at least {SMALLEST_LEVEL:g}, got {alpha!r}"
        raise ValueError(msg)


def require_effect(min_effect: float) -> None:
    """Raise unless 0 <= min_effect < 1."""
    if not 0 <= min_effect < 1:
        msg = f"min_effect must be at least 0 and below 1, got {min_effect!r}"
        raise ValueError(msg)


def find_metrics(schema: Schema, metrics: Sequence[str] | None) -> list[str]:
    """Return the metrics asked for, or every ``<name>_score`` column that holds numbers."""
    found = [
        name.removesuffix("_score")
        for name, dtype in schema.items()
        if name.endswith("_score") and name != "_score" and (dtype.is_numeric() or dtype == pl.Null)
    ]
    if metrics is None:
        if not found:
            msg = f"there is no <name>_score column of numbers; {_way_to_scores(schema)}"
            raise pl.exceptions.ColumnNotFoundError(msg)
        return found
    if isinstance(metrics, str):
        metrics = [metrics]
    for name in metrics:
        if name not in found:
            nested = (
                f"; {_way_to_scores(schema)}" if name in _scored_structs(schema) else nearest(name, found)
            )
            msg = f"metrics: there is no numeric column '{name}_score'{nested}"
            raise pl.exceptions.ColumnNotFoundError(msg)
    if not metrics or len(set(metrics)) < len(metrics):
        msg = f"metrics must name each metric once, got {list(metrics)!r}"
        raise ValueError(msg)
    return list(metrics)


def _scored_structs(schema: Schema) -> list[str]:
    """Return the struct columns that a metric made and no one has unnested."""
    return [
        name
        for name, dtype in schema.items()
        if isinstance(dtype, pl.Struct) and "score" in [field.name for field in dtype.fields]
    ]


def _way_to_scores(schema: Schema) -> str:
    """Return how to get ``<name>_score`` columns from what the frame has."""
    if structs := _scored_structs(schema):
        listed = ", ".join(f'"{name}"' for name in structs)
        seen = f"column {listed} is a struct" if len(structs) == 1 else f"columns {listed} are structs"
        those = "it" if len(structs) == 1 else "them"
        return f'{seen} with a score, unnest {those} first: scored.unnest({listed}, separator="_")'
    if bare := [name for name in ("score", "label") if name in schema]:
        renamed = ", ".join(f'"{name}": "<name>_{name}"' for name in bare)
        return (
            f"{' and '.join(map(repr, bare))} lack the metric's name, as after unnest() without a separator: "
            f'.unnest("levenshtein", separator="_") keeps it, .rename({{{renamed}}}) gives one'
        )
    return 'score first, and unnest: .unnest("levenshtein", separator="_")'


def trait(name: str) -> str:
    """Return what a column to slice by is called among the rows."""
    return f"{TRAIT}{name}"


def as_text(schema: Schema, name: str) -> pl.Expr:
    """Return a column of group values as text, or raise if its values are not single values."""
    if schema[name].is_nested() or schema[name] in (pl.Object, pl.Binary):
        msg = f"column {name!r} is {schema[name]}; groups need text, numbers, booleans or dates"
        raise pl.exceptions.InvalidOperationError(msg)
    return pl.col(name).cast(pl.String)


def measures(schema: Schema, metrics: Sequence[str]) -> list[pl.Expr]:
    """Return ``<metric>:score`` (Float64) and ``<metric>:pass`` (UInt8, null without a label)."""
    exprs = []
    for name in metrics:
        score = pl.col(f"{name}_score").cast(pl.Float64)
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
            msg = f"column {label!r} is {schema[label]}; a label is Enum or String, 'fail' or 'pass'"
            raise pl.exceptions.InvalidOperationError(msg)
        exprs.append(pl.when(score.is_not_null()).then(passed).alias(f"{name}:pass"))
    return exprs


def collect(frame: pl.LazyFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """Run the selection of `measures`, naming the column where a label or a score is not one."""
    try:
        rows = frame.collect(engine="streaming")
    except pl.exceptions.InvalidOperationError as error:
        if "enum" not in str(error).lower():
            raise
        msg = f"a <name>_label column holds a value other than 'fail' and 'pass': {error}"
        raise pl.exceptions.InvalidOperationError(msg) from error
    bad = rows.select(
        (~(pl.col(f"{m}:score").abs() < LARGEST)).sum().alias(m)  # not >=, which NaN would pass
        for m in metrics
    ).row(0, named=True)
    for name, count in bad.items():
        if count:
            msg = (
                f"'{name}_score' has {count:,} NaN or infinite values; "
                f"make them null to leave them out: pl.col('{name}_score').fill_nan(None)"
            )
            raise ValueError(msg)
    return rows


def aggregated(query: pl.LazyFrame) -> pl.DataFrame:
    """Run a query over rows in memory that sums floats, so that it repeats to the last bit."""
    # The streaming engine adds its batches up in the order in which they happen to be done. Groups that are
    # added up again must keep their order, in a query of their own: the optimizer drops it within one.
    return query.collect(engine="in-memory")


def check_signatures(frame: pl.LazyFrame, schema: Schema, metrics: Sequence[str]) -> None:
    """Refuse rows whose ``<metric>_signature`` differ: their scores were not made in the same way."""
    columns = [f"{name}_signature" for name in metrics if f"{name}_signature" in schema]
    if not columns:
        return
    seen = frame.select(pl.col(c).cast(pl.String).unique().sort().implode() for c in columns).collect(
        engine="streaming"
    )
    for column in columns:
        require_one_signature(column, seen[column].item())


def require_one_signature(column: str, seen: Iterable[str | None]) -> None:
    """Raise if the scores of a metric were made in more than one way."""
    values = [value if value is not None else "(none)" for value in seen]
    if len(values) > 1:
        listed = "\n  ".join(values[:5])
        msg = (
            f"'{column}' differs between the rows, so the scores cannot be compared:\n  {listed}\n"
            "score all rows with one suite"
        )
        raise ValueError(msg)


def absent(role: str, one: str, column: str, present: Sequence[str]) -> ValueError:
    """Return the error that a version is not in the frame."""
    shown = ", ".join(map(repr, present[:20])) or "none"
    return ValueError(
        f"{role} {one!r} is not in column {column!r}{nearest(one, present)} (versions: {shown})"
    )


def version_text(schema: Schema, column: str, value: Any) -> str:
    """Return a version as text, as `as_text` writes it."""
    if isinstance(value, str):
        return value
    try:
        return str(pl.Series([value], dtype=schema[column]).cast(pl.String).item())
    except (TypeError, pl.exceptions.PolarsError):
        return str(value)
