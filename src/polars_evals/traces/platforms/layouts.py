"""Tools whose export needs little more than a mapping of columns: a layout each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from polars_evals.traces.platforms.base import Record, as_number, calling, held, layout, numbers_of, objects

# A table with our own names. Texts are taken as they are.
GENERIC = layout("""
    generic: columns with the canonical names
    marks: output, input output, output expected, input output expected
    item_id: item_id|text  trace_id: trace_id|text  span_id: span_id|text  session_id: session_id|text
    ts: ts|text  latency_ms: latency_ms|text  model: model|text  version: version|text
    question: input|item  input: input|text  output: output|text  expected: expected|references
    kind: kind|text  error: error|text  finish_reason: finish_reason|text
    input_tokens: input_tokens|text  output_tokens: output_tokens|text  cost: cost|text
    tool_calls: tool_calls|json  contexts: contexts|json  is: common
""")


_LANGSMITH = layout("""
    langsmith: LangSmith runs
    marks: inputs outputs run_type, inputs outputs dotted_order, inputs outputs extra trace_id
    item_id: reference_example_id  trace_id: trace_id id  span_id: id  parent_id: parent_run_id
    session_id: extra.metadata.session_id extra.metadata.thread_id extra.metadata.conversation_id
        thread_id
    ts: start_time  end: end_time  latency_s: latency
    model: extra.metadata.ls_model_name extra.metadata.model extra.invocation_params.model
        outputs.llm_output.model_name extra.invocation_params.model_name outputs.model inputs.model
    version: extra.metadata.revision_id  input: inputs
    output: outputs.output|answer outputs.answer|answer outputs.result|answer outputs.content|answer
        outputs.text|answer outputs|parsed
    expected: reference_outputs.output reference_outputs.answer reference_outputs
    kind: run_type  error:
    input_tokens: prompt_tokens outputs.usage_metadata.input_tokens outputs.usage.prompt_tokens
        outputs.llm_output.token_usage.prompt_tokens
        outputs.generations[0][0].message.kwargs.usage_metadata.input_tokens
    output_tokens: completion_tokens outputs.usage_metadata.output_tokens outputs.usage.completion_tokens
        outputs.llm_output.token_usage.completion_tokens
        outputs.generations[0][0].message.kwargs.usage_metadata.output_tokens
    cost: total_cost  contexts: outputs.output|contexts outputs.documents|contexts
    scores: feedback_stats feedback
    is: spans  json: inputs outputs extra  folder: /runs/  score.marks: run_id key score
    score.span_id: run_id  score.name: key  score.value: score  score.label: value
""")


_PHOENIX = layout("""
    phoenix: Phoenix spans or experiments
    marks: context.span_id context.trace_id, attributes.openinference.span.kind, example_id reference_output,
        dataset_example_id output, span_kind parent_id trace_id attributes, example_id reference_output
        trace_id
    item_id: example_id dataset_example_id  trace_id: context.trace_id trace_id
    span_id: context.span_id span_id id  parent_id:  session_id: attributes.session.id
    ts: start_time  end: end_time  latency_ms:
    model: attributes.llm.model_name attributes.llm.invocation_parameters.model
        attributes.input.value.model
    version: attributes.llm.prompt_template.version experiment_id
    question: attributes.llm.input_messages|item attributes.input.value|item input|item
    input: attributes.llm.input_messages attributes.input.value input
    output: attributes.llm.output_messages|answer attributes.output.value|answer output
    expected: reference_output.answer reference_output.output reference_output
        attributes.metadata.expected
    kind: attributes.openinference.span.kind span_kind  status: status_code status.status_code
    status_message: status_message status.description events[name=exception].attributes.exception.message
    error:  finish_reason: attributes.output.value|finish attributes.llm.finish_reason
    input_tokens: attributes.llm.token_count.prompt prompt_tokens
    output_tokens: attributes.llm.token_count.completion completion_tokens
    cost: attributes.llm.cost.total total_cost  tool_calls: attributes.llm.output_messages
    contexts: attributes.retrieval.documents|contexts  scores: annotations
    is: spans  lists: data experiment_runs  score.marks: annotation_name span_id, name result span_id
    score.span_id:  score.name: annotation_name name  score.value: result.score score
    score.label: result.label label
