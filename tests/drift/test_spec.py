"""One specification: written in several ways, checked once, the same behind every door."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe
from polars_evals.cli import app
from polars_evals.cli.options import comparison_spec
from polars_evals.drift import ComparisonSpec, compare_spec
from polars_evals.drift.spec import SpecOptions
from tests.drift.frames import versions

SPEC = ComparisonSpec(version="model", baseline="a", item="case_id")


def frame() -> pl.DataFrame:
    return versions({"a": [0.1, 0.2, 0.3], "b": [0.1, 0.2, 0.4], "c": [0.0, 0.1, 0.2]})


@pytest.mark.parametrize(
    "candidate",
    [["b", "c"], ("b", "c"), {"c", "b"}, frozenset("bc"), pl.Series(["b", "c"]), (x for x in "bc")],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_any_collection_of_candidates(candidate: Any) -> None:
    assert replace(SPEC, candidate=candidate).candidate == ("b", "c")


def test_one_candidate_or_none() -> None:
    assert replace(SPEC, candidate="b").candidate == ("b",)
    assert replace(SPEC, candidate=2).candidate == (2,)
    assert SPEC.candidate is None
    assert SPEC.resolve(frame().schema, ["a", "b", "c"]).candidates == ("b", "c")


def test_a_specification_is_frozen_and_equal_to_one_that_means_the_same() -> None:
    one = replace(SPEC, by=["topic", ["topic", "language"]], metrics="m")
    other = replace(SPEC, by=("topic", ("topic", "language")), metrics=["m"])
    assert one == other
    assert hash(one) == hash(other)
    with pytest.raises(FrozenInstanceError):
        one.alpha = 0.5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"alpha": 0}, ValueError, "alpha must lie between 0 and 1"),
        ({"min_effect": 1}, ValueError, "min_effect must be at least 0 and below 1"),
        ({"seed": -1}, ValueError, "seed must be an integer"),
        ({"item": 3}, TypeError, "item takes the name of a column, got int"),
        ({"version": None}, TypeError, "version takes the name of a column, got NoneType"),
        ({"by": [["topic", "topic"]]}, ValueError, "by must name each slice once"),
        ({"by": [3]}, TypeError, "'int' object is not iterable"),
        ({"by": [["topic", 3]]}, TypeError, "by takes the name of a column, got int"),
        ({"metrics": ["m", "m"]}, ValueError, "metrics must name each metric once"),
        ({"candidate": []}, ValueError, "nothing to compare"),
    ],
)
def test_what_is_wrong_without_any_table(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        replace(SPEC, **given)


def test_what_is_wrong_with_a_table() -> None:
    schema = frame().schema
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="by: there is no column 'topic'"):
        replace(SPEC, by="topic").resolve(schema, ["a", "b"])
    with pytest.raises(ValueError, match="baseline and candidates must all differ"):
        replace(SPEC, candidate=["b", "a"]).resolve(schema, ["a", "b"])
    with pytest.raises(ValueError, match="candidate 'x' is not in column 'model'"):
        replace(SPEC, candidate="x").resolve(schema, ["a", "b"])


def test_versions_are_texts_once_resolved() -> None:
    numbers = frame().with_columns(model=pl.col("model").replace_strict({"a": 1, "b": 2, "c": 3}))
    resolved = replace(SPEC, baseline=1, candidate=[2]).resolve(numbers.schema, ["1", "2"])
    assert resolved.versions == ["1", "2"]
    # What is resolved stays as it is.
    assert resolved.resolve(numbers.schema, ["1", "2", "3"]) == resolved


def test_a_comparison_repeats_itself_by_its_specification() -> None:
    once = pe.compare(frame(), version="model", baseline="a", item="case_id", alpha=0.1)
    again = compare_spec(frame(), once.spec)
    assert once.spec == again.spec
    for name, table in once.frames().items():
        assert_frame_equal(table, again.frames()[name])


def test_settings_are_plain_and_hold_every_field_but_how_many_flips_are_kept() -> None:
    settings = pe.compare(frame(), version="model", baseline="a", item="case_id").settings
    assert list(settings) == [field.name for field in fields(ComparisonSpec)]
    assert settings["candidate"] == ["b", "c"]
    assert settings["by"] == []


def test_the_arguments_stand_once() -> None:
    """`compare` and what hands its arguments on have the fields of the specification, with its defaults."""
    arguments = inspect.signature(pe.compare).parameters
    own = {name: one.default for name, one in arguments.items() if name != "scored"}
    assert own.keys() == {field.name for field in fields(ComparisonSpec)}
    for field in fields(ComparisonSpec):
        if field.name not in ("version", "baseline"):
            assert own[field.name] == field.default, field.name
    assert {*SpecOptions.__annotations__} == {*arguments} - {"scored"}


def test_the_command_has_the_same_defaults() -> None:
    arguments = inspect.signature(pe.compare).parameters
    options = {
        name: option
        for name, option in inspect.signature(app.compare).parameters.items()
        if name in arguments
    }
    assert {*arguments} - {*options} == {"seed"}
    for name, option in options.items():
        # The command finds these in the file.
        found = name in ("version", "baseline")
        expected = None if found else arguments[name].default
        assert option.default == expected, name
    given = {"version": "m", "baseline": "a", "candidate": [], "by": ["t,l", "t"], "metrics": []}
    assert comparison_spec(given) == ComparisonSpec(version="m", baseline="a", by=[("t", "l"), "t"])
