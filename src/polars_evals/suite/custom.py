"""Metrics of one's own: functions from expressions to an expression, found by name or as entry points."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from inspect import Parameter
from typing import Any, TypeVar, overload

import polars as pl
from polars.exceptions import InvalidOperationError

from polars_evals import metrics
from polars_evals._polars import error_text
from polars_evals.expressions.native import LABEL, as_expr, label, result_fields
from polars_evals.expressions.options import IntoText, Missing, check_common
from polars_evals.expressions.python import elementwise
from polars_evals.wording import shown, without_query

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)

GROUP = "polars_evals.metrics"
THRESHOLD = 0.5

# What a result is called where it is made.
MADE = "__evals_made"

REGISTERED: dict[str, Function] = {}


@overload
def metric(function: F) -> F: ...
@overload
def metric(
    *, name: str | None = None, threshold: float = ..., version: str | None = ..., rows: bool = ...
) -> Callable[[F], F]: ...
def metric(
    function: F | None = None,
    *,
    name: str | None = None,
    threshold: float = THRESHOLD,
    version: str | None = None,
    rows: bool = False,
) -> F | Callable[[F], F]:
    """Register a function as a metric that suites find by name.

    Parameters
    ----------
    function
        A function from the expressions `output` and, if it wants one, `expected` to an expression: a number
        from 0 to 1, a Boolean, or a struct of score and label. Its other parameters are options.
    name
        The name in suites. The default is the function's name.
    threshold
        The lowest score that passes, unless a suite says otherwise.
    version
        Part of the signature: change it when the function changes, so that scores before and after are not
        compared.
    rows
        The function takes the values of one row, not expressions, and returns a number or a Boolean. This is
        slow: Python calls it for each row, one after the other. See `Metric`.

    Examples
    --------
    >>> @pe.metric(name="politeness", threshold=0.5)
    ... def politeness(output: pl.Expr) -> pl.Expr:
    ...     return output.str.contains("(?i)please|thank")
    >>> suite = pe.Suite([pe.Metric("politeness")])
    >>> suite.score(pl.DataFrame({"output": ["Thank you!", "No."]}))
    shape: (2, 3)
    ┌────────────┬──────────────────┬──────────────────┐
    │ output     ┆ politeness_score ┆ politeness_label │
    │ ---        ┆ ---              ┆ ---              │
    │ str        ┆ f64              ┆ enum             │
    ╞════════════╪══════════════════╪══════════════════╡
    │ Thank you! ┆ 1.0              ┆ pass             │
    │ No.        ┆ 0.0              ┆ fail             │
    └────────────┴──────────────────┴──────────────────┘
    """

    def register(given: F) -> F:
        called = name or given.__name__
        if called in (*metrics.__all__, "column"):
            raise ValueError(
                f'"{called}" is a metric of polars-evals; give yours another name: '
                f'@pe.metric(name="my_{called}")'
            )
        settings = {"name": called, "threshold": threshold, "version": version, "rows": rows}
        for key, value in settings.items():
            setattr(given, f"__evals_{key}__", value)
        REGISTERED[called] = given
        return given

    return register if function is None else register(function)


def name_of(function: Function) -> str:
    """Name a metric of one's own."""
    return str(getattr(function, "__evals_name__", getattr(function, "__name__", type(function).__name__)))


def identity(function: Function) -> str:
    """Say which function made a score: its module, its name and its version."""
    called = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', name_of(function))}"
    version = getattr(function, "__evals_version__", None)
    return called if version is None else f"{called}@{version}"


def installed() -> list[str]:
    """Name the metrics of installed packages, and those that were registered here."""
    return sorted({*REGISTERED, *(entry.name for entry in entry_points(group=GROUP))})


def find_function(name: str) -> Function | None:
    """Find a metric of one's own by name: registered here, or an entry point of an installed package."""
    if name in REGISTERED:
        return REGISTERED[name]
    for entry in entry_points(group=GROUP, name=name):
        try:
            function = entry.load()
        except Exception as error:
            raise ValueError(
                f'the metric "{name}" of {entry.value} cannot be loaded: {type(error).__name__}: {error}'
            ) from error
        if not callable(function):
            raise ValueError(f'the metric "{name}" of {entry.value} is not a function, got {shown(function)}')
        return function  # type: ignore[no-any-return]
    return None


