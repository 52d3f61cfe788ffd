"""One metric of a suite: a metric function by name, with its options and columns."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any, get_args

import polars as pl

from polars_evals import metrics
from polars_evals.clean import cleaned_text, read_steps
from polars_evals.expressions.options import read_path
from polars_evals.metrics.words import VARIANTS
from polars_evals.suite.custom import column, find_function, installed, name_of, wrapped
from polars_evals.wording import did_you_mean, shown

# The type of a metric that takes a score which is there.
COLUMN_TYPE = "column"
SURROGATE = re.compile("[\ud800-\udfff]")
# What every metric of a suite takes beside its options.
COMMON_KEYS = ("name", "output", "clean", "clean_expected", "field")


@dataclass(frozen=True)
class MetricType:
    """What the signature of a metric function says: the only place where options and defaults are stated."""

    function: Callable[..., pl.Expr]
    options: Mapping[str, Parameter]
    has_expected: bool
    takes_any: bool = False

    @cached_property
    def by_column(self) -> dict[str, str]:
        """The options that may also come from a column, by the name of that choice: `pattern_column`."""
        return {
            f"{option}_column": option
            for option, parameter in self.options.items()
            if accepts(parameter.annotation, pl.Expr)
        }

    @cached_property
    def option_names(self) -> list[str]:
        """The options of a suite's metric of this type."""
        return [*self.options, *self.by_column]


