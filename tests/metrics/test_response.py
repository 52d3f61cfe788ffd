"""The response evaluator: judge-llm itself is the oracle."""

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from judge_llm.evaluators.response_evaluator import ResponseEvaluator

import polars_evals as pe
from tests.texts import (
    SCRIPTS,
    details_of,
    has_wide_words,
    has_words,
    random_pairs,
    real_pairs,
    scores_of,
    some_pairs,
)

MATCH_TYPES = ["exact", "semantic", "rouge", "recall"]


def conversation(turns: list[str]) -> list[SimpleNamespace]:
    return [
        SimpleNamespace(final_response=SimpleNamespace(parts=[SimpleNamespace(text=text)])) for text in turns
    ]


def judge(output: list[str], expected: list[str], **config: Any) -> Any:
    """Run judge-llm on a conversation."""
    evaluator = ResponseEvaluator(config)
    # Otherwise it takes ROUGE where "semantic" is asked for.
    evaluator._rouge_available = config.get("match_type") != "semantic"
    return evaluator.evaluate(
        SimpleNamespace(eval_id="", conversation=conversation(expected)),
        {},
        SimpleNamespace(success=True, conversation_history=conversation(output)),
    )


def judged(pairs: list[tuple[str, str]], **config: Any) -> list[float]:
    return [judge([output], [expected], **config).score for output, expected in pairs]


@pytest.mark.parametrize("normalize_whitespace", [False, True])
@pytest.mark.parametrize("case_sensitive", [False, True])
@pytest.mark.parametrize("match_type", MATCH_TYPES)
def test_equal_to_judge_llm(match_type: str, case_sensitive: bool, normalize_whitespace: bool) -> None:
    config: dict[str, Any] = {
        "match_type": match_type,
        "case_sensitive": case_sensitive,
        "normalize_whitespace": normalize_whitespace,
    }
    pairs = random_pairs(50, 300) + real_pairs(20)
    own_words: dict[str, Any] = {"tokenizer": "rouge"} if match_type == "rouge" else {}
    assert scores_of(pe.response("output", "expected", **config, **own_words), pairs) == judged(
        pairs, **config
    )
    # Two texts of punctuation alone are judged by their equality, where judge-llm gives 0.0.
    pairs = [pair for pair in pairs if not has_wide_words(*pair) and any(map(has_words, pair))]
    assert len(pairs) > 50
    assert scores_of(pe.response("output", "expected", **config), pairs) == judged(pairs, **config)


@pytest.mark.parametrize("match_type", ["exact", "semantic"])
@settings(max_examples=100, deadline=None)
@given(pairs=some_pairs)
def test_equal_to_judge_llm_on_any_text(match_type: Any, pairs: list[tuple[str, str]]) -> None:
    expr = pe.response("output", "expected", match_type=match_type)
    assert scores_of(expr, pairs) == judged(pairs, match_type=match_type)


def test_list_markers() -> None:
    """Every short text of what makes a marker, against its words alone."""
    parts = ["1", ".", ")", "-", "•", " ", "\n", "a"]
    texts = [a + b + c + d for a in parts for b in parts for c in parts for d in parts]
    pairs = [(text, plain) for text in texts for plain in ("a", "a a")]
    assert scores_of(pe.response("output", "expected", match_type="exact"), pairs) == judged(
        pairs, match_type="exact"
    )


@pytest.mark.parametrize("match_type", ["auto", *MATCH_TYPES])
def test_identical_text_of_any_script(match_type: Any) -> None:
    expr = pe.response("output", "expected", match_type=match_type)
    assert scores_of(expr, [(text, text) for text in SCRIPTS]) == [1.0] * len(SCRIPTS)


def test_tokenizers() -> None:
    pair = [("你好世界", "你好世人")]
    scores = {
        (match_type, tokenizer): scores_of(
            pe.response("output", "expected", match_type=match_type, tokenizer=tokenizer),
            pair,
        )[0]
        for match_type in ("rouge", "semantic", "recall", "exact")
        for tokenizer in ("auto", "rouge", "characters", "unicode")
    }
    assert scores["rouge", "auto"] == scores["rouge", "characters"] == 0.75
    assert scores["rouge", "rouge"] == scores["rouge", "unicode"] == 0.0
    assert (scores["semantic", "characters"], scores["recall", "characters"]) == (0.6, 0.75)
    assert scores["semantic", "auto"] == scores["recall", "auto"] == scores["exact", "characters"] == 0.0
    with pytest.raises(ValueError, match='response: `tokenizer` must be one of "auto"'):
        pe.response("output", "expected", tokenizer=r"\w+")  # type: ignore[arg-type]


