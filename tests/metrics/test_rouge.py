"""ROUGE: rouge-score is the oracle, to the last bit, and NLTK is the stemmer's."""

import random
import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from nltk.stem.porter import PorterStemmer
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import Tokenizer

import polars_evals as pe
from polars_evals import _native
from tests.texts import (
    SCRIPTS,
    SHARED,
    details_of,
    frame_of,
    has_wide_words,
    has_words,
    random_pairs,
    real_pairs,
    scores_of,
    some_pairs,
    words_of_any_script,
)

VARIANTS = [*(f"rouge{n}" for n in range(1, 10)), "rougeL", "rougeLsum"]
Measures = list[tuple[float, float, float]]


def oracle(
    pairs: list[tuple[str, str]], variant: str, stemmer: bool, tokenizer: Tokenizer | None = None
) -> Measures:
    scorer = RougeScorer([variant], use_stemmer=stemmer, tokenizer=tokenizer)
    scores = [scorer.score(expected, output)[variant] for output, expected in pairs]
    return [(score.precision, score.recall, score.fmeasure) for score in scores]


def ours(pairs: list[tuple[str, str]], **options: Any) -> Measures:
    scored = details_of(
        pe.rouge("output", "expected", details=True, **{"tokenizer": "rouge"} | options), pairs
    )
    assert scored["score"].equals(scored["f1"])
    return scored.select("precision", "recall", "f1").rows()


