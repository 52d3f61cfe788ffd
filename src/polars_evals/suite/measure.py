"""Measures: numbers that are no scores, such as latency and cost, and which way is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import inf, isfinite
from typing import Any

from polars_evals.wording import did_you_mean, listed, shown

# What a trace says of an answer, and what is known of each: which way is better, and its unit.
KNOWN: dict[str, dict[str, Any]] = {
    "latency_ms": {"lower_is_better": True, "unit": "ms", "bounds": (0.0, inf)},
    "cost": {"lower_is_better": True, "unit": "$", "bounds": (0.0, inf)},
    "input_tokens": {"lower_is_better": True, "unit": "tokens", "bounds": (0.0, inf)},
    "output_tokens": {"lower_is_better": True, "unit": "tokens", "bounds": (0.0, inf)},
}
# All of the above that a table has.
AUTO = "auto"
# The quantiles that are made where none are named.
USUAL = (0.5, 0.95)
# The part of the baseline's mean, or quantile, that matters where no `min_effect` is named.
EFFECT_SHARE = 0.05
# What more and less of a unit is called.
MORE = {
    **dict.fromkeys(("ns", "us", "µs", "ms", "s", "min", "h"), ("slower", "faster")),
    **dict.fromkeys(("$", "€", "£", "USD", "EUR"), ("more expensive", "cheaper")),
    "tokens": ("more", "fewer"),
}


@dataclass(frozen=True)
class Measure:
    """
    A column of numbers that versions are compared by, beside their scores.

    Parameters
    ----------
    name
        The column. For `latency_ms`, `cost`, `input_tokens` and `output_tokens` (the names of `scan_traces`)
        the other options have defaults.
    lower_is_better
        Whether lower values are better.
    unit
        The unit to show after the numbers, as in `812 ms`. `$` is shown before them.
    quantiles
        Quantiles to compare beside the mean; None for the median and the 95th percentile, `[]` for none.
    min_effect
        The smallest difference that matters; None for 5% of the baseline's mean.
    margin
        The largest loss that still counts as `not_worse`.
    bounds
        The smallest and the largest possible value; None for no bound.

    Examples
    --------
    >>> import polars_evals as pe
    >>> pe.Measure("latency_ms", min_effect=50).lower_is_better
    True
    >>> pe.Measure("stars", lower_is_better=False, bounds=[1, 5]).bounds
    (1.0, 5.0)
    """

    name: str
    lower_is_better: bool | None = None
    unit: str | None = None
    quantiles: Sequence[float] | None = None
    min_effect: float | None = None
    margin: float | None = None
    bounds: Sequence[float | None] | None = None
    # A share of items: 0 or 1 for each, shown in points and not as a part of the baseline's.
    share: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"a measure is the name of a column, got {type(self.name).__name__}")
        for key, value in KNOWN.get(self.name, {}).items():
            if getattr(self, key) is None:
                object.__setattr__(self, key, value)
        self._insist(
            "lower_is_better",
            "true or false, because the better direction of this column is not known",
            isinstance(self.lower_is_better, bool),
        )
        self._insist("unit", "a text, such as 'ms'", self.unit is None or isinstance(self.unit, str))
        effect, margin = self.min_effect, self.margin
        self._insist(
            "min_effect", "a number, at least 0", effect is None or (_number(effect) and effect >= 0)
        )
        self._insist("margin", "a number, above 0", margin is None or (_number(margin) and margin > 0))
        if self.quantiles is not None:
            several = isinstance(self.quantiles, Sequence) and not isinstance(self.quantiles, str)
            fits = several and all(_number(q) and 0 < q < 1 for q in self.quantiles)
            self._insist("quantiles", "a list of numbers between 0 and 1, such as [0.5, 0.95]", fits)
            object.__setattr__(self, "quantiles", tuple(sorted({float(q) for q in self.quantiles})))
        if self.bounds is not None:
            object.__setattr__(self, "bounds", self._bounds(self.bounds))

    def _bounds(self, bounds: Sequence[float | None]) -> tuple[float, float]:
        what = "the least and the greatest possible value, such as [0, None]"
        fits = isinstance(bounds, Sequence) and not isinstance(bounds, str) and len(bounds) == 2
        self._insist("bounds", what, fits and all(isinstance(end, int | float | None) for end in bounds))
        low, high = bounds
        ends = float(-inf if low is None else low), float(inf if high is None else high)
        # Neither is so of NaN.
        self._insist("bounds", what, ends[0] < ends[1])
        return ends

    def _insist(self, key: str, what: str, fits: bool) -> None:
        if not fits:
            raise ValueError(f"measure {self.name!r}: {key} must be {what}, got {shown(getattr(self, key))}")

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest possible value."""
        low, high = self.bounds or (None, None)
        return -inf if low is None else low, inf if high is None else high

    @property
    def sign(self) -> int:
        """What to multiply a difference with, for a gain to be above 0."""
        return -1 if self.lower_is_better else 1

    @property
    def plain(self) -> dict[str, Any]:
        """The measure as JSON has it, without what is left open."""
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("name", "share")}
        if self.bounds is not None:
            found["bounds"] = [end if isfinite(end) else None for end in self.limits]
        if self.quantiles is not None:
            found["quantiles"] = list(self.quantiles)
        return {key: value for key, value in found.items() if value is not None}

    def amount(self, value: float, *, signed: bool = False) -> str:
        """Return a number of this measure as it is written: `812 ms`, `+$0.0123`."""
        digits = _significant(abs(value))
        sign = "-" if value < 0 else "+" if signed else ""
        if self.unit is None:
            return f"{sign}{digits}"
        return f"{sign}{self.unit}{digits}" if self.unit in ("$", "€", "£") else f"{sign}{digits} {self.unit}"

    def way(self, change: float) -> str:
        """Return what a change is called: `slower`, `cheaper`, `higher`."""
        more, less = MORE.get(self.unit or "", ("higher", "lower"))
        return more if change > 0 else less


