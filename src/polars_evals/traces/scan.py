"""The front door: scan an export, and say what it is."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_evals.storage.paths import Paths
from polars_evals.traces.detect import Detection, choose_files, platform_named
from polars_evals.traces.files import expand
from polars_evals.traces.plan import check_options, make_plan
from polars_evals.traces.rows import Rows
from polars_evals.traces.scores import with_scores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_log = logging.getLogger("polars_evals.traces")


def scan_traces(
    path: Paths,
    format: str = "auto",  # noqa: A002 - the word that users of scan functions expect
    *,
    columns: Mapping[str, str | pl.Expr] | None = None,
    keep: Sequence[str] = (),
    rows: Rows | None = None,
    scores: bool = False,
    storage_options: dict[str, Any] | None = None,
) -> pl.LazyFrame:
    """
    Scan the traces that a platform exported into one frame for scoring.

    Parameters
    ----------
    path
        A file (Parquet, JSON Lines, JSON, CSV, YAML, Inspect's `.eval`; lines also packed as `.gz` or
        `.zst`), a folder, a pattern such as `traces/**/*.parquet`, a URL as `polars.scan_parquet` takes it,
        or a list of these.
    format
        The platform or layout: `langfuse`, `langsmith`, `phoenix`, `mlflow`, `otel`, `inspect`, `lm_eval`,
        `promptfoo`, `braintrust`, `weave`, `litellm`, `logfire`, `batch`, `messages`, `ragas`, `deepeval`,
        `alpaca_eval`, `openai_evals`, `helm`, `model_answer`, `swebench`, `bfcl`, `tau_bench`,
        `pydantic_evals`, `lighteval`, `adk`, `every_eval_ever`, `openai_agents`, `dspy`, `mmlu_pro`,
        `ifeval`, `rag_evaluator`, `trulens`, `deepeval_traces`, `ragas_experiment`, `cloud_batch`,
        `generic` for columns of your own, or `auto` to tell each file by what it holds.
    columns
        Where to find canonical columns, for `generic` or to overrule a platform: the name of a source column,
        a path into one (`metadata.model`, `outputs.choices[0].text`), or an expression over the source
        columns.
    keep
        More source columns to keep. One that has a canonical name gets the prefix `source_`.
    rows
        `traces`, the default: one answer, one row. A trace of several spans is its root's input and output
        where it has them, else its last model call. `spans`: the model calls. `outputs`: the records that
        carry an output. `all`: every record. In tables of answers (`inspect`, `promptfoo`, `generic`, …)
        every record is an answer, and a missing one stays: it scores 0.0 and fails.
    scores
        Whether to add the scores that the platform holds, as `<name>_score` and `<name>_label`. Their names
        are looked up in the files first.
    storage_options
        Options for cloud storage, as `polars.scan_parquet` takes them.

    Returns
    -------
    LazyFrame
        The columns `item_id`, `trace_id`, `span_id`, `session_id`, `ts`, `model`, `version`, `input`,
        `output`, `expected`, `kind`, `error`, `finish_reason`, `latency_ms`, `input_tokens`, `output_tokens`,
        `cost`, `tool_calls` and `contexts`, null where the source has none, and those in `keep`.

    Raises
    ------
    polars.exceptions.NoDataError
        If a file has records and no answer in any of them, unless `rows="all"`.

    Notes
    -----
    `item_id` pairs the same question across versions: the platform's dataset item, example or sample; else
    the BLAKE2b hash (16 bytes, in hexadecimal) of the question: its messages, without the model, its
    parameters, ids, times and the spacing of JSON. A blank question has none.

    A record that is broken stays, with a null `output` and an `error` that names its line;
    [`check_traces`][polars_evals.check_traces] counts them.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> folder = mkdtemp()
    >>> pl.DataFrame(
    ...     {"question": ["2 + 2?", "3 + 3?"], "answer": ["4", None], "truth": ["4", "6"]}
    ... ).write_parquet(f"{folder}/answers.parquet")
    >>> traces = pe.scan_traces(
    ...     f"{folder}/answers.parquet",
    ...     format="generic",
    ...     columns={"input": "question", "output": "answer", "expected": "truth"},
    ... )
    >>> traces.select("input", "output", "expected").collect()
    shape: (2, 3)
    ┌────────┬────────┬──────────┐
    │ input  ┆ output ┆ expected │
    │ ---    ┆ ---    ┆ ---      │
    │ str    ┆ str    ┆ str      │
    ╞════════╪════════╪══════════╡
    │ 2 + 2? ┆ 4      ┆ 4        │
    │ 3 + 3? ┆ null   ┆ 6        │
    └────────┴────────┴──────────┘
    """
    rows = "traces" if rows is None else rows
    check_options(columns or {}, keep, rows)
    plan = make_plan(path, format, columns or {}, keep, storage_options)
    _log.info("%s", plan.detection)
    plan.survey()
    if rows != "all":
        plan.require_answers()
    return with_scores(plan, rows) if scores else plan.scan(rows)


def detect_traces(
    path: Paths,
    format: str = "auto",  # noqa: A002
    *,
    storage_options: dict[str, Any] | None = None,
) -> Detection:
    """
    Detect the format of files, the reason, and which files are left out.

    [`scan_traces`][polars_evals.scan_traces] logs the same to the logger `polars_evals.traces` (INFO).

    Parameters
    ----------
    path, format, storage_options
        As in [`scan_traces`][polars_evals.scan_traces].

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> folder = mkdtemp()
    >>> spans = pl.DataFrame({"span_id": ["a"], "root_span_id": ["a"], "output": ["4"]})
    >>> spans.write_parquet(f"{folder}/spans.parquet")
    >>> print(pe.detect_traces(f"{folder}/spans.parquet"))
    braintrust: columns root_span_id, span_id (Braintrust export), in 1 file
    """
    return make_plan(path, format, {"output": pl.lit(None)}, (), storage_options).detection


def trace_files(
    path: Paths,
    format: str = "auto",  # noqa: A002
    *,
    storage_options: dict[str, Any] | None = None,
) -> list[str]:
    """List the files that [`scan_traces`][polars_evals.scan_traces] would read, without opening them."""
    return choose_files(expand(path, storage_options), platform_named(format))[0]
