"""Checks of options, made when an expression is built: a bad option never waits for data."""

from collections.abc import Collection
from sys import float_info

from polars_evals.wording import did_you_mean, shown

# What the kernels can count.
LARGEST_WHOLE = 2**31 - 1


def check_common(metric: str, *, threshold: object, missing: object, details: object) -> None:
    """Check the options that every metric has."""
    check_fraction(metric, "threshold", threshold)
    check_choice(metric, "missing", missing, ("fail", "null"))
    check_flags(metric, details=details)


def check_fraction(metric: str, option: str, value: object) -> None:
    """Accept a number in [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{metric}: `{option}` must be a number from 0 to 1, got {shown(value)}")


def check_amount(
    metric: str, option: str, value: object, *, least: float = 0, most: float = float_info.max
) -> None:
    """Accept a finite number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValueError(
            f"{metric}: `{option}` must be a number from {least:g} to {most:g}, got {shown(value)}"
        )


def check_flags(metric: str, **flags: object) -> None:
    """Accept True or False."""
    for option, value in flags.items():
        if not isinstance(value, bool):
            raise ValueError(f"{metric}: `{option}` must be True or False, got {shown(value)}")


def check_choice(metric: str, option: str, value: object, choices: Collection[str]) -> None:
    """Accept one of the choices, to the letter."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(f'"{choice}"' for choice in choices)
        raise ValueError(
            f"{metric}: `{option}` must be one of {listed}, got {shown(value)}{did_you_mean(value, choices)}"
        )


def check_whole(
    metric: str,
    option: str,
    value: object,
    *,
    least: int,
    most: int = LARGEST_WHOLE,
    optional: bool = False,
) -> None:
    """Accept a whole number from `least` to `most`, or None if `optional`."""
    if optional and value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        none = " or None" if optional else ""
        raise ValueError(
            f"{metric}: `{option}` must be a whole number from {least} to {most}{none}, got {shown(value)}"
        )
