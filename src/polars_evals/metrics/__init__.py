"""Metrics: functions from an output and an expected column to an expression. Each module lists its own."""

from polars_evals.metrics import edit, retrieval, structured, texts, tools, vectors, words
from polars_evals.metrics.edit import *  # noqa: F403
from polars_evals.metrics.retrieval import *  # noqa: F403
from polars_evals.metrics.structured import *  # noqa: F403
from polars_evals.metrics.texts import *  # noqa: F403
from polars_evals.metrics.tools import *  # noqa: F403
from polars_evals.metrics.vectors import *  # noqa: F403
from polars_evals.metrics.words import *  # noqa: F403

__all__ = edit.__all__ + retrieval.__all__ + structured.__all__ + texts.__all__ + tools.__all__
__all__ += vectors.__all__ + words.__all__
