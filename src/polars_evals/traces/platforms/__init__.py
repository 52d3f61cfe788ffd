"""One file for each tool with logic of its own, and a table of the other layouts."""

from collections.abc import Mapping

from polars_evals.traces.platforms.base import Platform
from polars_evals.traces.platforms.batch import BATCH
from polars_evals.traces.platforms.braintrust import BRAINTRUST
from polars_evals.traces.platforms.deepeval import DEEPEVAL
from polars_evals.traces.platforms.helm import HELM
from polars_evals.traces.platforms.inspect_ai import INSPECT
from polars_evals.traces.platforms.langfuse import LANGFUSE
from polars_evals.traces.platforms.langsmith import LANGSMITH
from polars_evals.traces.platforms.layouts import GENERIC, LAYOUTS
from polars_evals.traces.platforms.lm_eval import LM_EVAL
from polars_evals.traces.platforms.mlflow import MLFLOW
from polars_evals.traces.platforms.openai_evals import OPENAI_EVALS
from polars_evals.traces.platforms.otel import OTEL
from polars_evals.traces.platforms.phoenix import PHOENIX
from polars_evals.traces.platforms.promptfoo import PROMPTFOO
from polars_evals.traces.platforms.weave import WEAVE

PLATFORMS: Mapping[str, Platform] = {
    platform.name: platform
    for platform in (
        *(LANGFUSE, LANGSMITH, PHOENIX, MLFLOW, OTEL, INSPECT, LM_EVAL, PROMPTFOO, BRAINTRUST, WEAVE),
        *(BATCH, DEEPEVAL, OPENAI_EVALS, HELM, *LAYOUTS, GENERIC),
    )
}

__all__ = ["GENERIC", "PLATFORMS", "Platform"]