class Measures(dict[str, Measure]):
    """Measures by name, as a specification holds them: they are never changed, so that they can be hashed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def _significant(value: float) -> str:
    """Return a number with three digits that count."""
    if value == 0 or not isfinite(value):
        return f"{value:g}"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 1e-4 else f"{value:.2e}"


def measures_of(
    given: Any, there: Mapping[str, Any] | None = None, *, own: Mapping[str, Measure] | None = None
) -> Measures:
    """
    Return measures by name, of names, measures, or a mapping of names and options.

    Parameters
    ----------
    given
        What a user wrote: one or several names or measures, `{"latency_ms": {"min_effect": 50}}`, or
        `"auto"`.
    there
        The columns of a table, for `"auto"`.
    own
        Measures that may be named because a suite has them.
    """
    own = own or {}
    if given is None:
        return Measures()
    if isinstance(given, str) and given == AUTO:
        return Measures((name, Measure(name)) for name in KNOWN if name in (there or ()))
    if isinstance(given, Mapping):
        found = [_of_options(name, options) for name, options in given.items()]
    else:
        several = [given] if isinstance(given, str | Measure) else list(given)
        found = [
            one if isinstance(one, Measure) else own[one] if one in own else _of_name(one) for one in several
        ]
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise ValueError(f"measures must name each column once, got {names!r}")
    return Measures((one.name, one) for one in found)


def _of_name(name: Any) -> Measure:
    if not isinstance(name, str):
        raise TypeError(f"measures takes names of columns, got {shown(name)}")
    if name not in KNOWN:
        raise ValueError(
            f"measures: the better direction is known of {listed(list(KNOWN))}, not of {name!r}"
            f'{did_you_mean(name, KNOWN)}; set it: measures={{"{name}": {{"lower_is_better": True}}}}'
            f" (command: --measure {name}:lower)"
        )
    return Measure(name)


def _of_options(name: Any, options: Any) -> Measure:
    if isinstance(options, Measure):
        return replace(options, name=name)
    options = {} if options is None else options
    if not isinstance(options, Mapping):
        raise TypeError(
            f"measure {name!r}: takes options, such as {{'lower_is_better': True}}, got {shown(options)}"
        )
    known = [field.name for field in fields(Measure) if field.name not in ("name", "share")]
    for key in options:
        if key not in known:
            hint = did_you_mean(key, known) or f"; it knows {', '.join(known)}"
            raise ValueError(f"measure {name!r}: unknown option {key!r}{hint}")
    if name not in KNOWN and options.get("lower_is_better") is None:
        return _of_name(name)
    return Measure(name, **options)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
