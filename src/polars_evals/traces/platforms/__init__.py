"""One small file for each platform or family of files: where it keeps what the canonical columns hold."""

from collections.abc import Mapping

from polars_evals.traces.platforms.base import Platform
from polars_evals.traces.platforms.braintrust import BRAINTRUST
from polars_evals.traces.platforms.inspect_ai import INSPECT
from polars_evals.traces.platforms.langfuse import LANGFUSE
from polars_evals.traces.platforms.langsmith import LANGSMITH
from polars_evals.traces.platforms.lm_eval import LM_EVAL
from polars_evals.traces.platforms.mlflow import MLFLOW
from polars_evals.traces.platforms.otel import OTEL
from polars_evals.traces.platforms.phoenix import PHOENIX
from polars_evals.traces.platforms.promptfoo import PROMPTFOO
from polars_evals.traces.platforms.tables import GENERIC, TABLES
from polars_evals.traces.platforms.tools import LITELLM, LOGFIRE, WEAVE

PLATFORMS: Mapping[str, Platform] = {
    platform.name: platform
    for platform in (
        *(LANGFUSE, LANGSMITH, PHOENIX, MLFLOW, OTEL, INSPECT, LM_EVAL, PROMPTFOO, BRAINTRUST),
        *(WEAVE, LITELLM, LOGFIRE, *TABLES, GENERIC),
    )
}

__all__ = ["GENERIC", "PLATFORMS", "Platform"]
