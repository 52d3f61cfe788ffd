"""Measures of a suite: in Python and in files."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import polars_evals as pe

FILE = """
metric = [{ type = "exact_match" }]
[[measure]]
name = "latency_ms"
min_effect = 50
[[measure]]
name = "stars"
lower_is_better = false
bounds = [1, 5]
quantiles = []
"""


def test_a_file_and_python_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "evals.toml"
    path.write_text(FILE)
    suite = pe.Suite.load(path)
    options = {
        "latency_ms": {"min_effect": 50},
        "stars": {"lower_is_better": False, "bounds": [1, 5], "quantiles": []},
    }
    assert suite == pe.Suite([pe.Metric("exact_match")], measures=options)
    assert pe.Suite.from_dict(suite.to_dict()) == suite
    assert "measures=['latency_ms', 'stars']" in repr(suite)
    assert not pe.Suite([pe.Metric("exact_match")]).measures


def test_a_comparison_takes_them() -> None:
    suite = pe.Suite([pe.Metric("exact_match")], measures=["latency_ms"])
    frame = pl.DataFrame(
        {
            "item": [*range(40)] * 2,
            "model": ["a"] * 40 + ["b"] * 40,
            "output": ["x"] * 80,
            "expected": ["x"] * 80,
            "latency_ms": [100.0 + i for i in range(40)] + [200.0 + i for i in range(40)],
        }
    )
    comparison = pe.compare(
        suite.score(frame), version="model", baseline="a", item="item", measures=suite.measures
    )
    assert dict(comparison.summary.select("metric", "verdict").iter_rows())["latency_ms"] == "regressed"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('name = "latency_ms"\nmin_efect = 5', r'measure\[1\] "latency_ms": .*did you mean "min_effect"'),
        ('name = "retries"', "better direction"),
        ("lower_is_better = true", r"measure\[1\]: `name` must be the name of a column"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, entry: str, message: str) -> None:
    path = tmp_path / "evals.toml"
    path.write_text(f'metric = [{{ type = "exact_match" }}]\n[[measure]]\n{entry}\n')
    with pytest.raises(ValueError, match=message):
        pe.Suite.load(path)


def test_a_name_is_a_metric_or_a_measure() -> None:
    with pytest.raises(ValueError, match='"cost" is a metric and a measure'):
        pe.Suite([pe.Metric("exact_match", name="cost")], measures=["cost"])
