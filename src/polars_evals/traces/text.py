"""The text of an answer that is stored as chat messages, and the identity of an input.

`_distinct` is the only place where the trace readers run Python inside a query: hashing, and the rare message
of several parts, have no Polars expression.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable

# Where the text of an answer is in the shapes that chat APIs return. A message is known by its role, so that
# an answer which merely happens to be JSON with a `content` key is left alone.
_MESSAGES = (("$.role", "$.content"), ("$[-1:].role", "$[-1:].content"), ("$[-1:].role", "$[-1:].parts"))
_COMPLETIONS = ("$.choices[0].message.content", "$.choices[0].text", "$[0].message.content")


def stable_hash(text: pl.Expr) -> pl.Expr:
    """Hash each text with BLAKE2b (16 bytes, as 32 hexadecimal digits) of its UTF-8 bytes; null stays null.

    Unlike Polars' own hash this one is the same in every version and on every machine.
    """
    return _distinct(text, lambda value: blake2b(value.encode(), digest_size=16).hexdigest())


def chat_text(answer: pl.Expr) -> pl.Expr:
    """Reduce a chat message, a list of them or a completion to the last answer's text; other text stays."""
    structured = pl.when(answer.str.contains(r"^\s*[\[{]")).then(answer)
    is_message = pl.any_horizontal(
        structured.str.json_path_match(role).is_not_null() for role, _ in _MESSAGES
    )
    content = pl.coalesce(
        *(
            pl.when(structured.str.json_path_match(role).is_not_null()).then(
                structured.str.json_path_match(path)
            )
            for role, path in _MESSAGES
        ),
        *(structured.str.json_path_match(path) for path in _COMPLETIONS),
    )
    # A message without text (a tool call) is no answer, whereas other JSON may be just what was asked for.
    return pl.coalesce(
        parts_text(content), pl.when(~is_message.fill_null(False) & content.is_null()).then(answer)
    )


def parts_text(content: pl.Expr) -> pl.Expr:
    """Join the text parts of a content that is a list of parts (null if it has none); other text stays."""
    is_parts = content.str.starts_with("[{")
    first = content.str.json_path_match("$[?(@.type=='text')]")
    text = pl.coalesce(first.str.json_path_match("$.content"), first.str.json_path_match("$.text"))
    # One text part is by far the commonest, and needs no Python. Paths give compact JSON, in which this
    # literal is a key and its value: inside a string the quotes would be escaped.
    plain = content.str.count_matches('"type":"text"', literal=True) == 1
    joined = _distinct(pl.when(is_parts & ~plain).then(content), _join_parts)
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
