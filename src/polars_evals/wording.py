"""Words for people: any value safe to show and of bounded length, lists cut short, the nearest right word."""

from __future__ import annotations

import json
import re
from datetime import date
from difflib import get_close_matches
from itertools import islice
from reprlib import Repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

# What moves a terminal's cursor or turns its direction of text, as the inside of a regex's brackets.
_INVISIBLE = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# With what XML 1.0 forbids, and lone surrogates.
_UNSAFE = re.compile(f"[{_INVISIBLE}\ud800-\udfff\ufffe\uffff]")
_HIDDEN = re.compile(f"[{_INVISIBLE}]")
_SPACE = re.compile(r"\s+")
_QUERY = re.compile(r"\n\n(?:Resolved plan until failure|This error occurred)")
JSON_TEXT = 10_000
# Characters to show before a difference.
LEAD = 15

# A value in an error message is there to be recognized; a whole file in a message hides the message.
SHORT = Repr()
SHORT.maxlevel = 3
SHORT.maxstring = SHORT.maxother = 120


def did_you_mean(word: object, known: Collection[str]) -> str:
    """Name the nearest known word, for the end of an error message.

    Examples
    --------
    >>> did_you_mean("levenstein", ["rouge", "levenshtein"])
    '; did you mean "levenshtein"?'
    >>> did_you_mean("bleu", ["rouge", "levenshtein"])
    ''
    >>> did_you_mean("rouge,levenshtein", ["rouge", "levenshtein"])
    '; these are 2 names: give each by itself, repeating the option, or as a list'
    """
    parts = [part.strip() for part in str(word).split(",")]
    if len(parts) > 1 and all(part in known for part in parts):
        return f"; these are {len(parts)} names: give each by itself, repeating the option, or as a list"
    near = get_close_matches(str(word), known, n=1)
    return f'; did you mean "{near[0]}"?' if near else ""


def shown(value: object) -> str:
    """Write a value for an error message, shortened if it is long."""
    return SHORT.repr(value)


def without_query(message: str) -> str:
    """Leave out what Polars appends to an error: the expression and the plan, which help nobody here."""
    return _QUERY.split(message, maxsplit=1)[0].strip()


def listed(things: Collection[object], limit: int = 5) -> str:
    """Name the first things, and how many more there are.

    Examples
    --------
    >>> listed("abcdefg", 3)
    'a, b, c and 4 more'
    """
    more = len(things) - limit
    return ", ".join(map(str, islice(things, limit))) + (f" and {more:,} more" if more > 0 else "")


def spoken(things: Sequence[str]) -> str:
    """Join things as one says them.

    Examples
    --------
    >>> spoken(["rouge", "bleu", "chrf"])
    'rouge, bleu and chrf'
    """
    return " and ".join(filter(None, (", ".join(things[:-1]), *things[-1:])))


def clean(text: str, limit: int | None = None) -> str:
    """Replace what no document can hold with U+FFFD, and cut after `limit` characters, saying so."""
    if limit is not None and len(text) > limit:
        text = f"{text[:limit]}… (+{len(text) - limit:,} characters)"
    return _UNSAFE.sub("\ufffd", text)


def reveal(text: str) -> str:
    """Show what cannot be seen and yet acts on the text around it, as `⟨U+202E⟩` or `␍`."""
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text).replace("\r", "␍")


def line(text: str, limit: int = 400) -> str:
    """Return a text as one line of at most `limit` characters."""
    # Cut before the white space is collapsed: a megabyte must not be worked through for a few characters.
    short = _SPACE.sub(" ", text[: 4 * limit]).strip()
    if len(short) > limit or len(text) > 4 * limit:
        short = f"{short[:limit]}…"
    return clean(short)


def apart(texts: Mapping[str, Any], before: str, after: str, lead: int = LEAD) -> dict[str, Any]:
    """Return texts that begin a little before the first difference of two of them, where that comes late."""
    pair = texts[before], texts[after]
    if not all(isinstance(text, str) for text in pair) or pair[0] == pair[1]:
        return dict(texts)
    pairs = enumerate(zip(*pair, strict=False))
    start = next((at for at, (a, b) in pairs if a != b), min(map(len, pair))) - lead
    if start <= lead:
        return dict(texts)
    shared = pair[0][:start]
    return {
        name: f"…{text[start:].lstrip()}" if isinstance(text, str) and text.startswith(shared) else text
        for name, text in texts.items()
    }


def counted(number: int, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> counted(1, "row"), counted(2, "row"), counted(2, "series")
    ('1 row', '2 rows', '2 series')
    """
    return f"{number:,} {noun}{'' if number == 1 or noun.endswith('s') else 's'}"


def verb(number: int, one: str, several: str) -> str:
    """Return the form of a verb that goes with a number of things: `1 row has`, `2 rows have`."""
    return one if number == 1 else several


def have(number: int, noun: str) -> str:
    """Return the start of a sentence about what things have: `1 row has`, `2 rows have`."""
    return f"{counted(number, noun)} {verb(number, 'has', 'have')}"


def left_out(rows: int, lacking: str) -> str:
    """Return a note on rows that lack something: `2 rows have no time and were left out`."""
    return f"{have(rows, 'row')} no {lacking} and {verb(rows, 'was', 'were')} left out"


def to_json(document: Any) -> str:
    """Return a JSON document: valid UTF-8, no NaN, texts cut after 10,000 characters."""
    return json.dumps(_plain(document), ensure_ascii=False, allow_nan=False, indent=2)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, dict):
        return {clean(str(k)): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, date):
        return value.isoformat()
    return clean(str(value), JSON_TEXT)
