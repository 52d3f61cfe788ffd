"""GLEU: NLTK is the oracle."""

import pytest
from nltk.translate.gleu_score import sentence_gleu

import polars_evals as pe
from tests.texts import random_pairs, real_pairs, scores_of


@pytest.mark.parametrize(("shortest", "longest"), [(1, 4), (2, 3), (1, 1)])
def test_equal_to_nltk(shortest: int, longest: int) -> None:
    pairs = random_pairs(62, 300) + real_pairs(30)
    scores = scores_of(pe.gleu("output", "expected", min_len=shortest, max_len=longest), pairs)
    for score, (output, expected) in zip(scores, pairs, strict=True):
        words, wanted = output.split(), expected.split()
        want = sentence_gleu([wanted], words, min_len=shortest, max_len=longest)
        # Where there is nothing to count, equal texts score 1.0.
        if max(len(words), len(wanted)) < shortest:
            want = float(words == wanted)
        assert score == pytest.approx(want, abs=1e-12)


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="gleu: `max_len`"):
        pe.gleu("output", "expected", min_len=3, max_len=2)
