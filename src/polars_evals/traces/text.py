"""The text of an answer that is stored as chat messages, and the identity of an input.

`_distinct` is the only place where the trace readers run Python inside a query: hashing, and the rare message
of several parts, have no Polars expression.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING

import polars as pl

from polars_evals.traces.fields import json_value

if TYPE_CHECKING:
    from collections.abc import Callable

# Where the text of an answer is in the shapes that chat APIs return. A message is known by its role, so that
# an answer which merely happens to be JSON with a `content` key is left alone.
_SHAPES = {
    "{": (".role", (".content",), (".choices[0].message.content", ".choices[0].text")),
    "[": ("[-1:].role", ("[-1:].parts", "[-1:].content"), ("[0].message.content",)),
}


def stable_hash(text: pl.Expr) -> pl.Expr:
    """Hash each text with BLAKE2b (16 bytes, as 32 hexadecimal digits) of its UTF-8 bytes; null stays null.

    Unlike Polars' own hash this one is the same in every version and on every machine.
    """
    return _distinct(text, lambda value: blake2b(value.encode(), digest_size=16).hexdigest())


def with_chat_text(frame: pl.LazyFrame, column: str) -> pl.LazyFrame:
    """Reduce a chat message, a list of them or a completion to the last answer's text; other text stays.

    This goes in steps of the frame, for an expression that repeats its input grows with every repetition.
    """
    answer, role, content = pl.col(column), pl.col("__role"), pl.col("__content")
    shaped = {shape: pl.when(answer.str.starts_with(shape)).then(answer) for shape in _SHAPES}
    roles = (json_value(shaped[shape], path) for shape, (path, _, _) in _SHAPES.items())
    said = (json_value(shaped[shape], path) for shape, (_, paths, _) in _SHAPES.items() for path in paths)
    completed = (
        json_value(shaped[shape], path) for shape, (_, _, paths) in _SHAPES.items() for path in paths
    )
    # A message without text (a tool call) is no answer, whereas other JSON may be just what was asked for.
    reduced = pl.when(role.is_null() & content.is_null()).then(answer).otherwise(parts_text(content))
    return (
        frame.with_columns(__role=pl.coalesce(roles))
        .with_columns(
            __content=pl.coalesce(pl.when(role.is_not_null()).then(pl.coalesce(said)), pl.coalesce(completed))
        )
        .with_columns(reduced.alias(column))
        .drop("__role", "__content")
    )


def parts_text(content: pl.Expr) -> pl.Expr:
    """Join the text parts of a content that is a list of parts (null if it has none); other text stays."""
    is_parts = content.str.starts_with("[{")
    parts = pl.when(is_parts).then(content)
    text = pl.coalesce(json_value(parts, f"[?(@.type=='text')].{key}") for key in ("content", "text"))
    # One text part is by far the commonest, and needs no Python. Paths give compact JSON, in which this
    # literal is a key and its value: inside a string the quotes would be escaped.
    plain = content.str.count_matches('"type":"text"', literal=True) == 1
    joined = _distinct(pl.when(~plain).then(parts), _join_parts)
    return pl.when(is_parts).then(pl.when(plain).then(text).otherwise(joined)).otherwise(content)


def _join_parts(content: str) -> str | None:
    parts = [part for part in json.loads(content) if isinstance(part, dict)]
    texts = [
        str(part[key])
        for part in parts
        for kind, key in (
            ("type", "content"),
            ("type", "text"),
            ("message_content.type", "message_content.text"),
        )
        if part.get(kind) == "text" and isinstance(part.get(key), str)
    ]
    return "".join(texts) if texts else None


def _distinct(text: pl.Expr, function: Callable[[str], str | None]) -> pl.Expr:
    """Apply a function to each distinct text once; nulls stay null."""

    def apply(batch: pl.Series) -> pl.Series:
        distinct = batch.drop_nulls().unique()
        values = pl.Series([function(value) for value in distinct], dtype=pl.String)
        return batch.replace_strict(distinct, values, default=None, return_dtype=pl.String)

    return text.map_batches(apply, return_dtype=pl.String, is_elementwise=True)
