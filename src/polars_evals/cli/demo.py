"""The main job on example data: from traces to a verdict and a page."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

import polars_evals
from polars_evals._errors import InputError
from polars_evals.drift import compare
from polars_evals.storage.objects import write_file
from polars_evals.suite import Metric, Suite
from polars_evals.wording import to_json

BASELINE, CANDIDATE = "assistant-1.0", "assistant-2.0"


def _example_traces() -> Path:
    """Find the example traces: in the installed package, or in the project's folder."""
    package = Path(polars_evals.__file__).parent
    for path in (package / "demo" / "traces.parquet", package.parents[1] / "data" / "traces.parquet"):
        if path.exists():
            return path
    raise InputError("the example traces are not installed: reinstall polars-evals")


def run_demo(folder: Path, *, as_json: bool) -> str:
    """Score, compare by topic, write the page, and say what came out and where it is."""
    suite = Suite([Metric("exact_match"), Metric("levenshtein"), Metric("rouge", tokenizer="unicode")])
    folder.mkdir(parents=True, exist_ok=True)
    scored, page = folder / "scored.parquet", folder / "report.html"
    suite.sink_parquet(pl.scan_parquet(_example_traces()), scored)
    comparison = compare(
        pl.scan_parquet(scored),
        version="model",
        baseline=BASELINE,
        candidate=CANDIDATE,
        item="item_id",
        cluster="session_id",
        by=["topic"],
    )
    write_file(page, comparison.to_html())
    if as_json:
        result = {"verdict": comparison.verdict, "scored": str(scored), "html": str(page)}
        return to_json(
            result | {"summary": comparison.summary.to_dicts(), "slices": comparison.slices.to_dicts()}
        )
    from polars_evals.report.terminal import text, width_of

    paths = {"scores": str(scored), "report": str(page)}
    width = width_of(sys.stdout)
    return text(comparison, width=width, more="print(comparison.explain())", lines=20, paths=paths)
