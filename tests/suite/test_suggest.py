"""Suites that are proposed from data: by content, with a reason for each choice, and always the same."""

import json
from pathlib import Path

import polars as pl
import pytest

import polars_evals as pe

SHARED = Path(__file__).parents[3] / "shared" / "data"


def chosen(frame: pl.DataFrame) -> list[str]:
    return [metric.type for metric in pe.suggest(frame).suite.metrics]


def frame_of(output: list[object], expected: list[object], times: int = 20) -> pl.DataFrame:
    return pl.DataFrame({"output": output * times, "expected": expected * times})


def test_labels() -> None:
    found = pe.suggest(frame_of(["spam", "ham", "spam"], ["spam", "ham", "ham"]))
    assert [metric.type for metric in found.suite.metrics] == ["exact_match"]
    assert [one.type for one in found.suite.aggregates] == ["macro_f1"]
    assert found.reasons[0] == "expected has 2 values in 60 rows: exact_match, aggregate macro_f1"


def test_labels_inside_a_text_are_taken_out_first() -> None:
    frame = frame_of(["[Yes] because", "[No] since", "it is [Yes]"], ["yes", "no", "yes"])
    found = pe.suggest(frame)
    scored = found.suite.score(frame)
    assert scored["exact_match_score"].mean() == 1.0


@pytest.mark.parametrize("values", [["New York", "Rome"], ["not-relevant", "relevant"], ["Yes", "yes"]])
def test_labels_that_are_no_single_words(values: list[str]) -> None:
    frame = pl.DataFrame({"output": [f"It is {value}." for value in values] * 10, "expected": values * 10})
    assert chosen(frame) == ["exact_match"]


@pytest.mark.parametrize("letters", ["ABCD", "ABCDEFGHIJ"])
def test_letters_of_choices(letters: str) -> None:
    frame = frame_of([f"ANSWER: {one}" for one in letters], list(letters))
    found = pe.suggest(frame)
    (metric,) = found.suite.metrics
    assert metric.type == "choice"
    assert metric.settings["choices"] == letters
    assert found.suite.score(frame)["choice_score"].mean() == 1.0


@pytest.mark.parametrize(
    "expected",
    [["42", "3.5", "1,200", "-7", "$12", "15%", "1e6"], ["7 + 5 = 12\n#### 12", "#### 1,000", "x\n#### -3"]],
)
def test_numbers(expected: list[str]) -> None:
    assert chosen(frame_of([f"It is {one}." for one in expected], list(expected))) == ["numeric_match"]


def test_documents_and_their_fields() -> None:
    documents = [
        {
            "id": f"A-{n}",
            "customer": {"name": f"Name number {n}"},
            "total": n * 1.5,
            "paid": n % 2 == 0,
            "lines": [n],
        }
        for n in range(40)
    ]
    texts = [json.dumps(one) for one in documents]
    frame = pl.DataFrame({"output": [f"Here it is: {text}" for text in texts], "expected": texts})
    found = pe.suggest(frame)
    kinds = {str(metric.name): metric.type for metric in found.suite.metrics}
    assert kinds == {
        "json_match": "json_match",
        "id": "exact_match",
        "customer_name": "levenshtein",
        "total": "numeric_match",
        "paid": "exact_match",
    }
    scored = found.suite.score(frame)
    assert all(scored[f"{name}_score"].mean() == 1.0 for name in kinds)


def test_tool_calls() -> None:
    calls = json.dumps([{"name": "search", "arguments": {"query": "x"}}])
    assert chosen(frame_of([calls], [calls])) == ["tool_calls"]
    listed = [[{"name": "search", "arguments": '{"query": "x"}'}]] * 20
    frame = pl.DataFrame({"output": ["done"] * 20, "tool_calls": listed, "expected": [calls] * 20})
    (metric,) = pe.suggest(frame).suite.metrics
    assert (metric.type, metric.output) == ("tool_calls", "tool_calls")


def test_ids_of_documents() -> None:
    frame = pl.DataFrame({"output": [["doc-1", "doc-2"]] * 20, "expected": [["doc-2"]] * 20})
    assert chosen(frame) == ["recall_at_k", "ndcg", "reciprocal_rank"]


