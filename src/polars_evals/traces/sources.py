"""Where each platform keeps what the canonical columns hold.

A canonical column lists the fields (see `fields`) that may hold it, best first: each row takes its first that
is not null. A callable builds an expression where a field cannot say it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import polars as pl

from polars_evals.traces.fields import FILE, Fields
from polars_evals.traces.text import parts_text

Candidate: TypeAlias = str | Callable[[Fields], pl.Expr | None]


@dataclass(frozen=True)
class Source:
    """How one platform writes its traces.

    Parameters
    ----------
    name
        The word for `format=`.
    title
        What the platform calls itself.
    marks
        Sets of columns. A file that has all columns of one set is taken for this source.
    columns
        The fields of each canonical column, best first.
    json
        Columns that must hold valid JSON; rows where they do not are kept and counted.
    unset
        Texts with which the platform writes that there is no value.
    rows
        Which rows are read unless asked otherwise: `outputs`, those of spans that carry one, or `all`, where
        every row is an answer, and a missing one counts.
    chat
        Outputs may be chat messages, and become their text.
    folder
        Where an export has several tables, the folder of the one that is read.
    hint
        What to do where the export holds no output.
    """

    name: str
    title: str
    marks: tuple[frozenset[str], ...]
    columns: Mapping[str, tuple[Candidate, ...]]
    json: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()
    rows: Literal["outputs", "all"] = "outputs"
    chat: bool = True
    folder: re.Pattern[str] | None = None
    hint: str = ""


def _marks(*sets: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(names.split()) for names in sets)


def _attribute(name: str, inner: str = "") -> tuple[str, ...]:
    """Name an OpenTelemetry attribute: a column of its own, or an entry of one attribute column."""
    containers = ("attributes", "span_attributes", "SpanAttributes", "resource", "ResourceAttributes")
    plain = (name, f"attributes.{name}")
    return tuple(f"{found}{inner}" for found in (*plain, *(f"{held}['{name}']" for held in containers)))


def _parent_folder(_: Fields) -> pl.Expr:
    return pl.col(FILE).str.extract(r"([^/\\]+)[/\\][^/\\]*$")


def _date_in_name(_: Fields) -> pl.Expr:
    """Read the date of `samples_{task}_2024-06-01T12-30-45.123456.jsonl`, whose clock has dashes."""
    clock = (
        pl.col(FILE)
        .str.extract_groups(r"_(\d{4}-\d{2}-\d{2}T)(\d{2})-(\d{2})-(\d{2}(?:\.\d+)?)\.jsonl")
        .struct
    )
    text = clock.field("1") + clock.field("2") + ":" + clock.field("3") + ":" + clock.field("4")
    return text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False).dt.replace_time_zone(
        "UTC"
    )


def _document(fields: Fields) -> pl.Expr | None:
    names = [fields.text(name) for name in ("doc_id", "doc_hash")]
    found = [name for name in names if name is not None]
    return pl.concat_str(found, separator="-", ignore_nulls=True) if found else None


def _unquoted(name: str) -> Callable[[Fields], pl.Expr | None]:
    """Read a field that holds a text as a JSON string; null where it holds anything else."""

    def read(fields: Fields) -> pl.Expr | None:
        text = fields.text(name)
        return (
            None if text is None else pl.when(text.str.starts_with('"')).then(text).str.json_path_match("$")
        )

    return read


def _phoenix_parts(fields: Fields) -> pl.Expr | None:
    parts = fields.text("attributes.llm.output_messages[-1:]['message.contents']")
    return None if parts is None else parts_text(parts)


def _dataset_record(fields: Fields) -> pl.Expr | None:
    """Read the origin of a Braintrust span, which may also be a prompt or another log."""
    kind, record = fields.text("origin.object_type"), fields.text("origin.id")
    return None if kind is None or record is None else pl.when(kind == "dataset").then(record)


# The kinds of promptfoo assertion whose value is a text to compare with, not code or a rubric.
_PROMPTFOO_REFERENCES = (
    *("equals", "similar", "levenshtein", "rouge-n", "bleu", "gleu", "meteor", "factuality"),
    *("model-graded-factuality", "contains", "icontains", "starts-with"),
)

LANGFUSE = Source(
    "langfuse",
    "Langfuse blob export",
    _marks(
        *("trace_id provided_model_name", "trace_id project_id parent_observation_id type"),
        *("traceId providedModelName", "traceId parentObservationId"),
    ),
    # The blob export writes snake_case, the API and the download from the pages camelCase.
    {
        "item_id": (
            *("experiment_item_id", "experimentItemId", "dataset_item_id", "datasetItemId"),
            "metadata['dataset_item_id']",
        ),
        "trace_id": ("trace_id", "traceId"),
        "session_id": ("session_id", "sessionId"),
        "ts": ("start_time", "startTime"),
        "model": ("provided_model_name", "providedModelName", "model"),
        "version": ("version", "release", "prompt_version", "promptVersion"),
        "input": ("input",),
        "output": (_unquoted("output"), "output"),
        "expected": (
            *(_unquoted("experiment_item_expected_output"), "experiment_item_expected_output"),
            *(_unquoted("experimentItemExpectedOutput"), "experimentItemExpectedOutput"),
            "metadata['expected_output']",
            *("metadata['expected']", "metadata['reference']"),
        ),
    },
    unset=("", "null"),
    folder=re.compile(r"/observations_v2/[^/]*$"),
)

LANGSMITH = Source(
    "langsmith",
    "LangSmith bulk export",
    _marks("inputs outputs run_type", "inputs outputs dotted_order", "inputs outputs extra trace_id"),
    {
        "item_id": ("reference_example_id",),
        "trace_id": ("trace_id",),
        "session_id": (
            *("extra.metadata.session_id", "extra.metadata.thread_id"),
            "extra.metadata.conversation_id",
        ),
        "ts": ("start_time",),
        "model": ("extra.metadata.ls_model_name", "extra.invocation_params.model"),
        "version": ("extra.metadata.revision_id",),
        "input": ("inputs.input", "inputs.question", "inputs"),
        "output": (
            *("outputs.output.content", "outputs.output", "outputs.answer"),
            *("outputs.generations[0][0].text", "outputs.generations[0].text"),
            *("outputs.messages[-1:].content", "outputs"),
        ),
        "expected": (),
    },
    json=("inputs", "outputs", "extra"),
    unset=("", "null", "{}"),
    folder=re.compile(r"/runs/"),
)

PHOENIX = Source(
    "phoenix",
    "Phoenix spans or experiments",
    _marks(
        *("context.span_id context.trace_id", "attributes.openinference.span.kind"),
        "example_id reference_output",
    ),
    {
        "item_id": ("example_id",),
        "trace_id": ("context.trace_id", "trace_id"),
        "session_id": ("attributes.session.id",),
        "ts": ("start_time",),
        "model": ("attributes.llm.model_name",),
        "version": ("attributes.llm.prompt_template.version",),
        "input": ("attributes.input.value", "input"),
        "output": (
            "attributes.llm.output_messages[-1:]['message.content']",
            _phoenix_parts,
            *("attributes.output.value", "output"),
        ),
        "expected": ("reference_output",),
    },
)

MLFLOW = Source(
    "mlflow",
    "MLflow search_traces",
    _marks("trace trace_id", "trace request_time", "trace request response"),
    {
        "item_id": (),
        "trace_id": ("trace_id", "trace.info.trace_id", "trace.info.request_id"),
        "session_id": (
            *("trace.info.trace_metadata['mlflow.trace.session']", "trace.info.tags['mlflow.trace.session']"),
        ),
        "ts": ("request_time", "trace.info.request_time", "trace.info.timestamp_ms"),
        "model": ("trace.info.tags.model", "trace.data.spans[*].attributes['mlflow.llm.model'] -> $"),
        "version": (
            "trace.info.trace_metadata['mlflow.modelId']",
            "trace.info.tags['mlflow.modelId']",
            "trace.info.trace_metadata['mlflow.source.git.commit']",
        ),
        "input": (
            "trace.data.spans[0].attributes['mlflow.spanInputs'] -> $",
            "trace.data.request",
            "request",
        ),
        "output": (
            "trace.data.spans[0].attributes['mlflow.spanOutputs'] -> $",
            *("trace.data.response", "response"),
        ),
        "expected": ("trace.info.assessments[?(@.assessment_name=='expected_response')].expectation.value",),
    },
    json=("trace",),
    unset=("", "null"),
)

OTEL = Source(
    "otel",
    "OpenTelemetry GenAI spans",
    _marks(
        "gen_ai.output.messages", "attributes.gen_ai.output.messages", "gen_ai.completion", "SpanAttributes"
    ),
    {
        "item_id": (),
        "trace_id": ("trace_id", "TraceId", "traceId", "context.trace_id"),
        "session_id": (*_attribute("gen_ai.conversation.id"), *_attribute("session.id")),
        "ts": ("start_time_unix_nano", "startTimeUnixNano", "start_time", "Timestamp"),
        "model": (*_attribute("gen_ai.response.model"), *_attribute("gen_ai.request.model")),
        "version": (*_attribute("gen_ai.agent.version"), *_attribute("service.version")),
        "input": (*_attribute("gen_ai.input.messages"), *_attribute("gen_ai.prompt")),
        "output": (*_attribute("gen_ai.output.messages"), *_attribute("gen_ai.completion")),
        "expected": (),
    },
    json=(*_attribute("gen_ai.output.messages"), *_attribute("gen_ai.input.messages")),
)

INSPECT = Source(
    "inspect",
    "Inspect samples_df",
    _marks("sample_id eval_id epoch"),
    {
        "item_id": ("id",),
        "trace_id": ("sample_id",),
        "session_id": (),
        "ts": ("created", "started_at", "eval_created"),
        "model": ("model",),
        "version": ("task_version",),
        "input": ("input",),
        "output": ("output",),
        "expected": ("target",),
    },
    rows="all",
    chat=False,
    hint=(
        "samples_df leaves outputs out unless asked: add "
        "SampleColumn('output', path='output.choices[0].message.content', full=True) to its columns"
    ),
)

LM_EVAL = Source(
    "lm_eval",
    "lm-eval samples",
    _marks("doc_id filtered_resps", "doc_id resps target"),
    {
        "item_id": (_document,),
        "trace_id": (),
        "session_id": (),
        "ts": (_date_in_name,),
        "model": (_parent_folder,),
        "version": (),
        "input": ("arguments.gen_args_0.arg_0", "arguments[0][0]", "doc"),
        "output": ("filtered_resps[0]",),
        "expected": ("target",),
    },
    rows="all",
    chat=False,
)

PROMPTFOO = Source(
    "promptfoo",
    "promptfoo results",
    _marks("testIdx testCase", "testIdx promptIdx"),
    {
        "item_id": ("testIdx",),
        "trace_id": ("id",),
        "session_id": ("metadata.sessionId", "response.sessionId"),
        "ts": (),
        "model": ("provider.id",),
        "version": ("promptId",),
        "input": ("prompt.raw",),
        "output": ("response.output",),
        "expected": tuple(f"testCase.assert[?(@.type=='{kind}')].value" for kind in _PROMPTFOO_REFERENCES),
    },
    rows="all",
)

BRAINTRUST = Source(
    "braintrust",
    "Braintrust export",
    _marks("root_span_id span_id"),
    {
        "item_id": ("dataset_record_id", _dataset_record, "root_span_id"),
        "trace_id": ("root_span_id",),
        "session_id": ("metadata.session_id", "metadata.thread_id", "metadata.conversation_id"),
        "ts": ("created",),
        "model": ("metadata.model",),
        "version": ("experiment_id",),
        "input": ("input",),
        "output": ("output",),
        "expected": ("expected",),
    },
)

GENERIC = Source(
    "generic",
    "columns with the canonical names",
    _marks("output"),
    {
        name: (name,)
        for name in (
            *("item_id", "trace_id", "session_id", "ts", "model", "version", "input", "output", "expected"),
        )
    },
    rows="all",
    chat=False,
)

SOURCES: Mapping[str, Source] = {
    source.name: source
    for source in (
        *(LANGFUSE, LANGSMITH, PHOENIX, MLFLOW, OTEL, INSPECT, LM_EVAL, PROMPTFOO, BRAINTRUST, GENERIC),
    )
}
