from collections.abc import Callable, Iterator

import polars as pl
import pytest

from polars_evals import metrics
from polars_evals.suite.metric import metric_type


@pytest.fixture
def add_metric(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[..., pl.Expr]], None]]:
    """Make a function a metric for one test."""

    def add(function: Callable[..., pl.Expr]) -> None:
        name = function.__name__
        monkeypatch.setattr(metrics, name, function, raising=False)
        monkeypatch.setattr(metrics, "__all__", [*dict.fromkeys([*metrics.__all__, name])])
        metric_type.cache_clear()

    yield add
    metric_type.cache_clear()