def test_texts_by_length() -> None:
    words = [f"the capital of country {n} is city {n}" for n in range(60)]
    assert chosen(pl.DataFrame({"output": words, "expected": words})) == ["levenshtein", "token_f1"]
    long = [f"{text}, and {text}, which {text}" for text in words]
    assert chosen(pl.DataFrame({"output": long, "expected": long})) == ["rouge", "token_f1"]


def test_cleaning_is_proposed_where_it_is_needed() -> None:
    words = [f"city number {n}" for n in range(60)]
    frame = pl.DataFrame(
        {"output": [f"<think>hm</think>\nAnswer: {text}" for text in words], "expected": words}
    )
    found = pe.suggest(frame)
    assert list(found.suite.metrics[0].clean) == ["reasoning", {"after": "Answer:"}]
    assert found.suite.score(frame)["levenshtein_score"].mean() == 1.0


@pytest.mark.parametrize(
    ("name", "values", "high"), [("judge_score", [0.1, 0.9, 0.5], 1.0), ("rating", [1, 5, 3], 5.0)]
)
def test_an_existing_score_is_a_metric(name: str, values: list[float], high: float) -> None:
    words = [f"city number {n}" for n in range(60)]
    frame = pl.DataFrame({"output": words, "expected": words, name: values * 20})
    found = pe.suggest(frame)
    metric = found.suite.metrics[-1]
    assert (metric.type, metric.output) == ("column", name)
    scored = found.suite.score(frame)
    assert scored[f"{metric.name}_score"].max() == max(values) / high
    assert f"{name} holds scores" in found.reasons[-1]


def test_a_column_of_other_numbers_is_no_score() -> None:
    words = [f"city number {n}" for n in range(60)]
    frame = pl.DataFrame({"output": words, "expected": words, "score_id": range(60), "latency": [0.5] * 60})
    assert "column" not in chosen(frame.with_columns(score_id=pl.col("score_id") * 1000))


def test_without_expected_values_the_answers_tell() -> None:
    frame = pl.DataFrame({"output": ["a short answer", "another answer"] * 3})
    assert chosen(frame) == ["levenshtein", "token_f1"]


def test_the_same_rows_give_the_same_suggestion_in_any_order() -> None:
    frame = frame_of(["spam", "ham!", "a spam"], ["spam", "ham", "spam"])
    suggestions = {str(pe.suggest(frame.sample(fraction=1.0, shuffle=True, seed=seed))) for seed in range(20)}
    assert len(suggestions) == 1


def test_nothing_to_score() -> None:
    with pytest.raises(ValueError, match="no column 'output'"):
        pe.suggest(pl.DataFrame({"text": ["a"]}))
    with pytest.raises(ValueError, match="no row has an answer"):
        pe.suggest(pl.DataFrame({"output": [None]}, schema={"output": pl.String}))


REAL = {
    "llmdrift_prime.parquet": ["exact_match"],
    "llmdrift_sensitive.parquet": ["rouge", "token_f1"],
    "outputs.parquet": ["rouge", "token_f1"],
    "languages.parquet": ["rouge", "token_f1"],
}


@pytest.mark.skipif(not SHARED.exists(), reason="the real texts are not here")
@pytest.mark.parametrize("name", REAL)
def test_real_texts(name: str) -> None:
    frame = pl.read_parquet(SHARED / name)
    assert chosen(frame) == REAL[name]


@pytest.mark.skipif(not SHARED.exists(), reason="the real texts are not here")
def test_the_published_change_of_gpt_4_comes_out() -> None:
    frame = pl.read_parquet(SHARED / "llmdrift_prime.parquet")
    scored = pe.suggest(frame).suite.score(frame)
    means = dict(scored.group_by("model").agg(pl.col("exact_match_score").mean()).iter_rows())
    assert means["gpt-4-0314"] == pytest.approx(0.84, abs=0.005)
    assert means["gpt-4-0613"] == pytest.approx(0.511, abs=0.005)