def wrapped(function: Function, *, rows: bool = False) -> Function:
    """Give a function the options that every metric has, and its result their shape."""
    name = name_of(function)
    rows = rows or bool(getattr(function, "__evals_rows__", False))
    signature = _signature(name, function)
    takes = inspect.signature(function).parameters

    def run(
        output: IntoText,
        expected: IntoText | None = None,
        *,
        threshold: float,
        missing: Missing = "fail",
        details: bool = False,
        **options: Any,
    ) -> pl.Expr:
        check_common(name, threshold=threshold, missing=missing, details=details)
        sides = [output] if expected is None else [output, expected]
        common = {"threshold": threshold, "missing": missing, "details": details}
        options |= {key: value for key, value in common.items() if key in takes}
        try:
            result = _row_by_row(name, function, sides, options) if rows else function(*sides, **options)
        except Exception as error:
            raise ValueError(f'metric "{name}": {type(error).__name__}: {error}') from error
        if not isinstance(result, pl.Expr):
            hint = "; one that takes the values of a row is rows=True"
            raise ValueError(
                f'metric "{name}": the function must return an expression, got {shown(result)}{hint}'
            )
        return _shaped(name, result, sides, threshold=threshold, missing=missing, details=details)

    run.__name__, run.__doc__ = name, function.__doc__
    run.__signature__ = signature  # type: ignore[attr-defined]
    return run