""")


@layout("""
    braintrust: Braintrust export
    marks: root_span_id span_id
    item_id: dataset_record_id dataset_record  trace_id: root_span_id  span_id:
    parent_id: span_parents[0] parent
    session_id: metadata.session_id metadata.thread_id metadata.conversation_id
    ts: metrics.start created  end: metrics.end  latency_s: metrics.duration  model: metadata.model
    version: experiment_id  input:  output:  expected:
    kind: span_attributes.type  error: error.message error
    input_tokens: metrics.prompt_tokens  output_tokens: metrics.completion_tokens
    cost: metrics.estimated_cost metrics.cost  contexts: output|contexts  scores:
    is: spans  unpack_marks: origin  lists: events rows
""").unpacked_by
def _braintrust(record: Record, around: Record) -> Iterator[Record]:
    """Name the data set's record that a row comes from; its origin may also be a prompt or another log."""
    origin = held(record, "origin")
    is_dataset = origin.get("object_type") == "dataset"
    yield record | {"dataset_record": origin.get("id")} if is_dataset else record


@layout("""
    batch: OpenAI or Anthropic batch
    marks: custom_id response, custom_id result, custom_id body url, custom_id params
    trace_id: custom_id  span_id: id response.request_id result.message.id  parent_id: part_of
    ts: response.body.created response.body.created_at  model: answer.model body.model params.model
    question: body|item params|item custom_id|text  input: body params  output: answer
    error: failed error.message result.error.error.message result.error.message error
    finish_reason: answer|finish  input_tokens: answer.usage.prompt_tokens answer.usage.input_tokens
    output_tokens: answer.usage.completion_tokens answer.usage.output_tokens  is: spans common requests
""").unpacked_by
def _batch(record: Record, around: Record) -> Iterator[Record]:
    """Tell requests from results; what failed has a body that is no answer."""
    response = held(record, "response")
    body = held(response, "body")
    failed = held(body, "error").get("message") or held(response, "error").get("message")
    yield record | {
        "answer": None if failed else body or held(record, "result").get("message"),
        "failed": failed,
        "part_of": None if "body" in record or "params" in record else record.get("custom_id"),
    }


@layout("""
    deepeval: DeepEval test cases
    marks: input actual_output, input actualOutput, testCases, input actual_output expected_output
    item_id: additionalMetadata.id additional_metadata.id id  latency_s: completionTime completion_time
    model: model additionalMetadata.model additional_metadata.model
    input:  output: actualOutput|text actual_output|text
    expected: expectedOutput|text expected_output|text
    cost: tokenCost token_cost  tool_calls: calls  contexts: contexts|contexts  scores:
    is: common  lists: testCases test_cases goldens testRunData.testCases
""").unpacked_by
def _deepeval(record: Record, around: Record) -> Iterator[Record]:
    """Bring `actualOutput` of saved runs and `actual_output` of data sets to one spelling."""
    called = [
        {"name": call.get("name"), "arguments": call.get("inputParameters", call.get("input_parameters"))}
        for call in objects(record, "toolsCalled" if "toolsCalled" in record else "tools_called")
    ]
    found = record.get("retrieval_context", record.get("retrievalContext"))
    yield record | {
        # Data sets that were saved as lines or as CSV have one text for all.
        "contexts": found.split("|") if isinstance(found, str) and found else found,
        "calls": [calling(called)] if called else None,
        "scores": record.get("metricsData", record.get("metrics_data")),
    }


_SPANS = ("baseSpans", "agentSpans", "llmSpans", "retrieverSpans", "toolSpans")


