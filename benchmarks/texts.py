"""Texts to score: some that cost what language costs, and some of one length, in one script or several."""

import random
from functools import cache
from itertools import accumulate

import polars as pl

LATIN = "etaoinshrdlucmfwypvbgk"
MIXED = "etaoinshrdäéßñøИжитенорасΣαβγδε中文字符号"

# So many words are short, and without endings.
FREQUENT = 400


class Language:
    """Writes texts that cost what language costs, deterministic by seed.

    Few words make most of a text and thousands come up once; frequent words are short; rare ones are made of
    stems and endings; there are numbers, markup and, in a third of the texts, characters outside ASCII.
    """

    VOWELS = "aeiou"
    ONSETS = ("", "", *"bcdfghlmnprstvw", "br", "ch", "gr", "pl", "st", "tr")
    CODAS = ("", "", "", *"lnrstm", "nd", "rt", "ck")
    ENDINGS = ("", "", "", "s", "s", "ed", "ing", "er", "ly", "ation", "al", "ness", "able", "ment", "ity")
    BREAKS = (".\n\n", ".\n- ", ":\n1. ", ".\n2. ", "\n\n## ", "```\n", ";\n")
    WIDE = "—“”…éü°→✅€•"

    def __init__(self, seed: int, words: int = 36_500) -> None:
        self.random = random.Random(seed)
        self.words = self.make_words(words)
        # Zipf's law with Mandelbrot's shift.
        self.weights = list(accumulate((rank + 2.0) ** -1.12 for rank in range(len(self.words))))

    def make_words(self, count: int) -> list[str]:
        """Make different words, short ones first."""
        made: dict[str, None] = {}
        while len(made) < count:
            is_frequent = len(made) < FREQUENT
            sizes = (1,) if is_frequent else (1, 2, 2) if len(made) < 3_000 else (2, 2, 3)
            syllables = (
                self.random.choice(self.ONSETS) + self.random.choice(self.VOWELS)
                for _ in range(self.random.choice(sizes))
            )
            ending = "" if is_frequent else self.random.choice(self.ENDINGS)
            made.setdefault("".join(syllables) + self.random.choice(self.CODAS) + ending)
        return list(made)

    def some_words(self, count: int) -> list[str]:
        """Draw words, frequent ones often."""
        return self.random.choices(self.words, cum_weights=self.weights, k=count)

    def topic(self) -> list[str]:
        """Draw the words that texts about one thing have in common."""
        return self.random.sample(self.words[FREQUENT:], 14) + self.random.sample(self.words[100:4_000], 40)

    def tokens(self, count: int, topic: list[str], source: list[str] | None = None) -> list[str]:
        """Write so many words about a topic, here and there in the words of a source."""
        chosen: list[str] = []
        place = 0
        while len(chosen) < count:
            draw = self.random.random()
            if source and draw < 0.2:
                place = self.random.randrange(len(source)) if self.random.random() < 0.15 else place
                run = self.random.randint(2, 6)
                chosen += source[place : place + run]
                place = (place + run + self.random.randint(0, 6)) % len(source)
            elif draw < 0.32:
                chosen.append(self.random.choice(topic))
            else:
                chosen += self.some_words(self.random.randint(1, 3))
        return chosen[:count]

    def text(self, tokens: list[str], is_wide: bool) -> str:
        """Set words as text: sentences, lists, headings, emphasis, numbers, code."""
        parts: list[str] = []
        starts = True
        for word in tokens:
            draw = self.random.random()
            shown = word.capitalize() if starts or draw > 0.985 else word
            starts = False
            if draw < 0.012:
                shown = str(self.random.randint(1, 2030))
            elif draw < 0.022:
                shown = f"**{shown}**"
            elif draw < 0.03:
                shown = f'"{shown}"' if draw < 0.026 else f"({shown})"
            elif draw < 0.036:
                shown += f"-{self.random.choice(tokens)}" if draw < 0.033 else "'s"
            elif is_wide and draw < 0.042:
                shown += self.random.choice(self.WIDE)
            parts.append(shown)
            end = self.random.random()
            if end < 0.055:
                parts.append(", ")
            elif end < 0.102:
                parts.append(self.random.choice(self.BREAKS))
                starts = True
            elif end < 0.132:
                parts.append(self.random.choice((". ", ". ", ". ", "? ", "! ")))
                starts = True
            else:
                parts.append(" ")
        return "".join(parts).strip()


@cache
def language(rows: int, versions: int = 10) -> pl.DataFrame:
    """Make pairs as a comparison of versions has them: each expected text stands in one row a version.

    About 1,400 characters a text; in 8,000 rows there are some 35,000 different words.
    """
    writer = Language(rows)
    columns: dict[str, list[str]] = {"output": [], "expected": []}
    for _ in range(-(-rows // versions)):
        topic = writer.topic()
        is_wide = writer.random.random() < 1 / 3
        source = writer.tokens(max(8, round(writer.random.gammavariate(1.8, 130))), topic)
        expected = writer.text(source, is_wide)
        for _ in range(versions):
            size = max(8, round(writer.random.gammavariate(1.8, 130)))
            columns["output"].append(writer.text(writer.tokens(size, topic, source), is_wide))
            columns["expected"].append(expected)
    # As in a table by version: rows with the same expected text are far from each other.
    return pl.DataFrame(columns).head(rows).sample(fraction=1.0, shuffle=True, seed=rows)


def answers(items: int = 805, models: int = 10) -> pl.DataFrame:
    """Make answers of ten models, as `language` writes them, with the columns of a comparison."""
    item = pl.col("expected").rank("dense")
    return language(items * models, models).select(
        pl.format("model-{}", pl.int_range(pl.len()).over("expected")).alias("model"),
        item.alias("item_id"),
        pl.col("expected").str.tail(200).alias("input"),
        "output",
        "expected",
    )


def of_file(path: str) -> pl.DataFrame:
    """Read answers of models; `model`, `input`, `output` and `expected` are columns of the file."""
    frame = pl.read_parquet(path, columns=["model", "input", "output", "expected"])
    return frame.with_columns(item_id=pl.col("input").rank("dense"))


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