def _signature(name: str, function: Function) -> inspect.Signature:
    """Return the signature of a metric: output, expected where the function takes it, then all options."""
    given = list(inspect.signature(function).parameters.values())
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    if not given or given[0].kind not in positional:
        raise ValueError(f'metric "{name}": the function must take the output as its first argument')
    sides = ["output"]
    if len(given) > 1 and given[1].kind in positional:
        sides += ["expected"] if given[1].name == "expected" or given[1].default is Parameter.empty else []
    least = getattr(function, "__evals_threshold__", THRESHOLD)
    common = {"threshold": (float, least), "missing": (Missing, "fail"), "details": (bool, False)}
    options = [one for one in given[len(sides) :] if one.name not in common]
    return inspect.Signature(
        [
            *(Parameter(side, Parameter.POSITIONAL_OR_KEYWORD) for side in sides),
            *(one.replace(kind=Parameter.KEYWORD_ONLY) for one in options if one.kind is not one.VAR_KEYWORD),
            *(
                Parameter(key, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
                for key, (annotation, default) in common.items()
            ),
            *(one for one in options if one.kind is one.VAR_KEYWORD),
        ]
    )


def _row_by_row(
    name: str, function: Function, sides: Sequence[IntoText], options: Mapping[str, Any]
) -> pl.Expr:
    """Call a function with the values of each row; not where one of them is missing."""

    def score(columns: Sequence[pl.Series]) -> pl.Series:
        length = max((len(column) for column in columns), default=0)
        values = [column.to_list() * (length if len(column) == 1 else 1) for column in columns]
        scores: list[float | None] = []
        for number, row in enumerate(zip(*values, strict=True)):
            if any(value is None for value in row):
                scores.append(None)
                continue
            try:
                result = function(*row, **options)
                scores.append(None if result is None else float(result))
            except Exception as error:
                shows = f"{shown(row[0])}: {type(error).__name__}: {error}"
                raise InvalidOperationError(f'metric "{name}": row {number}, {shows}') from error
        return pl.Series(scores, dtype=pl.Float64)

    named_sides = dict(zip(("output", "expected"), sides, strict=False))
    return elementwise(name, named_sides, score, pl.Float64())


def _shaped(
    name: str,
    result: pl.Expr,
    compared: Sequence[IntoText] = (),
    *,
    threshold: float,
    missing: Missing,
    details: bool,
) -> pl.Expr:
    """Bring a number, a Boolean, or a struct of score and label to the result that every metric has.

    Where the function gives no score, `missing` says what counts, by what is `compared`: output and expected.
    """
    kinds = result_fields({} if details else None)

    def shape(columns: Sequence[pl.Series]) -> pl.Series:
        column = columns[0]
        dtype = column.dtype
        given = None
        if isinstance(dtype, pl.Struct) and "score" in (fields := [field.name for field in dtype.fields]):
            given = column.struct.field("label") if "label" in fields else None
            column = column.struct.field("score")
            dtype = column.dtype
        if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
            raise InvalidOperationError(
                f'metric "{name}": the result must be a number, a Boolean, or a struct of score and label, '
                f"got {dtype}"
            )
        scores = column.cast(pl.Float64)
        wrong = scores.filter(~scores.is_between(0, 1) | scores.is_nan())
        if len(wrong):
            raise InvalidOperationError(f'metric "{name}": scores must be from 0 to 1, got {wrong[0]}')
        score = pl.lit(scores)
        if missing == "fail":
            score = score.fill_null(0.0)
        elif missing == "unlabelled" and len(columns) > 1:
            # Without an expected value there is nothing to be wrong about.
            output, *expected = (pl.lit(side) for side in columns[1:])
            absent = pl.all_horizontal(output.is_null(), *(side.is_not_null() for side in expected))
            score = pl.when(score.is_null() & absent).then(0.0).otherwise(score)
        passed = label(score, threshold)
        if given is not None:
            passed = pl.lit(given.cast(pl.String)).cast(LABEL).fill_null(passed)
        result = {key: pl.lit(None, kind) for key, kind in kinds.items()} | {"score": score, "label": passed}
        return pl.select(expr.alias(key) for key, expr in result.items()).to_struct()

    sides: dict[str, IntoText] = {"result": result}
    if missing == "unlabelled":
        sides |= zip(("output", "expected"), compared, strict=False)
    return elementwise(name, sides, shape, pl.Struct(kinds)).alias(name)


def guarded(metric: str, made: pl.Expr, schema: pl.Schema) -> pl.Expr:
    """Run an expression that a user's function made so that whatever fails in it names the metric.

    Polars' own errors, and those of functions inside the expression, say nothing of where it came from, and a
    lazy query fails long after the suite is done. So the expression runs inside one of ours.
    """
    columns = list(dict.fromkeys(made.meta.root_names()))
    kinds = pl.Schema({column: schema[column] for column in columns})
    with _named(metric):
        dtype = pl.LazyFrame(schema=kinds).select(made).collect_schema().dtypes()[0]
        whole = looks_across(made, kinds)

    def run(given: Sequence[pl.Series]) -> pl.Series:
        frame = pl.DataFrame([values.alias(name) for name, values in zip(columns, given, strict=True)])
        with _named(metric):
            return frame.with_columns(made.alias(MADE)).get_column(MADE)

    if not columns:
        return made
    return elementwise(metric, {name: pl.col(name) for name in columns}, run, dtype, whole=whole)


def looks_across(made: pl.Expr, kinds: pl.Schema) -> bool:
    """Whether a row's result depends on other rows: then Polars takes no slice of the rows before it.

    `meta.is_row_separable` is no answer: it does not know dtypes, and takes `x / x.max()` for separable.
    """
    plan = pl.LazyFrame(schema=kinds).with_columns(made.alias(MADE)).slice(1, 1).explain()
    return plan.lstrip().startswith("SLICE")


@contextmanager
def _named(metric: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        text = without_query(error_text(error))
        # What `shaped` says begins with the name of the function.
        text = text.partition(": ")[2] if text.startswith('metric "') else f"{type(error).__name__}: {text}"
        raise InvalidOperationError(f'metric "{metric}": {text}') from error


def column(
    output: IntoText,
    *,
    low: float = 0.0,
    high: float = 1.0,
    threshold: float = THRESHOLD,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Use a column of scores, such as a judge's or a person's.

    Parameters
    ----------
    output
        The column: numbers, or Booleans.
    low, high
        The values that score 0.0 and 1.0: 1 and 5 for ratings from one to five stars.
    threshold
        The lowest score that passes.
    missing
        What a missing value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append what all metrics append.
    """
    check_common("column", threshold=threshold, missing=missing, details=details)
    for key, value in {"low": low, "high": high}.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"column: `{key}` must be a number, got {shown(value)}")
    if low >= high:
        raise ValueError(f"column: `low` is {low}, not below the `high` of {high}")
    source = as_expr("column", "output", output)
    score = source if (low, high) == (0.0, 1.0) else (source - low) / (high - low)
    return _shaped("column", score, threshold=threshold, missing=missing, details=details)