@layout("""
    deepeval_traces: DeepEval traces
    marks: uuid baseSpans startTime, uuid llmSpans startTime, uuid agentSpans startTime
    item_id: metadata.item_id  trace_id: trace  span_id: uuid  parent_id: parent  session_id: threadId
    ts: startTime  end: endTime  model: model metadata.model  version: metadata.version
    input:  output:  expected: expectedOutput  kind: type  status:  error:
    input_tokens: inputTokenCount  output_tokens: outputTokenCount  contexts: retrievalContext|contexts
    is: spans  lists: traces
""").unpacked_by
def _deepeval_traces(record: Record, around: Record) -> Iterator[Record]:
    """Take a trace of DeepEval apart: the trace itself is the root of its spans."""
    trace = record.get("uuid")
    yield {key: value for key, value in record.items() if key not in _SPANS} | {"trace": trace}
    for name in _SPANS:
        for span in objects(record, name):
            yield {"trace": trace, "parent": span.get("parentUuid") or trace} | span


_EXPERIMENT = re.compile(r"[/\\]experiments[/\\]([^/\\]+)\.(?:csv|jsonl)$")
_ASKED = {"user_input", "question", "query", "input", "prompt"}
_SAID = {"response", "answer", "output", "model_response", "completion", "prediction"}


def _experiment(names: Collection[str], file: str) -> list[str]:
    """Tell a table that ragas keeps of an experiment by its folder, and the columns that hold its answers."""
    if not _EXPERIMENT.search(file):
        return []
    found = [next((name for name in known if name in names), "") for known in (_ASKED, _SAID)]
    return found if all(found) else []


@layout(
    """
    ragas_experiment: ragas experiment
    item_id: id sample_id  model: model model_name  version: experiment
    input: user_input|text question|text query|text input|text prompt|text
    output: response|text answer|text output|text model_response|text completion|text prediction|text
    expected: reference|references ground_truth|references expected_output|references
        expected_answer|references expected|references target|references
    scores:  is: common
""",
    shows=_experiment,
).unpacked_by
def _ragas_experiment(record: Record, around: Record) -> Iterator[Record]:
    """Name the experiment, and take a row's numbers as its scores."""
    name = _EXPERIMENT.search(around.get("file", ""))
    found = {key: as_number(value) for key, value in record.items() if key not in ("id", "row_id")}
    yield record | {
        "experiment": record.get("experiment_name") or (name[1] if name else None),
        "scores": {key: value for key, value in found.items() if value is not None},
    }


# What the answer of a DSPy program is called, where several fields are compared.
_ANSWERS = ("answer", "output", "response", "label", "prediction", "result")


def _compared(names: Collection[str], file: str = "") -> list[str]:
    """Find the columns that DSPy writes twice: what the example says, and what the program said."""
    fields = [name.removeprefix("pred_") for name in names if name.startswith("pred_")]
    pairs = [field for field in fields if f"example_{field}" in names]
    pairs.sort(key=lambda field: _ANSWERS.index(field) if field in _ANSWERS else len(_ANSWERS))
    return [f"{side}_{field}" for field in pairs for side in ("pred", "example")]


@layout(
    """
    dspy: DSPy evaluation
    item_id: item_id id  model:  version:  input: asked  output: answer  expected: wanted|reference
    scores:  is: common
""",
    shows=_compared,
).unpacked_by
def _dspy(record: Record, around: Record) -> Iterator[Record]:
    """Read a row of DSPy's `Evaluate`: the fields of an example and of a prediction, and the metric."""
    [said, wanted, *_] = _compared(record) or ["", ""]
    asked = {
        name: value
        for name, value in record.items()
        if not name.startswith(("pred_", "example_"))
        and name
        not in ("id", "item_id", "reasoning", "rationale", "trajectory", "idx", "dspy_uuid", "dspy_split")
        and isinstance(value, str | dict | list)
    }
    main = [asked[name] for name in ("question", "input", "query", "prompt", "text") if name in asked]
    yield record | {
        "asked": main[0] if main else asked or None,
        "answer": record.get(said) if said else None,
        "wanted": record.get(wanted) if wanted else None,
        "scores": numbers_of(record, "id", "item_id", "idx"),
    }


