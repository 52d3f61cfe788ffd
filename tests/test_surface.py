"""Functions, namespaces and the extension's stub name the same things."""

import inspect
import re

import polars as pl

import polars_evals as pe
from polars_evals import clean, metrics
from polars_evals.namespace import Evals
from tests.cases import CASES

DISTANCES = {"levenshtein_distance"}
# What `length_between` takes in place of an expected column.
BOUNDS = {"minimum", "maximum"}


def public(namespace: type) -> set[str]:
    return {name for name in vars(namespace) if not name.startswith("_")}


def test_every_metric_is_a_function_a_method_and_a_case() -> None:
    names = set(metrics.__all__)
    assert names <= set(pe.__all__)
    assert public(Evals) == names | set(clean.__all__)
    assert {case.name for case in CASES} == names - DISTANCES


def test_everything_is_documented() -> None:
    for name in [*clean.__all__, *metrics.__all__]:
        function = getattr(pe, name)
        assert function.__name__ == name
        documented = inspect.getdoc(function) or ""
        assert ">>>" in documented, name
        for option in inspect.signature(function).parameters:
            assert re.search(rf"^(\w+, )*\*?{option}(, \w+)*$", documented, re.MULTILINE), (name, option)


def test_options_are_keywords_and_every_score_has_the_common_ones() -> None:
    for name in metrics.__all__:
        parameters = inspect.signature(getattr(pe, name)).parameters
        optional = [p for p in parameters.values() if p.default is not p.empty]
        assert all(p.kind is p.KEYWORD_ONLY for p in optional if p.name not in BOUNDS), name
        if name not in DISTANCES:
            assert {"threshold", "missing", "details"} <= set(parameters), name


def test_methods_show_the_function_in_help() -> None:
    method = pl.col("a").evals.levenshtein  # type: ignore[attr-defined]
    assert method.__doc__ == pe.levenshtein.__doc__
    assert "threshold" in inspect.signature(method).parameters
