"""Texts to score: words as frequent as words are, in one script or several, alike or not."""

import random
from itertools import accumulate

import polars as pl

LATIN = "etaoinshrdlucmfwypvbgk"
MIXED = "etaoinshrdäéßñøИжитенорасΣαβγδε中文字符号"


class Writer:
    """Writes texts from a vocabulary of its own, deterministic by seed."""

    def __init__(self, seed: int, alphabet: str = LATIN, words: int = 6000) -> None:
        self.random = random.Random(seed)
        self.words = [
            "".join(self.random.choices(alphabet, k=self.random.randint(2, 10))) for _ in range(words)
        ]
        self.weights = list(accumulate(1 / rank for rank in range(1, words + 1)))
        self.alphabet = alphabet

    def text(self, size: int) -> str:
        """Write a text of `size` characters, with capitals and full stops."""
        parts: list[str] = []
        length = 0
        while length < size:
            words = self.random.choices(self.words, cum_weights=self.weights, k=self.random.randint(4, 14))
            parts.append(" ".join(words).capitalize() + ". ")
            length += len(parts[-1])
        return "".join(parts)[:size]

    def edited(self, text: str, share: float) -> str:
        """Change a share of the characters: a third each replaced, removed, inserted."""
        letters = list(text)
        for at in sorted(self.random.sample(range(len(letters)), round(share * len(letters))), reverse=True):
            letters[at : at + self.random.choice((0, 1, 1))] = self.random.choice(
                ([], [self.random.choice(self.alphabet)])
            )
        return "".join(letters)


def unlike(rows: int, size: int, alphabet: str = LATIN) -> pl.DataFrame:
    """Make pairs of independent texts."""
    writer = Writer(size, alphabet)
    return pl.DataFrame({name: [writer.text(size) for _ in range(rows)] for name in ("output", "expected")})


def alike(rows: int, size: int, share: float, alphabet: str = LATIN) -> pl.DataFrame:
    """Make pairs that differ in a share of their characters."""
    writer = Writer(size, alphabet)
    expected = [writer.text(size) for _ in range(rows)]
    return pl.DataFrame({"output": [writer.edited(text, share) for text in expected], "expected": expected})
