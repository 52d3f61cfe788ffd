import copy
import pickle
import re
from typing import Any

import polars as pl
import pytest

import polars_evals as pe
from polars_evals import metrics
from polars_evals.suite.metric import metric_names

ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    "type": ({"type": "levenshtien"}, 'unknown metric "levenshtien"; did you mean "levenshtein"?'),
    "type, nothing near": ({"type": "zzz"}, 'unknown metric "zzz"; use one of '),
    "distance": (
        {"type": "levenshtein_distance"},
        '"levenshtein_distance" gives no score and label; a suite',
    ),
    "option": (
        {"type": "levenshtein", "treshold": 1},
        'unknown option "treshold"; did you mean "threshold"?',
    ),
    "option, nothing near": (
        {"type": "levenshtein", "zzz": 1},
        "; levenshtein takes threshold, case_sensitive",
    ),
    "name of a key": ({"type": "levenshtein", "expcted": "b"}, 'did you mean "expected"?'),
    "threshold": ({"type": "levenshtein", "threshold": 2}, "`threshold` must be a number from 0 to 1, got 2"),
    "choice": (
        {"type": "contains", "mode": "al"},
        'must be one of "any", "all", got \'al\'; did you mean "all"?',
    ),
    "flag": ({"type": "exact_match", "trim": "yes"}, "`trim` must be True or False, got 'yes'"),
    "pattern": ({"type": "regex_match", "pattern": "("}, "is not a valid pattern"),
    "no pattern": ({"type": "regex_match"}, 'the option "pattern" (or "pattern_column") is missing'),
    "two patterns": (
        {"type": "regex_match", "pattern": "a", "pattern_column": "b"},
        'both "pattern" and "pattern_column" are given; give one',
    ),
    "expected of one that has none": (
        {"type": "regex_match", "pattern": "a", "expected": "b"},
        'regex_match: compares with no expected column; leave out "expected"',
    ),
    "name": ({"type": "levenshtein", "name": 5}, "`name` must be a name, got 5"),
    "empty name": ({"type": "levenshtein", "name": ""}, "`name` must be a name, got ''"),
    "column": ({"type": "levenshtein", "output": False}, "`output` must be a name, got False"),
    "option's column": (
        {"type": "regex_match", "pattern_column": 1},
        "`pattern_column` must be a name, got 1",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), ERRORS.values(), ids=ERRORS)
def test_wrong_metrics_are_errors_at_once(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        pe.Metric(**arguments)


def test_every_metric_with_a_label_is_a_type_of_suites() -> None:
    assert set(metric_names()) == set(metrics.__all__) - {"levenshtein_distance"} | {"column"}


def test_metrics_are_values() -> None:
    metric = pe.Metric("levenshtein", name="a", threshold=0.5)
    assert metric == pe.Metric(metric.type, name="a", threshold=0.5)
    assert metric != pe.Metric(metric.type, name="a", threshold=0.6)
    assert pickle.loads(pickle.dumps(metric)) == copy.deepcopy(metric) == metric
    assert eval(repr(metric), {"Metric": pe.Metric}) == metric
    suite = pe.Suite([metric, pe.Metric("regex_match", pattern=pl.col("p"))])
    assert pickle.loads(pickle.dumps(suite)).signature == suite.signature
    with pytest.raises(AttributeError):
        metric.name = "b"  # type: ignore[misc]
    with pytest.raises(TypeError):
        metric.settings["threshold"] = 0.6  # type: ignore[index]


def test_options_that_differ_by_row_come_from_a_column_or_an_expression() -> None:
    df = pl.DataFrame({"output": ["a1", "b"], "pattern": [r"\d", r"\d"], "half": ["b", "x"]})
    suite = pe.Suite(
        [
            pe.Metric("regex_match", pattern=r"\d"),
            pe.Metric("regex_match", name="column", pattern_column="pattern"),
            pe.Metric("regex_match", name="expr", pattern=pl.col("half") + "?$"),
        ]
    )
    scored = suite.score(df)
    assert scored["regex_match_score"].to_list() == scored["column_score"].to_list() == [1.0, 0.0]
    assert scored["expr_score"].to_list() == [1.0, 1.0]
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match='no column "half"'):
        suite.score(df.drop("half"))
