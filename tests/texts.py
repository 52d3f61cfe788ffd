"""Texts for tests against oracles: real-looking ones, and pieces that tokenizers disagree about."""

import random
import re
from pathlib import Path

import polars as pl
from hypothesis import strategies as st

ROOT = Path(__file__).parents[1]
# Real texts beside the project, where there are some.
SHARED = ROOT.parent / "shared/data"

SCRIPTS = [
    *(
        "Привет, мир!",
        "Ça va très bien",
        "你好，世界",
        "สวัสดี",
        "...",
        "🙂",
        "",
        "コーヒー",
        "ສະບາຍດີ",
        "ជំរាបសួរ",
        "မင်္ဂလာပါ",
    ),
    *(
        "안녕하세요",
        "नमस्ते दुनिया",
        "שלום עולם",
        "مرحبا بالعالم",
        "Γειά σου Κόσμε",
        "བཀྲ་ཤིས་",
        "١٢٣",
        "ꦲꦏ꧀ꦱꦫ",
        "½",
        "да",
    ),
]


def has_wide_words(*texts: str) -> bool:
    """Whether a text has a letter or digit outside ASCII."""
    return any(c > "\x7f" and (c.isalpha() or c.isdecimal()) for text in texts for c in text)


def has_words(text: str) -> bool:
    """Whether rouge-score finds a word."""
    return re.search("[a-z0-9]", text.lower()) is not None


_UNSPACED = (
    r"[\w&&[\p{Han}\p{scx=Hiragana}\p{scx=Katakana}\p{Bopomofo}\p{Yi}\p{Tangut}\p{Nushu}\p{Thai}\p{Lao}\p{Khmer}"
    r"\p{Myanmar}\p{Tai_Le}\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}\p{Javanese}\p{Balinese}]]"
)
_LETTER, _MARK = rf"[{_UNSPACED}&&[\p{{L}}\p{{N}}]]", rf"[{_UNSPACED}--[\p{{L}}\p{{N}}]]"


def has_unspaced_letters(*texts: str) -> bool:
    """Whether a text has a letter of a script without spaces."""
    return bool(pl.Series(texts).str.contains(_LETTER).any())


def words_of_any_script(text: str) -> list[str]:
    """Words, and each letter of a script without spaces with its marks as a word of its own."""
    pattern = rf"{_LETTER}{_MARK}*|[\w--{_LETTER}]+"
    return list(pl.Series([text]).str.extract_all(pattern)[0])


PIECES = [
    *(
        "the ",
        "The",
        "a ",
        "A ",
        "An",
        "an ",
        "cat",
        "cats ",
        "running ",
        "ran ",
        "generalizations ",
        "happily ",
    ),
    *("national", "oscillators ", "x", "yyyy", "I ", "don't ", "snake_case ", "e.g. ", "U.S. ", "it's "),
    *(
        ".",
        ",",
        "..",
        "...",
        "1",
        "2",
        "23",
        "3.14",
        "1,000",
        "-",
        "--",
        "!",
        "%",
        "$",
        "€",
        "'",
        '"',
        "(hi)",
        "_",
    ),
    *(" ", "  ", "\t", "\n", "\n\n", "\r\n", "\x1c", "\x1e", "\x1f", "\x85", "\xa0", "\u2028", "\u3000"),
    *("1. ", "2) ", "\n3. ", "* ", "\n- ", "\n• ", "\u0663. ", "-\n", "10.", "7)"),
    *("&amp;", "&lt;", "&quot;", "&amp;gt;", "<skipped>", "<SKIPPED>", "<b>"),
    *(
        "\u0130",
        "\u212a",
        "ß",
        "Σ",
        "ΟΔΟΣ ",
        "é",
        "e\u0301",
        "a\u0301",
        "ǅ",
        "ﬁ",
        "½",
        "m²",
        "٣",
        "\u200d",
        "\ufeff",
    ),
    *("привет ", "Мир", "ΑΣ", "你好", "世界。", "สวัสดี", "👍🏽", "«the»", "“quoted” ", "…", "\x00", "the\x01"),
]

# Everything that str.lower and Polars agree about: they follow different versions of Unicode.
any_text = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.text(st.characters(max_codepoint=0x2FFF, exclude_categories=["Cs", "Cn"]), max_size=60),
    st.text("ab ", max_size=40),
)
some_pairs = st.lists(st.tuples(any_text, any_text), min_size=1, max_size=8)


def random_pairs(seed: int, count: int) -> list[tuple[str, str]]:
    """Make pairs of texts from the pieces, some of them alike."""
    rng = random.Random(seed)

    def text() -> str:
        pieces = PIECES if rng.random() < 0.6 else rng.sample(PIECES, 5)
        return "".join(rng.choices(pieces, k=rng.choice([0, 1, 2, 3, 5, 10, 20, 60])))

    pairs = []
    for _ in range(count):
        output = text()
        pairs.append((output, output if rng.random() < 0.05 else text()))
    return pairs


def real_pairs(count: int) -> list[tuple[str, str]]:
    """Pair answers of different model versions: the example traces, and larger data where it is at hand."""
    files = [ROOT / "data/traces.parquet", *sorted((ROOT.parent / "shared/data").glob("*.parquet"))]
    texts = [text for file in files for text in pl.read_parquet(file)["output"].drop_nulls()]
    rng = random.Random(1)
    return [(rng.choice(texts), rng.choice(texts)) for _ in range(count)]


def frame_of(pairs: list[tuple[str, str]]) -> pl.DataFrame:
    """Make a frame of pairs."""
    schema = {"output": pl.String, "expected": pl.String}
    return pl.DataFrame(pairs, schema=schema, orient="row")


def details_of(expr: pl.Expr, pairs: list[tuple[str, str]]) -> pl.DataFrame:
    """Score pairs and unpack the result."""
    return frame_of(pairs).select(expr.alias("scored")).unnest("scored")


def scores_of(expr: pl.Expr, pairs: list[tuple[str, str]]) -> list[float]:
    """Score pairs."""
    return details_of(expr, pairs)["score"].to_list()