def test_auto_is_rouge() -> None:
    pairs = random_pairs(51, 100)
    rouge = scores_of(pe.response("output", "expected", match_type="rouge"), pairs)
    assert scores_of(pe.response("output", "expected"), pairs) == rouge


def test_worked_examples() -> None:
    for match_type, output, expected, score in [
        ("rouge", "Paris is the capital of France", "The capital of France is Paris", 1.0),
        ("semantic", "blue green yellow", "red blue green", 0.5),
        ("recall", "red blue green yellow", "red blue", 1.0),
        ("exact", "hello world", "Hello World", 1.0),
        ("exact", "  1. Hello\n\n 2) World ", "hello world", 1.0),
        ("auto", "", " \n", 1.0),
        ("auto", "", "x", 0.0),
        ("exact", "1.", "-", 0.0),
        ("semantic", "1.", "2)", 1.0),
    ]:
        expr = pe.response("output", "expected", match_type=match_type)  # type: ignore[arg-type]
        assert scores_of(expr, [(output, expected)]) == [score], (match_type, output)


def test_details() -> None:
    pair = [("red blue green yellow", "red blue pink")]
    by_type = {
        match_type: details_of(pe.response("output", "expected", match_type=match_type, details=True), pair)  # type: ignore[arg-type]
        for match_type in MATCH_TYPES
    }
    words = ["output_words", "expected_words", "overlap"]
    assert by_type["semantic"].select(*words, "union").row(0) == (4, 3, 2, 5)
    assert by_type["recall"].select(words).row(0) == (4, 3, 2)
    assert by_type["rouge"].select("precision", "recall").row(0) == (0.5, 2 / 3)
    assert by_type["rouge"]["f1"].equals(by_type["rouge"]["score"])
    assert by_type["exact"].columns[:3] == ["score", "label", "turn_scores"]


def test_conversations() -> None:
    pairs = random_pairs(52, 120)
    turns = [pairs[at : at + 1 + at % 5] for at in range(0, 110, 4)]
    frame = pl.DataFrame(
        {
            "output": [[output for output, _ in turn] for turn in turns],
            "expected": [[expected for _, expected in turn] for turn in turns],
        }
    )
    scored = frame.select(pe.response("output", "expected", tokenizer="rouge", details=True)).unnest(
        "response"
    )
    for row, (output, expected) in zip(scored.iter_rows(named=True), frame.rows(), strict=True):
        result = judge(output, expected, match_type="rouge")
        assert row["score"] == pytest.approx(result.score, abs=1e-12)
        assert row["turn_scores"] == [turn["score"] for turn in result.details["comparisons"]]
        assert row["num_turns"] == result.details["num_invocations"]
        assert row["num_low_scores"] == result.details["num_low_scores"]


def test_conversations_of_different_length() -> None:
    frame = pl.DataFrame({"output": [["a", "b"]], "expected": [["a"]]})
    scored = frame.select(pe.response("output", "expected", details=True)).unnest("response")
    assert scored["score"].item() == judge(["a", "b"], ["a"]).score == 0.0
    assert scored["reason"].item() == "turn count 2, expected 1"


def test_six_turns_of_four_fifths_pass() -> None:
    output, expected = ["a b c d"] * 6, ["a b c d e"] * 6
    frame = pl.DataFrame({"output": [output], "expected": [expected]})
    scored = frame.select(pe.response("output", "expected", match_type="recall")).unnest("response")
    assert scored.row(0) == (0.8, "pass")
    assert not judge(output, expected, match_type="recall").passed


def test_bad_options() -> None:
    with pytest.raises(
        ValueError, match=r'response: `match_type` must be one of "auto".*did you mean "rouge"'
    ):
        pe.response("output", "expected", match_type="rogue")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="response: `normalize_whitespace`"):
        pe.response("output", "expected", normalize_whitespace="yes")  # type: ignore[arg-type]