@layout("""
    trulens: TruLens records
    marks: app_id record_id input output, app_version record_id input output
    item_id: input_id  trace_id: record_id  session_id: conversation_id
    ts:  latency_s: latency  model:  version: app_version app_id
    input:  output:  expected: ground_truth expected  cost: total_cost  scores:
""").unpacked_by
def _trulens(record: Record, around: Record) -> Iterator[Record]:
    """Take the numbers beside an answer as its scores."""
    known = "latency total_tokens total_cost eval_cost eval_cost_snowflake num_events ts is_match sampled"
    yield record | {"scores": numbers_of(record, *known.split(), "sample_rate")}


@layout("""
    pydantic_evals: pydantic-evals report
    marks: inputs output expected_output assertions, inputs output metrics assertions, inputs error_message
        error_stacktrace
    item_id: source_case_name name  latency_s: task_duration  model:
    input: inputs  output:  expected: expected_output  error: error_message  scores:
    lists: cases failures
""").unpacked_by
def _pydantic_evals(record: Record, around: Record) -> Iterator[Record]:
    """Give a case of pydantic-evals the name of its report; a failure is a case without an output."""
    yield record | {
        "model": around.get("name"),
        "scores": held(record, "scores") | held(record, "assertions"),
    }


def _said(content: Any) -> str | None:
    parts = objects(content, "parts")
    return "".join(part["text"] for part in parts if part.get("text") and not part.get("thought")) or None


@layout("""
    adk: ADK evaluation results
    marks: eval_set_id eval_id final_eval_status
    item_id: item  session_id: session  ts:
    input: input|text  output: answer|text  expected: expected|text  scores:  lists: eval_case_results
""").unpacked_by
def _adk(record: Record, around: Record) -> Iterator[Record]:
    """Read a case of an ADK evaluation: its last invocation is the answer."""
    turns = objects(record, "eval_metric_result_per_invocation")
    last = turns[-1] if turns else {}
    actual, wanted = held(last, "actual_invocation"), held(last, "expected_invocation")
    results = objects(record, "overall_eval_metric_results")
    yield {
        "item": f"{record.get('eval_set_id')}/{record.get('eval_id')}",
        "session": record.get("session_id"),
        "ts": actual.get("creation_timestamp"),
        "input": _said(actual.get("user_content")),
        "answer": _said(actual.get("final_response")),
        "expected": _said(wanted.get("final_response")),
        "scores": {str(each.get("metric_name")): each.get("score") for each in results},
    }


@layout(
    """
    openai_agents: OpenAI Agents SDK traces
    marks: object trace_id span_data, data[].trace_id data[].span_data
    trace_id: trace_id id  span_id: id  parent_id:  session_id: group_id
    ts: started_at  end: ended_at  model: span_data.model span_data.response.model
    input: span_data.input  output: span_data.output span_data.response
    kind: span_data.type  error: error.data.error error.message
    input_tokens: span_data.usage.input_tokens  output_tokens: span_data.usage.output_tokens
    is: spans  lists: data
""",
    hint="spans of the Responses API hold only its ids: add span_data.input and "
    "span_data.response.model_dump() to them in a trace processor of your own",
).unpacked_by
def _openai_agents(record: Record, around: Record) -> Iterator[Record]:
    """Take what the exporter of the Agents SDK sends at once apart."""
    yield from objects(record, "data") or [record]