@dataclass(frozen=True, init=False)
class Metric:
    """A metric of a suite.

    Parameters
    ----------
    type
        The metric: a function's name, such as `"levenshtein"`; a function of your own, or the name that
        `@pe.metric` or an installed package gave it; or `"column"`, to use an existing column of scores.
    name
        The name of its columns, `<name>_score` and `<name>_label`. The default is the metric's name.
    output, expected
        The columns to score. The default is the suite's. `expected` may be a literal: `pl.lit("Paris")`, or
        `{"literal": "Paris"}` as in a file.
    clean
        Steps that clean the output first: `["reasoning", "fence", {"after": "Answer:"}]`.
    clean_expected
        True applies the same steps to the expected text; a list applies other steps.
    field
        A JSON path, such as `"$.customer.name"`: the values there are scored, of the output and of the
        expected column, after cleaning.
    rows
        With a function of your own: it takes the values of one row, not expressions, and returns a number or
        a Boolean. This is a hundred times slower or worse: Python calls the function for each row, on one
        core. Rows with a missing value are not passed to it.
    **options
        The options of the metric function. With `details=True`, the breakdown is added as columns
        `<name>_<field>`. An option that can differ by row is read from a column with `<option>_column`:
        `pattern_column="pattern"`.

    Examples
    --------
    >>> pe.Metric("levenshtein", threshold=0.8)
    Metric("levenshtein", threshold=0.8)
    >>> pe.Metric("levenshtein", treshold=0.8)
    Traceback (most recent call last):
    ValueError: levenshtein: unknown option "treshold"; did you mean "threshold"?
    """

    type: str
    name: str | None
    output: str | None
    expected: str | None
    options: Mapping[str, Any]
    function: Callable[..., pl.Expr] | None
    literal: pl.Expr | None
    clean: Sequence[Any]
    clean_expected: bool | Sequence[Any]
    field: str | None
    rows: bool

    def __init__(
        self,
        type: str | Callable[..., Any],  # noqa: A002
        *,
        name: str | None = None,
        output: str | None = None,
        expected: str | pl.Expr | Mapping[str, Any] | None = None,
        clean: Any = None,
        clean_expected: Any = None,
        field: str | None = None,
        rows: bool = False,
        **options: Any,
    ) -> None:
        function = find_custom(type)
        type = name_of(function) if function is not None else str(type)  # noqa: A001
        if rows and function is None:
            raise ValueError(f"{type}: `rows` is for a function of your own; this metric takes columns")
        kind = metric_type(type) if function is None else custom_type(function, rows)
        is_column = type == COLUMN_TYPE and function is None
        if is_column and (output := options.pop("column", output)) is None:
            raise ValueError('column: the option "column" is missing')
        literal = read_literal(type, expected)
        expected = None if literal is not None else expected
        for key, value in {"name": name, "output": output, "expected": expected}.items():
            _check_name(type, key, value)
        if type == COLUMN_TYPE and name is not None and output in _overwritten(name, options):
            raise ValueError(
                f'column: the name "{name}" would overwrite the column "{output}"; choose another name'
            )
        if (expected is not None or literal is not None) and not kind.has_expected:
            raise ValueError(f'{type}: compares with no expected column; leave out "expected"')
        _check_options(type, kind, options)
        if not isinstance(clean_expected, bool | None):
            read_steps(f"{type}: clean_expected", clean_expected)
        read_steps(f"{type}: clean", clean or [])
        if field is not None:
            read_path(f"{type}: `field`", field)
            if is_column:
                raise ValueError("column: takes an existing score; leave out `field`")
        clean = _as_steps(clean)
        if not isinstance(clean_expected, bool):
            clean_expected = _as_steps(clean_expected)
        given = locals()
        for attribute in fields(self):
            object.__setattr__(self, attribute.name, given[attribute.name])
        self.expr()  # a wrong value is an error now, not when there are data

    def __repr__(self) -> str:
        given = {key: value for key, value in self.to_dict().items() if key != "type"}
        kind = f'"{self.type}"' if self.function is None else self.type
        return f"Metric({kind}{''.join(f', {key}={value!r}' for key, value in given.items())})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Metric):
            return NotImplemented
        return all(_same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    def __hash__(self) -> int:
        return hash((self.type, self.name, self.output, self.expected))

    def __getstate__(self) -> dict[str, Any]:
        # Without `settings`: the defaults are those of the function where the metric goes.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def kind(self) -> MetricType:
        """What the metric function takes."""
        return metric_type(self.type) if self.function is None else custom_type(self.function, self.rows)

    @property
    def details(self) -> bool:
        """Whether the breakdown is wanted too."""
        return bool(self.options.get("details", False))

    @property
    def threshold(self) -> float:
        """The lowest score that passes."""
        return float(self.settings["threshold"])

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """All options, the defaults included. One that is read from a column is the column's expression."""
        kind = self.kind
        given = {
            kind.by_column.get(key, key): pl.col(value) if key in kind.by_column else value
            for key, value in self.options.items()
        }
        defaults = {
            option: parameter.default
            for option, parameter in kind.options.items()
            if option in given or parameter.default is not parameter.empty
        }
        # In the order of the function; options that it takes without naming them come last.
        return MappingProxyType(defaults | given)

    @property
    def sides(self) -> dict[str, str]:
        """The columns that are compared; a literal is none."""
        output = {"output": self.output or "output"}
        if not self.kind.has_expected or self.literal is not None:
            return output
        return output | {"expected": self.expected or "expected"}

    @property
    def side_exprs(self) -> dict[str, pl.Expr]:
        """What is compared: columns, cleaned where that is asked for, or a literal."""
        sides = {side: pl.col(column) for side, column in self.sides.items()}
        if self.literal is not None:
            sides["expected"] = self.literal
        return {
            side: cleaned_text(expr, steps) if (steps := self.steps(side)) else expr
            for side, expr in sides.items()
        }

    def steps(self, side: str) -> Sequence[Any]:
        """Name the steps that clean a side, the field last; a literal has none."""
        field = () if self.field is None or side not in self.sides else ({"field": self.field},)
        if side == "output" or self.clean_expected is True:
            return (*self.clean, *field)
        return field if self.clean_expected is False else (*self.clean_expected, *field)

    @property
    def default_name(self) -> str:
        """What its columns are called where no name is given: the metric, and the field."""
        name = self.expr().meta.output_name()
        if self.field is None:
            return name
        path = [str(step) for step in read_path(self.type, self.field) if step is not None]
        return "_".join([name, *path])

    @property
    def columns(self) -> list[str]:
        """All columns that the metric reads; an option can be an expression of further ones."""
        # The oldest Polars calls the elements of lists a column without a name.
        read = [name for name in self.expr().meta.root_names() if name]
        return list(dict.fromkeys([*self.sides.values(), *read]))

    def expr(self, **replaced: Any) -> pl.Expr:
        """Make the metric's expression, with other columns or options in the place of its own if need be."""
        try:
            return self.kind.function(**({**self.side_exprs, **self.settings, **replaced}))
        except ValueError as error:
            # What a function of the user's says names the metric as the user does.
            start = f'metric "{self.type}": '
            if self.function is None or self.name is None or not str(error).startswith(start):
                raise
            raise ValueError(f'metric "{self.name}": {str(error).removeprefix(start)}') from error.__cause__

    def bind(
        self,
        *,
        name: str,
        output: str,
        expected: str | pl.Expr,
        clean: Any = None,
        clean_expected: Any = None,
    ) -> "Metric":
        """Fill in what is not given."""
        given: dict[str, Any] = {"name": name, "output": self.output or output}
        if self.kind.has_expected:
            given["expected"] = self.literal if self.literal is not None else self.expected or expected
        if self.type != COLUMN_TYPE:
            given["clean"] = self.clean or clean
            given["clean_expected"] = self.clean_expected or clean_expected
            given["field"] = self.field
        return self.over(given)

    def over(self, given: Mapping[str, Any]) -> "Metric":
        """Make the same metric over other columns, as they are."""
        kept = {"name": self.name, "rows": self.rows}
        return Metric(self.function or self.type, **{**kept, **given, **self.options})

    def to_dict(self) -> dict[str, Any]:
        """Return the metric as an entry of a suite file."""
        expected: Any = self.expected
        if self.literal is not None:
            value = pl.select(self.literal).to_series()[0]
            expected = {"literal": value.to_list() if isinstance(value, pl.Series) else value}
        output = "column" if self.type == COLUMN_TYPE else "output"
        entry = {"name": self.name, "type": self.type, output: self.output, "expected": expected}
        entry |= {"clean": list(self.clean) or None}
        if self.clean_expected:
            entry["clean_expected"] = True if self.clean_expected is True else list(self.clean_expected)
        entry |= {"field": self.field, "rows": self.rows or None}
        return {key: value for key, value in entry.items() if value is not None} | dict(self.options)


def _overwritten(name: str, options: Mapping[str, Any]) -> list[str]:
    """Name the columns that a metric of type `column` must not read: it would replace their values."""
    # Scores that are taken as they are stay what they are.
    stays = options.get("missing") == "null" and not {"low", "high"} & set(options)
    return [f"{name}_label"] if stays else [f"{name}_score", f"{name}_label"]


def metric_names() -> list[str]:
    """Name the metrics that have a place in a suite: those with a score and a label."""
    names = sorted(metrics.__all__)
    return [*(n for n in names if "threshold" in signature(getattr(metrics, n)).parameters), COLUMN_TYPE]


@cache
def metric_type(name: str) -> MetricType:
    """Look up a metric."""
    known = metric_names()
    if name not in known:
        if name in metrics.__all__:
            near = name.rpartition("_")[0]
            way_out = (
                f', such as "{near}", whose details=True gives the distance too' if near in known else ""
            )
            raise ValueError(f'"{name}" gives no score and label; a suite takes metrics that do{way_out}')
        if name in VARIANTS:
            raise ValueError(f'unknown metric "{name}"; "{name}" is type "rouge" with variant = "{name}"')
        known += installed()
        hint = did_you_mean(name, known) or f"; use one of {', '.join(known)}"
        raise ValueError(f'unknown metric "{name}"{hint}')
    return _type_of(column if name == COLUMN_TYPE else getattr(metrics, name))


@cache
def custom_type(function: Callable[..., Any], rows: bool = False) -> MetricType:
    """Look at a metric of one's own."""
    return _type_of(wrapped(function, rows=rows))


def _type_of(function: Callable[..., pl.Expr]) -> MetricType:
    given = signature(function, eval_str=not hasattr(function, "__signature__"))
    _, *parameters = given.parameters.values()
    named = {one.name: one for one in parameters if one.kind is not one.VAR_KEYWORD}
    options = {name: one for name, one in named.items() if name != "expected"}
    return MetricType(function, options, "expected" in named, len(named) < len(parameters))


def find_custom(kind: object) -> Callable[..., pl.Expr] | None:
    """Find the function of a metric that is none of ours."""
    if isinstance(kind, str):
        return None if kind in metric_names() or kind in metrics.__all__ else find_function(kind)
    if callable(kind):
        ours = getattr(metrics, getattr(kind, "__name__", ""), None)
        if ours is kind:
            raise ValueError(f'give the name of the metric: pe.Metric("{getattr(kind, "__name__", "")}")')
        return kind
    raise TypeError(f"a metric is a name or a function, got {shown(kind)}")


def read_literal(metric: str, expected: object) -> pl.Expr | None:
    """Take `pl.lit(…)` or `{"literal": …}`; anything else is no literal."""
    if isinstance(expected, Mapping):
        if set(expected) != {"literal"}:
            raise ValueError(
                f'{metric}: `expected` must be a name or {{literal = "…"}}, got {shown(dict(expected))}'
            )
        value = expected["literal"]
        return pl.lit(pl.Series([value])).first() if isinstance(value, list) else pl.lit(value)
    if isinstance(expected, pl.Expr):
        if expected.meta.root_names():
            raise ValueError(f"{metric}: `expected` must be the name of a column, or pl.lit(...)")
        return expected
    return None


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal; `==` of expressions makes another expression."""
    if isinstance(one, pl.Expr) and isinstance(other, pl.Expr):
        return one.meta.eq(other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return not isinstance(one, pl.Expr) and not isinstance(other, pl.Expr) and bool(one == other)


def _as_steps(steps: Any) -> tuple[Any, ...]:
    return () if not steps else (steps,) if isinstance(steps, str | Mapping) else tuple(steps)


def _check_name(metric: str, key: str, value: object) -> None:
    if value is not None and (not is_text(value) or not value):
        way_out = "" if isinstance(value, str) else "; put it in quotes"
        raise ValueError(f"{metric}: `{key}` must be a name, got {shown(value)}{way_out}")


def is_text(value: object) -> bool:
    """Whether a value is a text that UTF-8 can write: Python's texts may hold halves of surrogate pairs."""
    return isinstance(value, str) and not SURROGATE.search(value)


def _check_options(metric: str, kind: MetricType, options: Mapping[str, Any]) -> None:
    for option in options:
        if option not in kind.option_names and not kind.takes_any:
            known = [*kind.option_names, *COMMON_KEYS, *(["expected"] if kind.has_expected else [])]
            hint = did_you_mean(option, known) or f"; {metric} takes {', '.join(kind.option_names)}"
            raise ValueError(f'{metric}: unknown option "{option}"{hint}')
    for key, option in kind.by_column.items():
        _check_name(metric, key, options.get(key))
        if key in options and option in options:
            raise ValueError(f'{metric}: both "{option}" and "{key}" are given; give one')
    for option, parameter in kind.options.items():
        column = f"{option}_column"
        if parameter.default is parameter.empty and option not in options and column not in options:
            or_column = f' (or "{column}")' if column in kind.by_column else ""
            raise ValueError(f'{metric}: the option "{option}"{or_column} is missing')


def accepts(annotation: Any, kind: object) -> bool:
    """Whether a type is in an annotation."""
    return annotation is kind or kind in get_args(annotation)
