"""One metric of a suite: a metric function by name, with its options and columns."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

import polars as pl

from polars_evals import metrics
from polars_evals.metrics.overlap import VARIANTS
from polars_evals.options import did_you_mean, shown


@dataclass(frozen=True)
class MetricType:
    """What the signature of a metric function says: the only place where options and defaults are stated."""

    function: Callable[..., pl.Expr]
    options: Mapping[str, inspect.Parameter]
    has_expected: bool

    @property
    def by_column(self) -> dict[str, str]:
        """The options that may also come from a column, by the name of that choice: `pattern_column`."""
        return {
            f"{option}_column": option
            for option, parameter in self.options.items()
            if accepts(parameter.annotation, pl.Expr)
        }

    @property
    def option_names(self) -> list[str]:
        """The options of a suite's metric of this type."""
        return [*self.options, *self.by_column]


@dataclass(frozen=True, init=False)
class Metric:
    """A metric of a suite.

    Parameters
    ----------
    type
        The metric: a function's name, such as `"levenshtein"`.
    name
        What its columns are called: `<name>_score` and `<name>_label`. The metric's own name if not given.
    output, expected
        The columns to score, where they are not the suite's.
    **options
        The options of the metric function. With `details=True` the breakdown comes as further columns,
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

    def __init__(
        self,
        type: str,  # noqa: A002
        *,
        name: str | None = None,
        output: str | None = None,
        expected: str | None = None,
        **options: Any,
    ) -> None:
        kind = metric_type(type)
        for key, value in {"name": name, "output": output, "expected": expected}.items():
            check_name(type, key, value)
        if expected is not None and not kind.has_expected:
            raise ValueError(f'{type}: compares with no expected column; leave out "expected"')
        check_options(type, kind, options)
        fields = {"type": type, "name": name, "output": output, "expected": expected, "options": options}
        for field, content in fields.items():
            object.__setattr__(self, field, content)
        self.expr()  # a wrong value is an error now, not when there are data

    def __repr__(self) -> str:
        given = {"name": self.name, "output": self.output, "expected": self.expected}
        given = {key: value for key, value in given.items() if value is not None} | dict(self.options)
        return f'Metric("{self.type}"{"".join(f", {key}={value!r}" for key, value in given.items())})'

    @property
    def kind(self) -> MetricType:
        """What the metric function takes."""
        return metric_type(self.type)

    @property
    def details(self) -> bool:
        """Whether the breakdown is wanted too."""
        return bool(self.options.get("details", False))

    @property
    def threshold(self) -> float:
        """The least score that passes."""
        return float(self.settings["threshold"])

    @property
    def settings(self) -> dict[str, Any]:
        """All options, the defaults included. One that is read from a column is the column's expression."""
        named = {
            option: pl.col(self.options[key])
            for key, option in self.kind.by_column.items()
            if key in self.options
        }
        given = {key: value for key, value in self.options.items() if key in self.kind.options} | named
        return {
            option: given.get(option, parameter.default)
            for option, parameter in self.kind.options.items()
            if option in given or parameter.default is not parameter.empty
        }

    @property
    def sides(self) -> dict[str, str]:
        """The columns that are compared."""
        output = {"output": self.output or "output"}
        return output | {"expected": self.expected or "expected"} if self.kind.has_expected else output

    @property
    def columns(self) -> list[str]:
        """All columns that the metric reads; an option can be an expression of further ones."""
        return list(dict.fromkeys([*self.sides.values(), *self.expr().meta.root_names()]))

    def expr(self, **replaced: Any) -> pl.Expr:
        """Make the metric's expression, with other columns or options in the place of its own if need be."""
        sides = {side: pl.col(column) for side, column in self.sides.items()}
        return self.kind.function(**(sides | self.settings | replaced))

    def bind(self, *, name: str, output: str, expected: str) -> "Metric":
        """Fill in what is not given."""
        columns = {"output": self.output or output}
        if self.kind.has_expected:
            columns["expected"] = self.expected or expected
        return Metric(self.type, name=name, **columns, **self.options)

    def to_dict(self) -> dict[str, Any]:
        """Return the metric as an entry of a suite file."""
        entry = {"name": self.name, "type": self.type, "output": self.output, "expected": self.expected}
        return {key: value for key, value in entry.items() if value is not None} | dict(self.options)


def metric_names() -> list[str]:
    """Name the metrics that have a place in a suite: those with a score and a label."""
    return [
        name
        for name in metrics.__all__
        if "threshold" in inspect.signature(getattr(metrics, name)).parameters
    ]


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
        hint = did_you_mean(name, known) or f"; there are {', '.join(known)}"
        raise ValueError(f'unknown metric "{name}"{hint}')
    function = getattr(metrics, name)
    _, *parameters = inspect.signature(function, eval_str=True).parameters.values()
    options = {parameter.name: parameter for parameter in parameters if parameter.name != "expected"}
    return MetricType(function, options, has_expected=len(options) < len(parameters))


def check_name(metric: str, key: str, value: object) -> None:
    """Accept a text that can name a column, or None."""
    if value is not None and (not is_text(value) or not value):
        way_out = "" if isinstance(value, str) else "; put it in quotes"
        raise ValueError(f"{metric}: `{key}` must be a name, got {shown(value)}{way_out}")


def is_text(value: object) -> bool:
    """Whether a value is a text that UTF-8 can write: Python's texts may hold halves of surrogate pairs."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_options(metric: str, kind: MetricType, options: Mapping[str, Any]) -> None:
    """Refuse unknown options and those that are missing."""
    for option in options:
        if option not in kind.option_names:
            known = [*kind.option_names, "name", "output", *(["expected"] if kind.has_expected else [])]
            hint = did_you_mean(option, known) or f"; {metric} takes {', '.join(kind.option_names)}"
            raise ValueError(f'{metric}: unknown option "{option}"{hint}')
    for key, option in kind.by_column.items():
        check_name(metric, key, options.get(key))
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
