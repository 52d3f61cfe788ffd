"""Tools whose export needs no more than a mapping of columns: one table of them."""

from __future__ import annotations

from polars_evals.traces.platforms.base import Platform, marks, numbers_as_scores, scores_by_name

_CANONICAL = (
    *("item_id", "trace_id", "span_id", "session_id", "ts", "model", "version", "input", "output"),
    *("expected", "kind", "error", "finish_reason", "latency_ms", "input_tokens", "output_tokens", "cost"),
)

# A table with our own names. Texts are taken as they are.
GENERIC = Platform(
    "generic",
    "columns with the canonical names",
    marks("output", "input output", "output expected", "input output expected"),
    {name: (f"{name} as text",) for name in _CANONICAL}
    | {
        "question": ("input as item",),
        "expected": ("expected as references",),
        "tool_calls": ("tool_calls as json",),
        "contexts": ("contexts as json",),
    },
    common=True,
)

LAYOUTS = (
    Platform(
        "cloud_batch",
        "Gemini, Vertex AI or Bedrock batch results",
        marks(
            *("recordId modelInput modelOutput", "recordId modelInput error"),
            *("request response processed_time", "key response response.candidates"),
        ),
        {
            "item_id": ("key", "recordId"),
            "ts": ("processed_time",),
            "model": ("response.modelVersion", "response.model_version", "modelOutput.model"),
            "input": ("request", "modelInput"),
            "output": ("response", "modelOutput"),
            "error": ("error.errorMessage", "error.message", "status"),
            "input_tokens": ("response.usageMetadata.promptTokenCount", "modelOutput.usage.input_tokens"),
            "output_tokens": (
                *("response.usageMetadata.candidatesTokenCount", "modelOutput.usage.output_tokens"),
            ),
        },
    ),
    Platform(
        "messages",
        "chats",
        marks("messages", "conversations", "conversation", "messages response"),
        {
            "item_id": ("item_id", "id", "custom_id"),
            "trace_id": ("trace_id",),
            "session_id": ("session_id", "conversation_id"),
            "ts": ("ts", "timestamp", "created_at", "created"),
            "model": ("model", "metadata.model", "generator"),
            "version": ("version",),
            "input": ("messages", "conversations", "conversation"),
            "output": (
                *("output", "response", "completion"),
                *("messages as chat", "conversations as chat", "conversation as chat"),
            ),
            "expected": ("expected", "reference", "ground_truth", "target"),
            "error": ("error",),
        },
        common=True,
    ),
    Platform(
        "ragas",
        "ragas samples",
        marks("user_input response", "user_input reference", "question answer contexts"),
        {
            "item_id": ("id", "sample_id"),
            "model": ("model",),
            "version": ("version",),
            "input": ("user_input", "question"),
            "output": ("response", "answer", "user_input as chat"),
            "expected": ("reference", "ground_truth"),
            "tool_calls": ("user_input",),
            "contexts": ("retrieved_contexts as contexts", "contexts as contexts"),
            "scores": ("scores",),
        },
        unpack=numbers_as_scores(
            *("user_input", "response", "reference", "retrieved_contexts", "reference_contexts"),
            *("multi_responses", "rubric", "rubrics", "reference_tool_calls", "reference_topics"),
            *("question", "answer", "contexts"),
        ),
        lists=(("samples",), ("dataset",)),
        scores=scores_by_name,
        common=True,
    ),
    Platform(
        "alpaca_eval",
        "AlpacaEval outputs",
        marks("instruction output generator", "instruction output_1 output_2", "instruction output dataset"),
        {
            "item_id": ("instruction as item",),
            "model": ("generator", "generator_2"),
            "version": ("version",),
            "input": ("instruction as text",),
            "output": ("output as text", "output_2 as text"),
            "expected": ("expected as text", "reference as text", "output_1 as text"),
        },
        common=True,
    ),
    Platform(
        "litellm",
        "LiteLLM log",
        marks(
            *(
                "call_type litellm_params messages",
                "messages response response_cost",
                "request_id call_type spend",
            ),
            *("id call_type messages response model", "litellm_call_id messages"),
        ),
        {
            "item_id": ("metadata.item_id", "metadata.requester_metadata.item_id"),
            "trace_id": ("trace_id", "litellm_trace_id", "id", "request_id", "litellm_call_id"),
            "span_id": ("id", "request_id", "litellm_call_id"),
            "session_id": ("session_id", "metadata.session_id"),
            "ts": ("startTime", "start_time"),
            "end": ("endTime", "end_time"),
            "model": ("model",),
            "version": ("metadata.version",),
            "input": ("messages", "proxy_server_request.messages", "input"),
            "output": ("response", "original_response"),
            "kind": ("kind",),
            "error": ("error_str", "error_information.error_message", "exception"),
            "latency_s": ("response_time",),
            "input_tokens": ("prompt_tokens", "response.usage.prompt_tokens"),
            "output_tokens": ("completion_tokens", "response.usage.completion_tokens"),
            "cost": ("response_cost", "spend"),
        },
        lists=(("data",),),
    ),
    Platform(
        "logfire",
        "Logfire records",
        marks(
            "trace_id span_id otel_scope_name",
            "trace_id span_name attributes service_name",
            "span_id otel_status_code",
        ),
        {
            "item_id": ("attributes.dataset_item_id", "attributes.case_name"),
            "trace_id": ("trace_id",),
            "span_id": ("span_id",),
            "parent_id": ("parent_span_id",),
            "session_id": ("attributes.gen_ai.conversation.id", "attributes.session.id"),
            "ts": ("start_timestamp",),
            "end": ("end_timestamp",),
            "model": (
                "attributes.gen_ai.response.model",
                "attributes.gen_ai.request.model",
                "attributes.model_name",
            ),
            "version": ("service_version",),
            "input": (
                *(
                    "attributes.gen_ai.input.messages",
                    "attributes.request_data",
                    "attributes.pydantic_ai.all_messages",
                ),
                *("attributes.all_messages_events", "attributes.events", "attributes.prompt"),
            ),
            "output": (
                *("attributes.gen_ai.output.messages", "attributes.final_result", "attributes.response_data"),
                *(
                    "attributes.pydantic_ai.all_messages",
                    "attributes.all_messages_events",
                    "attributes.events",
                ),
            ),
            "expected": ("attributes.expected_output",),
            "kind": ("attributes.gen_ai.operation.name",),
            "status": ("otel_status_code",),
            "status_message": ("exception_message", "otel_status_message"),
            "finish_reason": ("attributes.gen_ai.response.finish_reasons[0]",),
            "latency_s": ("duration",),
            "input_tokens": ("attributes.gen_ai.usage.input_tokens",),
            "output_tokens": ("attributes.gen_ai.usage.output_tokens",),
            "cost": ("attributes.operation.cost",),
        },
        spans=True,
        lists=(("rows",), ("data",)),
    ),
)
