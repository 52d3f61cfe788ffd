"""Aggregates are those of scikit-learn, sacrebleu and jiwer, and each row's influence adds up to them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jiwer
import numpy as np
import polars as pl
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn
from sklearn.exceptions import UndefinedMetricWarning

import polars_evals as pe
from polars_evals.drift.aggregates import Influence, influence
from polars_evals.suite.aggregate import OF_CLASSES, OF_ONE_CLASS

OUTPUTS = Path(__file__).parents[3] / "shared" / "data" / "outputs.parquet"

ORACLES: dict[str, Callable[[Any, Any], float]] = {
    "accuracy": sklearn.accuracy_score,
    "balanced_accuracy": sklearn.balanced_accuracy_score,
    "macro_f1": lambda a, b: sklearn.f1_score(a, b, average="macro"),
    "micro_f1": lambda a, b: sklearn.f1_score(a, b, average="micro"),
    "weighted_f1": lambda a, b: sklearn.f1_score(a, b, average="weighted"),
    "f1": lambda a, b: sklearn.f1_score(a, b, average=None, labels=["a"])[0],
    "precision": lambda a, b: sklearn.precision_score(a, b, average=None, labels=["a"])[0],
    "recall": lambda a, b: sklearn.recall_score(a, b, average=None, labels=["a"])[0],
    "mcc": sklearn.matthews_corrcoef,
    "cohen_kappa": sklearn.cohen_kappa_score,
}


def of(kind: str, expected: list[Any], output: list[Any], **columns: Any) -> Influence:
    frame = pl.DataFrame({"expected": expected, "output": output}, **columns)
    positive = "a" if kind in OF_ONE_CLASS else None
    counts = frame.select(pe.Aggregate(kind, positive=positive).counts(frame.schema)).to_series().drop_nulls()
    return influence(kind, counts, np.ones(len(counts)), positive=positive)


@pytest.mark.parametrize("kind", OF_CLASSES)
@settings(max_examples=60, deadline=None)
@given(pairs=st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcde")), min_size=1, max_size=60))
def test_classes_are_scikit_learns_or_null_where_it_warns(kind: str, pairs: list[tuple[str, str]]) -> None:
    expected, output = map(list, zip(*pairs, strict=True))
    found = of(kind, expected, output)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        oracle = ORACLES[kind](expected, output)
    undefined = any(issubclass(one.category, UndefinedMetricWarning) for one in told)
    if np.isnan(found.value):
        assert found.reason
        assert undefined or not np.isfinite(oracle) or kind == "mcc"
    else:
        assert found.value == pytest.approx(oracle, abs=1e-9)
        assert found.pseudo.mean() == pytest.approx(oracle, abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "expected", "output"),
    [("mcc", ["a", "a"], ["a", "b"]), ("cohen_kappa", ["a", "a"], ["a", "a"]), ("recall", ["b"], ["a"]),
     ("precision", ["a"], ["b"]), ("f1", ["b"], ["c"])],
)  # fmt: skip
def test_what_is_not_defined_is_nothing_with_a_reason(
    kind: str, expected: list[str], output: list[str]
) -> None:
    found = of(kind, expected, output)
    assert np.isnan(found.value)
    assert found.reason


def test_no_output_is_wrong_and_no_class_of_its_own() -> None:
    assert of("macro_f1", ["a", "b"], ["a", None]).value == pytest.approx(0.5)
    assert of("accuracy", ["a", "b"], ["a", None]).value == pytest.approx(0.5)
    # A row without an expected value does not count.
    assert of("accuracy", ["a", None], ["a", "b"]).value == 1.0


def test_labels_are_those_of_scikit_learn() -> None:
    expected, output = ["a", "b", "a", "b", "a"], ["a", "b", "well, it is", "a", "a"]
    frame = pl.DataFrame({"expected": expected, "output": output})
    aggregate = pe.Aggregate("macro_f1", labels=["a", "b"])
    counts = frame.select(aggregate.counts(frame.schema)).to_series()
    found = influence("macro_f1", counts, np.ones(5)).value
    assert found == pytest.approx(
        sklearn.f1_score(expected, output, average="macro", labels=["a", "b"]), abs=1e-12
    )
    with pytest.raises(ValueError, match="list of texts"):
        pe.Aggregate("macro_f1", labels="ab")


def test_numbers_and_booleans_are_classes() -> None:
    assert of("accuracy", [1, 2, 3], [1.0, 2.0, 4.0]).value == pytest.approx(2 / 3)
    assert of("mcc", [True, False, True], [True, False, False]).value == pytest.approx(
        sklearn.matthews_corrcoef([1, 0, 1], [1, 0, 0])
    )
    frame = pl.DataFrame({"expected": [True, False, True], "output": [True, False, False]})
    recall = frame.select(pe.Aggregate("recall", positive=True).counts(frame.schema)).to_series()
    assert recall.struct.field("positive").to_list() == ["true"] * 3


def test_the_influence_of_accuracy_is_that_of_a_mean() -> None:
    found = of("accuracy", list("aaabbb"), list("aabbba"))
    assert found.pseudo == pytest.approx(np.array([1, 1, 0, 1, 1, 0]))


@pytest.mark.parametrize("kind", ["macro_f1", "mcc", "cohen_kappa", "balanced_accuracy"])
def test_standard_errors_are_those_of_a_bootstrap(kind: str) -> None:
    rng = np.random.default_rng(3)
    expected = rng.choice(list("abc"), 300, p=[0.5, 0.3, 0.2])
    output = np.where(rng.random(300) < 0.75, expected, rng.choice(list("abc"), 300))
    found = of(kind, list(expected), list(output))
    draws = rng.integers(0, 300, (400, 300))
    again = np.std([ORACLES[kind](expected[rows], output[rows]) for rows in draws])
    assert found.pseudo.std(ddof=1) / 300**0.5 == pytest.approx(again, rel=0.15)


WORDS = st.lists(st.sampled_from(["the", "cat", "sat", "on", "a", "mat", "dog.", "Ünï", "5,000"]), max_size=9)


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.tuples(WORDS.map(" ".join), WORDS.map(" ".join)), min_size=1, max_size=8))
def test_corpus_scores_are_sacrebleus(texts: list[tuple[str, str]]) -> None:
    output, expected = map(list, zip(*texts, strict=True))
    for kind, oracle in (("corpus_bleu", sacrebleu.corpus_bleu), ("corpus_chrf", sacrebleu.corpus_chrf)):
        found = of(kind, expected, output)
        if any(expected):
            assert found.value == pytest.approx(oracle(output, [expected]).score / 100, abs=1e-9)
        else:
            assert found.reason == "the expected texts are all empty"


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(st.tuples(WORDS.map(" ".join), WORDS.map(" ".join)), min_size=1, max_size=8))
def test_error_rates_are_jiwers(texts: list[tuple[str, str]]) -> None:
    words = pl.DataFrame(texts, schema=["output", "expected"], orient="row").select(
        pl.all().str.to_lowercase().str.extract_all(r"\w+").list.join(" ")
    )
    output, expected = words["output"].to_list(), words["expected"].to_list()
    found = of("corpus_wer", expected, output)
    if not any(expected):
        assert np.isnan(found.value)
        return
    alignment = [jiwer.process_words([e], [o]) for e, o in zip(expected, output, strict=True) if e]
    errors = sum(one.substitutions + one.insertions + one.deletions for one in alignment)
    errors += sum(len(o.split()) for e, o in zip(expected, output, strict=True) if not e)
    length = sum(len(e.split()) for e in expected)
    assert found.value == pytest.approx(max(0.0, 1 - errors / length), abs=1e-9)
    assert of("corpus_cer", expected, output).value >= 0


@pytest.mark.skipif(not OUTPUTS.exists(), reason="needs the shared data")
@pytest.mark.parametrize("kind", ["corpus_bleu", "corpus_chrf"])
def test_real_corpora_are_sacrebleus(kind: str) -> None:
    frame = pl.read_parquet(OUTPUTS).head(805)
    found = of(kind, frame["expected"].to_list(), frame["output"].to_list())
    oracle = getattr(sacrebleu, kind)(frame["output"].to_list(), [frame["expected"].to_list()])
    assert found.value == pytest.approx(oracle.score / 100, abs=1e-9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: pe.Aggregate("makro_f1"), 'unknown aggregate "makro_f1"; did you mean "macro_f1"'),
        (lambda: pe.Aggregate("f1"), "name the class"),
        (lambda: pe.Aggregate("mcc", positive="a"), "takes no `positive`"),
        (lambda: pe.Aggregate("f1", positive=["a", "b"]), "one class"),
    ],
)
def test_wrong_aggregates_are_errors(given: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        given()


def test_lists_are_no_labels() -> None:
    with pytest.raises(pl.exceptions.InvalidOperationError, match="aggregate 'mcc': column 'output'"):
        of("mcc", ["a"], [["a"]])
