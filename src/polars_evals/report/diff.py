"""Mark the characters in which two texts differ."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple

from rapidfuzz.distance import Indel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Kind = Literal["same", "added", "missing"]

# A character as it is read: with the marks, joiners and selectors that follow it.
_CHARACTER = re.compile(
    "(?s:.)(?:[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u093c\u094d\u0e31"
    "\u0e34-\u0e3a\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\U0001f3fb-\U0001f3ff"
    "\U000e0100-\U000e01ef]|\u200d(?s:.))*"
)


@dataclass(frozen=True)
class Piece:
    """A run of characters that both texts have, that only the text has, or that only the other has."""

    kind: Kind
    text: str


def diff(text: str, other: str) -> list[Piece]:
    """
    Return the text in pieces, with what it adds to the other text and what it misses of it.

    Notes
    -----
    The pieces that are not ``missing`` make up the text, those that are not ``added`` the other. A few equal
    characters between longer differences are counted to the differences: a word that was replaced reads as
    one word replaced, not as letters that happen to be in both.

    Examples
    --------
    >>> from polars_evals.report.diff import diff
    >>> [(piece.kind, piece.text) for piece in diff("Paris, France", "Paris, Texas")]
    [('same', 'Paris, '), ('missing', 'Texas'), ('added', 'France')]
    """
    characters, others = _CHARACTER.findall(text), _CHARACTER.findall(other)
    pieces: list[Piece] = []
    for run in _absorb(_runs(characters, others)):
        missing, added = "".join(others[run.i : run.j]), "".join(characters[run.k : run.m])
        if run.same:
            pieces.append(Piece("same", added))
        else:
            pieces += [Piece("missing", missing)] * bool(missing) + [Piece("added", added)] * bool(added)
    return pieces


class _Run(NamedTuple):
    """Characters i to j of the other text stand where k to m of the text do, and may be the same."""

    same: bool
    i: int
    j: int
    k: int
    m: int

    @property
    def length(self) -> int:
        return max(self.j - self.i, self.m - self.k)


def _runs(text: list[str], other: list[str]) -> Iterator[_Run]:
    """Return equal and different runs in turn."""
    for same, codes in groupby(Indel.opcodes(other, text), lambda code: code.tag == "equal"):
        run = list(codes)
        yield _Run(same, run[0].src_start, run[-1].src_end, run[0].dest_start, run[-1].dest_end)


def _absorb(runs: Iterable[_Run]) -> list[_Run]:
    """Give an equal run to the differences on both sides where those outweigh it, until none does."""
    kept: list[_Run] = []
    for run in runs:
        kept.append(run)
        while len(kept) >= 3 and not run.same and _outweighed(kept[-2], kept[-3], kept[-1]):
            before, after = kept[-3], kept[-1]
            kept[-3:] = [_Run(False, before.i, after.j, before.k, after.m)]
    return kept


def _outweighed(equal: _Run, before: _Run, after: _Run) -> bool:
    least = min(before.length, after.length)
    return equal.length <= min(least - 1, max(2, least // 2))
