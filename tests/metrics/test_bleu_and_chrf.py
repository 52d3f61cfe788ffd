"""BLEU and chrF: sacrebleu is the oracle."""

import logging
import sys
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from sacrebleu.metrics import BLEU, CHRF

import polars_evals as pe
from polars_evals._polars import NOTHING_OF_EMPTY, SIGMA_TABLE
from tests.texts import details_of, random_pairs, real_pairs, scores_of, some_pairs

# From Python 3.12 on, `sum` of floats is compensated, which changes the last bits of sacrebleu's BLEU.
BLEU_TOLERANCE = 0.0 if sys.version_info < (3, 12) else 1e-12
Pairs = list[tuple[str, str]]


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, logger="sacrebleu")


def sacrebleu_scores(metric: BLEU | CHRF, pairs: Pairs) -> list[float]:
    if metric.lowercase and SIGMA_TABLE == "1.35":
        # Metrics fold case as the installed Polars does, and this one has final sigmas where Python has none.
        frame = pl.DataFrame(pairs, schema=["output", "expected"], orient="row")
        pairs = frame.select(pl.all().str.to_lowercase()).rows()
    # Float errors can take a score above 1.
    return [min(metric.sentence_score(output, [expected]).score / 100, 1.0) for output, expected in pairs]


def check_bleu(pairs: Pairs, **options: Any) -> None:
    found = scores_of(pe.bleu("output", "expected", **options), pairs)
    want = sacrebleu_scores(BLEU(**{"effective_order": True, **options}), pairs)
    assert found == (pytest.approx(want, rel=BLEU_TOLERANCE, abs=0) if BLEU_TOLERANCE else want)


def check_chrf(pairs: Pairs, **options: Any) -> None:
    assert scores_of(pe.chrf("output", "expected", **options), pairs) == sacrebleu_scores(
        CHRF(**options), pairs
    )


@pytest.mark.parametrize("tokenize", ["13a", "intl", "char", "none"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_bleu_tokenizers(tokenize: str, lowercase: bool) -> None:
    check_bleu(random_pairs(40, 600) + real_pairs(30), tokenize=tokenize, lowercase=lowercase)


@pytest.mark.parametrize(
    "options",
    [
        {"smooth_method": "none"},
        {"smooth_method": "floor"},
        {"smooth_method": "floor", "smooth_value": 0.25},
        {"smooth_method": "add-k"},
        {"smooth_method": "add-k", "smooth_value": 2, "effective_order": False},
        {"smooth_method": "exp", "effective_order": False, "max_ngram_order": 2},
        {"max_ngram_order": 7},
        {"max_ngram_order": 1},
    ],
    ids=str,
)
def test_bleu_options(options: dict[str, Any]) -> None:
    check_bleu(random_pairs(41, 500), **options)


@pytest.mark.parametrize("tokenize", ["13a", "intl"])
@settings(max_examples=80, deadline=None)
@given(pairs=some_pairs)
def test_bleu_of_any_text(tokenize: str, pairs: Pairs) -> None:
    check_bleu(pairs, tokenize=tokenize)


def test_bleu_points_and_digits() -> None:
    """Points, commas, dashes and digits in every order: what the substitutions of 13a are about."""
    parts = ["1", ".", ",", "-", "a", " "]
    texts = [a + b + c + d + e for a in parts for b in parts for c in parts for d in parts for e in parts]
    pairs = [(text, texts[(3 * row + 1) % len(texts)]) for row, text in enumerate(texts)]
    check_bleu(pairs, max_ngram_order=2)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"word_order": 2},
        {"word_order": 1, "beta": 1, "lowercase": True},
        {"whitespace": True, "char_order": 3},
        {"eps_smoothing": True, "word_order": 2, "beta": 3},
        {"char_order": 1},
        {"char_order": 15},
    ],
    ids=str,
)
def test_chrf_options(options: dict[str, Any]) -> None:
    check_chrf(random_pairs(42, 500) + real_pairs(20), **options)


@settings(max_examples=80, deadline=None)
@given(pairs=some_pairs)
def test_chrf_of_any_text(pairs: Pairs) -> None:
    check_chrf(pairs)
    check_chrf(pairs, word_order=2, whitespace=True)


def test_chrf_of_many_different_characters() -> None:
    """More characters than the packed n-grams have room for."""
    texts = ["".join(chr(0x4E00 + (7 * i + shift) % 3000) for i in range(3000)) for shift in range(0, 40, 7)]
    check_chrf([(left, right) for left in texts for right in texts])


def test_references_count_one_by_one() -> None:
    frame = pl.DataFrame(
        {"output": ["the cat sat here"], "expected": [["the cat", "sat here", "a cat sat here"]]}
    )
    for metric in (pe.bleu, pe.chrf):
        name = metric.__name__
        best = frame.select(metric("output", "expected")).unnest(name)["score"].item()
        exploded = (
            frame.explode("expected", **NOTHING_OF_EMPTY).select(metric("output", "expected")).unnest(name)
        )
        assert best == exploded["score"].max()


def test_details() -> None:
    pair = [("The cat sat.", "The cat sat on the mat.")]
    scored = details_of(pe.bleu("output", "expected", details=True), pair)
    assert scored.select("output_tokens", "expected_tokens").row(0) == (4, 7)
    assert scored["brevity_penalty"].item() == BLEU().sentence_score(*pair[0][:1], list(pair[0][1:])).bp
    scored = details_of(pe.chrf("output", "expected", details=True), pair)
    assert 0 < scored["recall"].item() < scored["precision"].item() <= 1


def test_bad_options() -> None:
    for options, message in [
        ({"tokenize": "zh"}, "bleu: the tokenizer 'zh' needs"),
        ({"tokenize": "ja-mecab"}, "needs models or dictionaries"),
        ({"tokenize": "13b"}, 'bleu: `tokenize` must be one of .*did you mean "13a"'),
        ({"smooth_method": "add_k"}, 'did you mean "add-k"'),
        ({"smooth_value": -1}, "`smooth_value`"),
        ({"smooth_value": float("nan")}, "`smooth_value`"),
        ({"max_ngram_order": 0}, "`max_ngram_order`"),
        ({"max_ngram_order": 101}, "`max_ngram_order` must be a whole number from 1 to 100"),
        ({"effective_order": None}, "`effective_order`"),
    ]:
        with pytest.raises(ValueError, match=message):
            pe.bleu("output", "expected", **options)  # type: ignore[arg-type]
    for option, value in [("char_order", 0), ("word_order", -1), ("beta", 0), ("whitespace", "no")]:
        with pytest.raises(ValueError, match=f"chrf: `{option}`"):
            pe.chrf("output", "expected", **{option: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("metric", "options"), [(pe.chrf, {"beta": 1e200}), (pe.bleu, {"smooth_value": 10**400})]
)
def test_amounts_beyond_floats_are_refused(metric: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"`{next(iter(options))}` must be a number from"):
        metric("output", "expected", **options)
