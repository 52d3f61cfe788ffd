"""Choose what to draw by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polars_evals.wording import did_you_mean, listed

if TYPE_CHECKING:
    from collections.abc import Iterable


def one_of(role: str, name: str | None, choices: Iterable[str]) -> str:
    """Return a name that is there, the first where none is asked for."""
    known = list(choices)
    if name is None:
        return known[0]
    if name not in known:
        there_are = listed([repr(one) for one in known], 20)
        raise ValueError(f"{role}: there is no {name!r}{did_you_mean(name, known)} (there are: {there_are})")
    return name
