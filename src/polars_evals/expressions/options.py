"""Checks of options, made when an expression is built: a bad option never waits for data."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from re import compile as pattern
from sys import float_info
from types import UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import polars as pl

from polars_evals.wording import did_you_mean, shown

# What the kernels can count.
LARGEST_WHOLE = 2**31 - 1


@dataclass(frozen=True)
class Range:
    """The numbers that an option takes, both ends included."""

    least: float
    most: float


IntoText: TypeAlias = pl.Expr | pl.Series | str
Missing: TypeAlias = Literal["fail", "null", "unlabelled"]
Fraction: TypeAlias = Annotated[float, Range(0, 1)]
Amount: TypeAlias = Annotated[float, Range(0, float_info.max)]
Natural: TypeAlias = Annotated[int, Range(0, LARGEST_WHOLE)]
Positive: TypeAlias = Annotated[int, Range(1, LARGEST_WHOLE)]
NgramOrder: TypeAlias = Annotated[int, Range(1, 100)]


@dataclass(frozen=True)
class Rule:
    """What an annotation asks of a value."""

    kind: type
    optional: bool
    range: Range | None = None
    choices: tuple[str, ...] = ()

    def check(self, metric: str, option: str, value: object) -> None:
        """Refuse a value with a sentence that names metric, option and what would do."""
        if self.optional and value is None:
            return
        wanted = self.wanted(value)
        if wanted is not None:
            none = " or None" if self.optional else ""
            near = did_you_mean(value, self.choices) if self.choices else ""
            raise ValueError(f"{metric}: `{option}` must be {wanted}{none}, got {shown(value)}{near}")

    def wanted(self, value: object) -> str | None:
        """Say what would do, unless the value does."""
        if self.choices:
            fits = isinstance(value, str) and value in self.choices
            return None if fits else "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        if self.range is None:
            return None if isinstance(value, bool) else "True or False"
        least, most = self.range.least, self.range.most
        kinds = int if self.kind is int else int | float
        if isinstance(value, kinds) and not isinstance(value, bool) and least <= value <= most:
            return None
        return (
            f"a whole number from {least} to {most}"
            if self.kind is int
            else f"a number from {least:g} to {most:g}"
        )


def check_options(function: Callable[..., pl.Expr], options: Mapping[str, Any]) -> None:
    """Check the options of a metric by its signature: ranges, choices, True or False."""
    for option, rule in _rules(function).items():
        if option in options:
            rule.check(function.__name__, option, options[option])


def check_common(metric: str, *, threshold: object, missing: object, details: object) -> None:
    """Check the options that every metric has."""
    for option, value in {"threshold": threshold, "missing": missing, "details": details}.items():
        COMMON[option].check(metric, option, value)


@cache
def _rules(function: Callable[..., pl.Expr]) -> dict[str, Rule]:
    """Read what a signature asks of options."""
    hints = get_type_hints(function, include_extras=True)
    found = {option: read_rule(hint) for option, hint in hints.items() if option != "return"}
    return {option: rule for option, rule in found.items() if rule is not None}


def read_rule(hint: Any) -> Rule | None:
    """Read an annotation; None where it asks nothing that can be checked here."""
    optional = get_origin(hint) in (Union, UnionType) and type(None) in get_args(hint)
    if optional:
        kinds = [kind for kind in get_args(hint) if kind is not type(None)]
        if len(kinds) > 1:
            return None
        hint = kinds[0]
    if hint is bool:
        return Rule(bool, optional)
    if get_origin(hint) is Literal:
        return Rule(str, optional, choices=get_args(hint))
    if get_origin(hint) is Annotated:
        kind, *notes = get_args(hint)
        ranges = [note for note in notes if isinstance(note, Range)]
        return Rule(kind, optional, ranges[0]) if ranges else None
    return None


COMMON = {
    "threshold": Rule(float, optional=False, range=Range(0, 1)),
    "missing": Rule(str, optional=False, choices=get_args(Missing)),
    "details": Rule(bool, optional=False),
}


def check_pattern(metric: str, pattern: str, flag: str = "") -> None:
    """Refuse a pattern that Polars cannot compile."""
    error = _pattern_error(flag + pattern)
    if error is not None:
        raise ValueError(f"{metric}: {pattern!r} is not a valid pattern: {error}")


@lru_cache
def _pattern_error(pattern: str) -> str | None:
    # Kept, because asking Polars takes several times as long as building the expression.
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError as error:
        return str(error)
    return None


def check_choices(name: str, choices: object, *, most: int = 100) -> list[str]:
    """Accept a text of letters, or a list of words."""
    words = list(choices) if isinstance(choices, Collection) else []
    if not words or not all(isinstance(word, str) and word.isalnum() for word in words):
        raise ValueError(f"{name}: `choices` must be letters or a list of words, got {shown(choices)}")
    if len(words) > most:
        raise ValueError(f"{name}: `choices` may be {most}, got {len(words)}")
    if len({word.lower() for word in words}) < len(words):
        raise ValueError(f"{name}: `choices` has a choice twice, {shown(choices)}")
    return words


# The steps of a JSON path: .key, [0], ["key"], and .* or [*] for any.
_STEP = pattern(
    r"""\.(?P<key>[^.\[\]*]+)|\[(?P<index>-?\d+)\]|\[(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\]"""
    r"""|(?P<any>\.\*|\[\*\])"""
)


def read_path(where: str, path: object) -> list[str | int | None]:
    """Read a JSON path; None stands for any step."""
    if not isinstance(path, str) or not path.startswith("$"):
        raise ValueError(f'{where} takes a JSON path such as "$.items[0].name", got {shown(path)}')
    steps: list[str | int | None] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise ValueError(f'{where}: "{path}" is not a JSON path: cannot read "{path[at:]}"')
        at = found.end()
        if found["any"]:
            steps.append(None)
        elif found["index"] is not None:
            steps.append(int(found["index"]))
        else:
            steps.append(found["key"] if found["key"] is not None else found["quoted"])
    return steps