_CLOUD_BATCH = layout("""
    cloud_batch: Gemini, Vertex AI or Bedrock batch results
    marks: recordId modelInput modelOutput, recordId modelInput error, request response processed_time, key
        response response.candidates
    item_id: key recordId
    ts: processed_time  model: response.modelVersion response.model_version modelOutput.model
    input: request modelInput  output: response modelOutput
    error: error.errorMessage error.message status
    input_tokens: response.usageMetadata.promptTokenCount modelOutput.usage.input_tokens
    output_tokens: response.usageMetadata.candidatesTokenCount modelOutput.usage.output_tokens
""")


_MESSAGES = layout("""
    messages: chats
    marks: messages, conversations, conversation, messages response
    item_id: item_id id custom_id  trace_id:  session_id: session_id conversation_id
    ts: ts timestamp created_at created  model: model metadata.model generator  version:
    input: messages conversations conversation
    output: output response completion messages|chat conversations|chat conversation|chat
    expected: expected reference ground_truth target  error:  is: common
""")


@layout("""
    ragas: ragas samples
    marks: user_input response, user_input reference, question answer contexts
    item_id: id sample_id  model:  version:
    input: user_input question  output: response answer user_input|chat
    expected: reference ground_truth
    tool_calls: user_input  contexts: retrieved_contexts|contexts contexts|contexts  scores:
    is: common  lists: samples dataset
""").unpacked_by
def _ragas(record: Record, around: Record) -> Iterator[Record]:
    """Take the numbers beside an answer as its scores."""
    yield record | {"scores": numbers_of(record)}


_LITELLM = layout("""
    litellm: LiteLLM log
    marks: call_type litellm_params messages, messages response response_cost, request_id call_type spend, id
        call_type messages response model, litellm_call_id messages
    item_id: metadata.item_id metadata.requester_metadata.item_id
    trace_id: trace_id litellm_trace_id id request_id litellm_call_id
    span_id: id request_id litellm_call_id  session_id: session_id metadata.session_id
    ts: startTime start_time  end: endTime end_time  latency_s: response_time  model:
    version: metadata.version
    input: messages proxy_server_request.messages input  output: response original_response
    kind:  error: error_str error_information.error_message exception
    input_tokens: prompt_tokens response.usage.prompt_tokens
    output_tokens: completion_tokens response.usage.completion_tokens  cost: response_cost spend
    lists: data
""")


_LOGFIRE = layout("""
    logfire: Logfire records
    marks: trace_id span_id otel_scope_name, trace_id span_name attributes service_name, span_id
        otel_status_code
    item_id: attributes.dataset_item_id attributes.case_name  trace_id:  span_id:
    parent_id: parent_span_id  session_id: attributes.gen_ai.conversation.id attributes.session.id
    ts: start_timestamp  end: end_timestamp  latency_s: duration
    model: attributes.gen_ai.response.model attributes.gen_ai.request.model attributes.model_name
    version: service_version
    input: attributes.gen_ai.input.messages attributes.request_data attributes.pydantic_ai.all_messages
        attributes.all_messages_events attributes.events attributes.prompt
    output: attributes.gen_ai.output.messages attributes.final_result attributes.response_data
        attributes.pydantic_ai.all_messages attributes.all_messages_events attributes.events
    expected: attributes.expected_output
    kind: attributes.gen_ai.operation.name  status: otel_status_code
    status_message: exception_message otel_status_message
    finish_reason: attributes.gen_ai.response.finish_reasons[0]
    input_tokens: attributes.gen_ai.usage.input_tokens
    output_tokens: attributes.gen_ai.usage.output_tokens  cost: attributes.operation.cost
    is: spans  lists: rows data
""")


LAYOUTS = (
    *(_LANGSMITH, _PHOENIX, _braintrust, _batch, _deepeval, _deepeval_traces, _ragas_experiment, _dspy),
    *(_trulens, _pydantic_evals, _adk, _openai_agents, _CLOUD_BATCH, _MESSAGES, _ragas, _LITELLM, _LOGFIRE),
)
