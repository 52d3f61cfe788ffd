"""What one evaluation item is, and how a model phrases its answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from random import Random

# The pieces of a text in order, each with its phrasings; the reference uses the first of each.
Parts = tuple[tuple[str, ...], ...]


class Item(NamedTuple):
    """A question with its true answer and the answer of a model that is mistaken."""

    language: str
    question: str
    answer: Parts
    wrong: Parts


def reference(parts: Parts) -> str:
    """Write the reference answer."""
    return "".join(part[0] for part in parts)


def phrase(parts: Parts, rng: Random, *, faithful: float) -> str:
    """Write an answer that uses the reference's words for a share `faithful` of its pieces."""
    return "".join(
        part[0] if len(part) == 1 or rng.random() < faithful else rng.choice(part[1:]) for part in parts
    )


def sentences(*phrasings: tuple[str, ...], separator: str = " ") -> Parts:
    """Join sentences into parts, with a separator between them."""
    parts: list[tuple[str, ...]] = []
    for number, alternatives in enumerate(phrasings):
        if number:
            parts.append((separator,))
        parts.append(alternatives)
    return tuple(parts)


def paragraphs(*blocks: Parts) -> Parts:
    """Join blocks of sentences with a blank line between them."""
    parts: list[tuple[str, ...]] = []
    for number, block in enumerate(blocks):
        if number:
            parts.append(("\n\n",))
        parts.extend(block)
    return tuple(parts)


def blocks(name: str) -> list[list[str]]:
    """Read a text file of this folder whose blocks of lines are separated by blank lines."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return [block.split("\n") for block in text.strip().split("\n\n")]