@pytest.mark.parametrize("stemmer", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_equal_to_rouge_score(variant: str, stemmer: bool) -> None:
    pairs = random_pairs(len(variant) + stemmer, 300) + real_pairs(15 if variant.startswith("rougeL") else 60)
    assert ours(pairs, variant=variant, stemmer=stemmer) == oracle(pairs, variant, stemmer)


@pytest.mark.parametrize("variant", ["rouge1", "rouge2", "rougeL", "rougeLsum"])
@settings(max_examples=60, deadline=None)
@given(pairs=some_pairs)
def test_equal_to_rouge_score_on_any_text(variant: str, pairs: list[tuple[str, str]]) -> None:
    assert ours(pairs, variant=variant) == oracle(pairs, variant, True)


def test_long_texts() -> None:
    """Longer than what the table of the subsequence holds at a time, with few words, so that ties abound."""
    rng = random.Random(3)
    words = ["one", "two", "three", "four", "\n"]
    pairs = [
        (" ".join(rng.choices(words[:kinds], k=k)), " ".join(rng.choices(words[:kinds], k=n)))
        for k, n, kinds in [(1500, 1100, 4), (70, 2100, 4), (1030, 60, 2), (900, 900, 5)]
    ]
    for variant in ("rouge1", "rouge3", "rougeL", "rougeLsum"):
        assert ours(pairs, variant=variant) == oracle(pairs, variant, True)


class Found(Tokenizer):  # type: ignore[misc]
    """A tokenizer for rouge-score that lowercases as Polars does and finds words with a function."""

    def __init__(self, find: Callable[[str], list[str]]) -> None:
        self.find = find

    def tokenize(self, text: str) -> list[str]:
        return self.find(pl.Series([text]).str.to_lowercase().item())


class AnyScript(Found):
    """The same, with the words stemmed that rouge-score would stem."""

    def tokenize(self, text: str) -> list[str]:
        stem = PorterStemmer().stem
        return [
            stem(word) if len(word) > 3 and re.fullmatch("[a-z0-9]+", word) else word
            for word in super().tokenize(text)
        ]


def extract(pattern: str) -> Callable[[str], list[str]]:
    return lambda text: [word for word in pl.Series([text]).str.extract_all(pattern).item() if word]


@pytest.mark.parametrize(
    ("tokenizer", "find"),
    [
        ("whitespace", str.split),
        ("unicode", extract(r"\w+")),
        ("characters", lambda text: [c for c in text if not c.isspace()]),
        (r"[^\n ]+", extract(r"[^\n ]+")),
        (r"(?s).", extract(r"(?s).")),
        (r"\d*", extract(r"\d*")),
        (r"[a-z0-9]+", extract("[a-z0-9]+")),
    ],
)
def test_other_tokenizers(tokenizer: str, find: Callable[[str], list[str]]) -> None:
    pairs = random_pairs(7, 150)
    for variant in ("rouge1", "rouge2", "rougeL", "rougeLsum"):
        want = oracle(pairs, variant, False, Found(find))
        # Equal texts with nothing to count score 1.0.
        order = int(variant[-1]) if variant[-1].isdigit() else 1
        for row, (output, expected) in enumerate(pairs):
            if output == expected and len(find(output.lower())) < order:
                want[row] = (1.0, 1.0, 1.0)
        assert ours(pairs, variant=variant, stemmer=False, tokenizer=tokenizer) == want, variant


def test_the_tokenizer_rouge_is_a_regular_expression_too() -> None:
    pairs = [
        pair for pair in random_pairs(9, 300) if any(re.search("[a-z0-9]", text.lower()) for text in pair)
    ]
    for variant in ("rouge1", "rougeLsum"):
        assert ours(pairs, variant=variant, tokenizer="[a-z0-9]+") == ours(pairs, variant=variant)


@pytest.mark.parametrize("text", SCRIPTS)
def test_identical_text_of_any_script(text: str) -> None:
    for tokenizer in ("auto", "unicode", "characters", "whitespace", r"\w+"):
        for variant in VARIANTS:
            expr = pe.rouge("output", "expected", variant=variant, tokenizer=tokenizer)  # type: ignore[arg-type]
            assert scores_of(expr, [(text, text), (text, text + "?!")])[0] == 1.0
    for tokenizer in ("auto", "unicode"):
        expr = pe.rouge("output", "expected", tokenizer=tokenizer)
        assert scores_of(expr, [("...", "?!"), ("...", "a")]) == [0.0, 0.0]


@pytest.mark.parametrize("variant", VARIANTS)
def test_auto_is_rouge_score_where_all_letters_are_ascii(variant: str) -> None:
    pairs = [pair for pair in random_pairs(21, 900) + real_pairs(60) if not has_wide_words(*pair)]
    assert len(pairs) > 100
    want = oracle(pairs, variant, True)
    for row, (output, expected) in enumerate(pairs):
        if output.lower() == expected.lower() and not has_words(output):
            want[row] = (1.0, 1.0, 1.0)
    assert ours(pairs, variant=variant, tokenizer="auto") == want


@pytest.mark.parametrize("variant", ["rouge1", "rouge2", "rougeL", "rougeLsum"])
@settings(max_examples=60, deadline=None)
@given(pairs=some_pairs)
def test_auto_on_any_text(variant: str, pairs: list[tuple[str, str]]) -> None:
    """Words of any script, each letter of a script without spaces one with its marks, found by Polars."""
    pairs = [pair for pair in pairs if has_wide_words(*pair)] or [("é", "é")]
    want = oracle(pairs, variant, True, AnyScript(words_of_any_script))
    order = int(variant[-1]) if variant[-1].isdigit() else 1
    for row, (output, expected) in enumerate(pairs):
        if output.lower() == expected.lower() and len(words_of_any_script(output)) < order:
            want[row] = (1.0, 1.0, 1.0)
    assert ours(pairs, variant=variant, tokenizer="auto") == want


def test_auto_on_real_texts_of_six_languages() -> None:
    path = SHARED / "languages.parquet"
    if not path.exists():
        pytest.skip("no real texts here")
    texts = pl.read_parquet(path)
    expr = pe.rouge("output", "expected", variant="rougeL")
    texts = texts.select(output=pl.nth(-1), expected=pl.nth(-1)).unique(maintain_order=True)
    assert texts.select(expr).unnest("rougeL")["score"].min() == 1.0


def test_only_english_words_are_stemmed() -> None:
    pairs = [("cats", "cat"), ("CATS!", "cat!"), ("naïves", "naïve"), ("бегущий", "бегущая"), ("its", "it")]
    assert scores_of(pe.rouge("output", "expected", tokenizer="unicode"), pairs) == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert scores_of(pe.rouge("output", "expected", tokenizer="whitespace"), pairs)[1] == 0.0


def test_details() -> None:
    pair = [("The cats sat on the mat", "A cat sat on a mat")]
    expr = pe.rouge("output", "expected", variant="rouge2", measure="recall", details=True)
    assert details_of(expr, pair).select("score", "precision", "recall").row(0) == (0.4, 0.4, 0.4)
    counts = details_of(expr, pair).select("output_tokens", "expected_tokens", "overlap").row(0)
    assert counts == (6, 6, 2)


@pytest.mark.parametrize("measure", ["f1", "precision", "recall"])
def test_references_as_score_multi(measure: str) -> None:
    texts = [text for pair in random_pairs(11, 200) for text in pair]
    references = [texts[at : at + 3] for at in range(1, len(texts) - 3)]
    frame = pl.DataFrame({"output": texts[: len(references)], "expected": references})
    field = "fmeasure" if measure == "f1" else measure
    for variant in ("rouge1", "rougeL"):
        scorer = RougeScorer([variant], use_stemmer=True)
        want = [
            getattr(scorer.score_multi(expected, output)[variant], field) for output, expected in frame.rows()
        ]
        expr = pe.rouge("output", "expected", variant=variant, measure=measure, tokenizer="rouge")  # type: ignore[arg-type]
        assert frame.select(expr).unnest(variant)["score"].to_list() == want


def test_names_and_options() -> None:
    frame = frame_of([("a", "a")])
    every = [pe.rouge("output", "expected", variant=v) for v in VARIANTS]  # type: ignore[arg-type]
    assert frame.select(every).columns == VARIANTS
    for options, message in [
        ({"variant": "rouge0"}, r"rouge: `variant` must be one of \"rouge1\""),
        ({"variant": "rougel"}, r'did you mean "rougeL"'),
        ({"measure": "f2"}, "`measure`"),
        ({"stemmer": 1}, "`stemmer`"),
        ({"tokenizer": "whitespaces"}, r'`tokenizer` must be one of .*did you mean "whitespace"'),
        ({"tokenizer": ""}, "`tokenizer`"),
        ({"tokenizer": None}, "`tokenizer`"),
        ({"tokenizer": "[a-z"}, "not a valid pattern"),
        ({"tokenizer": r"(?=\w)x"}, "not a valid pattern"),
    ]:
        with pytest.raises(ValueError, match=message):
            pe.rouge("output", "expected", **options)  # type: ignore[arg-type]


SUFFIXES = re.findall(
    r"\w+",
    """
    s es ies sses ss ied eed ed ing ings at bl iz y ly ational tional enci anci izer bli abli alli entli
    eli ousli ization ation ator alism iveness fulness ousness aliti iviti biliti fulli logi icate ative
    alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive
    ize e ll tion sion
    """,
)
IRREGULAR = re.findall(
    r"\w+",
    """
    sky skies dying lying tying news innings inning outings outing cannings canning howe proceed exceed
    succeed dies ties died spied flies feed agreed bled enjoy happy geology theologi
    """,
)


def odd_words(count: int) -> set[str]:
    """Make words of syllables and suffixes, in which every rule of the stemmer applies."""
    rng = random.Random(5)
    syllables = [*"aeiouybcdlstzwx9", "tr", "st", "ck", "io", "og", "al", "at", "ee", "yy", "ll", "ss", "zz"]
    words = set(IRREGULAR)
    while len(words) < count:
        word = "".join(rng.choices(syllables, k=rng.randint(1, 5)))
        words.add(word + "".join(rng.choices(SUFFIXES, k=rng.randint(0, 2))))
    return words


def test_stems_are_those_of_nltk() -> None:
    texts = [text for pair in real_pairs(200) for text in pair]
    words = odd_words(100_000) | {word for text in texts for word in re.findall("[a-z0-9]+", text.lower())}
    nltk = PorterStemmer()
    assert len(words) >= 100_000
    assert [word for word in words if _native.stem(word) != nltk.stem(word)] == []
