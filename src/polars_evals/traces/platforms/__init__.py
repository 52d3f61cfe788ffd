"""One file for each tool with logic of its own, and tables of the other layouts."""

from collections.abc import Mapping

from polars_evals.traces.platforms.base import Platform
from polars_evals.traces.platforms.benchmarks import BENCHMARKS
from polars_evals.traces.platforms.inspect_ai import INSPECT
from polars_evals.traces.platforms.langfuse import LANGFUSE
from polars_evals.traces.platforms.layouts import GENERIC, LAYOUTS
from polars_evals.traces.platforms.lm_eval import LM_EVAL
from polars_evals.traces.platforms.mlflow import MLFLOW
from polars_evals.traces.platforms.otel import OTEL
from polars_evals.traces.platforms.promptfoo import PROMPTFOO
from polars_evals.traces.platforms.weave import WEAVE

_OWN = (LANGFUSE, MLFLOW, OTEL, INSPECT, LM_EVAL, PROMPTFOO, WEAVE)
PLATFORMS: Mapping[str, Platform] = {
    platform.name: platform for platform in (*_OWN, *LAYOUTS, *BENCHMARKS, GENERIC)
}

__all__ = ["GENERIC", "PLATFORMS", "Platform"]
