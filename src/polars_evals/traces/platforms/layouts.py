"""Tools whose export needs little more than a mapping of columns: one table of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from polars_evals.traces.platforms.base import Platform, Record, held, listed, marks, numbers_of


def _parts(file: str) -> list[str]:
    return re.split(r"[/\\]", file)


def _after(parts: list[str], folder: str) -> list[str]:
    """Return the folders below the last folder of a name."""
    inner = parts[:-1]
    return inner[len(inner) - inner[::-1].index(folder) :] if folder in inner else []


def _function_calls(record: Record, around: Record) -> Iterator[Record]:
    """Read a BFCL result: a text, or calls as `{name: arguments}`; the model is the folder."""
    said = record.get("result")
    calls = [
        {"name": name, "arguments": arguments}
        for call in (said if isinstance(said, list) else [])
        if isinstance(call, dict)
        for name, arguments in call.items()
    ]
    parts = _parts(around.get("file", ""))
    folders = _after(parts, "result") or parts[-2:-1]
    yield record | {
        # Turns of several steps are lists of lists.
        "answer": said if isinstance(said, str) else json.dumps(said) if said and not calls else None,
        "calls": {"role": "assistant", "content": None, "tool_calls": calls} if calls else None,
        "model": record.get("model") or (folders[0] if folders else None),
    }


def _report(record: Record, around: Record) -> Iterator[Record]:
    """Give a case of pydantic-evals the name of its report; a failure is a case without an output."""
    yield record | {
        "model": around.get("name"),
        "scores": held(record, "scores") | held(record, "assertions"),
    }


def _details(record: Record, around: Record) -> Iterator[Record]:
    """Read a detail of lighteval: the task and the document are the item, the folders the model."""
    doc, said = held(record, "doc"), held(record, "model_response")
    choices, gold = doc.get("choices") or [], doc.get("gold_index")
    golds = gold if isinstance(gold, list) else [gold]
    right = [choices[place] for place in golds if isinstance(place, int) and place < len(choices)]
    folders = _after(_parts(around.get("file", "")), "details")
    texts = said.get("text") or []
    yield {
        "item": f"{doc.get('task_name')}/{doc.get('id')}",
        "model": "/".join(folders[:-1]) or None,
        "ts": re.sub(r"T(\d+)-(\d+)-", r"T\1:\2:", folders[-1]) if folders else None,
        "input": doc.get("query"),
        "answer": texts[0] if texts else None,
        "expected": right or None,
        "scores": record.get("metric"),
    }


def _said(content: Any) -> str | None:
    texts = [
        part["text"] for part in listed(content, "parts") if part.get("text") and not part.get("thought")
    ]
    return "".join(texts) if texts else None


def _agent_case(record: Record, around: Record) -> Iterator[Record]:
    """Read a case of an ADK evaluation: its last invocation is the answer."""
    turns = listed(record, "eval_metric_result_per_invocation")
    last = turns[-1] if turns else {}
    actual, wanted = held(last, "actual_invocation"), held(last, "expected_invocation")
    results = listed(record, "overall_eval_metric_results")
    yield {
        "item": f"{record.get('eval_set_id')}/{record.get('eval_id')}",
        "session": record.get("session_id"),
        "ts": actual.get("creation_timestamp"),
        "input": _said(actual.get("user_content")),
        "answer": _said(actual.get("final_response")),
        "expected": _said(wanted.get("final_response")),
        "scores": {str(each.get("metric_name")): each.get("score") for each in results},
    }


def _rated(record: Record, around: Record) -> Iterator[Record]:
    """Read a result of Azure's RAG evaluator, whose metrics stand beside the answer."""
    context = record.get("context")
    contexts = [context] if isinstance(context, str) else context
    yield record | {"contexts": contexts, "scores": numbers_of(record, "latency", "answer_length")}


def _with_numbers(*known: str) -> Callable[[Record, Record], Iterable[Record]]:
    """Take the numbers that stand beside an answer, and are in no known column, as its scores."""
    return lambda record, around: [record | {"scores": numbers_of(record, *known)}]


# What the answer of a DSPy program is called, where several fields are compared.
_ANSWERS = ("answer", "output", "response", "label", "prediction", "result")


def _compared(names: Collection[str], file: str = "") -> list[str]:
    """Find the columns that DSPy writes twice: what the example says, and what the program said."""
    fields = [name.removeprefix("pred_") for name in names if name.startswith("pred_")]
    pairs = [field for field in fields if f"example_{field}" in names]
    pairs.sort(key=lambda field: _ANSWERS.index(field) if field in _ANSWERS else len(_ANSWERS))
    return [f"{side}_{field}" for field in pairs for side in ("pred", "example")]


def _evaluated(record: Record, around: Record) -> Iterator[Record]:
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


_EXPERIMENT = re.compile(r"[/\\]experiments[/\\]([^/\\]+)\.(?:csv|jsonl)$")
_ASKED = ("user_input", "question", "query", "input", "prompt")
_SAID = ("response", "answer", "output", "model_response", "completion", "prediction")
_WANTED = ("reference", "ground_truth", "expected_output", "expected_answer", "expected", "target")


def _experiment(names: Collection[str], file: str) -> list[str]:
    """Tell a table that ragas keeps of an experiment by its folder, and the columns that hold its answers."""
    if not _EXPERIMENT.search(file):
        return []
    found = [next((name for name in known if name in names), "") for known in (_ASKED, _SAID)]
    return found if all(found) else []


def _experimented(record: Record, around: Record) -> Iterator[Record]:
    """Name the experiment, and take a row's numbers as its scores."""
    name = _EXPERIMENT.search(around.get("file", ""))
    found = {key: _as_score(value) for key, value in record.items() if key not in ("id", "row_id")}
    yield record | {
        "experiment": record.get("experiment_name") or (name[1] if name else None),
        "scores": {key: value for key, value in found.items() if value is not None},
    }


def _as_score(value: Any) -> float | None:
    """Take a number; tables of CSV hold it as text."""
    try:
        return None if value is None or value == "" else float(value)
    except (TypeError, ValueError):
        return None


def _sent(record: Record, around: Record) -> Iterator[Record]:
    """Take what the exporter of the Agents SDK sends at once apart."""
    yield from listed(record, "data") or [record]


def _predictions(record: Record, around: Record) -> Iterator[Record]:
    """Read predictions as rows, or as one object of all instances."""
    if "model_patch" in record:
        yield record
        return
    for name, about in record.items():
        if isinstance(about, dict):
            yield {"instance_id": name} | about


def _simulated(record: Record, around: Record) -> Iterator[Record]:
    """Give a simulation of tau2-bench the model of its run."""
    agent = held(held(around, "info"), "agent_info")
    yield {"agent": agent.get("llm")} | record


_SPANS = ("baseSpans", "agentSpans", "llmSpans", "retrieverSpans", "toolSpans")


def _traced(record: Record, around: Record) -> Iterator[Record]:
    """Take a trace of DeepEval apart: the trace itself is the root of its spans."""
    trace = record.get("uuid")
    yield {key: value for key, value in record.items() if key not in _SPANS} | {"trace": trace}
    for name in _SPANS:
        for span in listed(record, name):
            yield {"trace": trace, "parent": span.get("parentUuid") or trace} | span


# A table with our own names. Texts are taken as they are.
GENERIC = Platform(
    "generic",
    "columns with the canonical names",
    marks("output, input output, output expected, input output expected"),
    """
    item_id: item_id|text  trace_id: trace_id|text  span_id: span_id|text  session_id: session_id|text
    ts: ts|text  latency_ms: latency_ms|text  model: model|text  version: version|text
    question: input|item  input: input|text  output: output|text  expected: expected|references
    kind: kind|text  error: error|text  finish_reason: finish_reason|text
    input_tokens: input_tokens|text  output_tokens: output_tokens|text  cost: cost|text
    tool_calls: tool_calls|json  contexts: contexts|json
    """,
    common=True,
)

LAYOUTS = (
    Platform(
        "deepeval_traces",
        "DeepEval traces",
        marks("uuid baseSpans startTime, uuid llmSpans startTime, uuid agentSpans startTime"),
        """
        item_id: metadata.item_id  trace_id: trace  span_id: uuid  parent_id: parent  session_id: threadId
        ts: startTime  end: endTime  model: model metadata.model  version: metadata.version
        input:  output:  expected: expectedOutput
        kind: type  status:  error:
        input_tokens: inputTokenCount  output_tokens: outputTokenCount  contexts: retrievalContext|contexts
        """,
        spans=True,
        unpack=_traced,
        lists=(("traces",),),
    ),
    Platform(
        "ragas_experiment",
        "ragas experiment",
        (),
        """
        item_id: id sample_id
        model: model model_name  version: experiment
        input: user_input|text question|text query|text input|text prompt|text
        output: response|text answer|text output|text model_response|text completion|text prediction|text
        expected: reference|references ground_truth|references expected_output|references
            expected_answer|references expected|references target|references
        scores:
        """,
        shows=_experiment,
        unpack=_experimented,
        common=True,
    ),
    Platform(
        "dspy",
        "DSPy evaluation",
        (),
        """
        item_id: item_id id
        model:  version:
        input: asked  output: answer  expected: wanted|reference
        scores:
        """,
        shows=_compared,
        unpack=_evaluated,
        common=True,
    ),
    Platform(
        "mmlu_pro",
        "MMLU-Pro results",
        marks("question options answer answer_index pred"),
        """
        item_id: question_id
        model:
        input: question|text  output: pred|text  expected: answer|text
        """,
    ),
    Platform(
        "ifeval",
        "IFEval responses",
        (),
        """
        item_id: key
        model:
        input: prompt|text  output: response|text
        """,
        shows=lambda names, file: (
            {"prompt", "response"}
            if {"prompt", "response"} <= {*names} and "input_response_data" in file
            else ()
        ),
    ),
    Platform(
        "rag_evaluator",
        "results of the RAG evaluator of Azure's samples",
        marks("question truth answer context"),
        """
        item_id: id
        latency_s: latency  model:  version:
        input: question|text  output: answer|text  expected: truth|text
        contexts: contexts|contexts  scores:
        """,
        unpack=_rated,
    ),
    Platform(
        "trulens",
        "TruLens records",
        marks("app_id record_id input output, app_version record_id input output"),
        """
        item_id: input_id  trace_id: record_id  session_id: conversation_id
        ts:  latency_s: latency  model:  version: app_version app_id
        input:  output:  expected: ground_truth expected
        cost: total_cost  scores:
        """,
        unpack=_with_numbers(
            *(
                "latency",
                "total_tokens",
                "total_cost",
                "eval_cost",
                "eval_cost_snowflake",
                "num_events",
                "ts",
            ),
            *("is_match", "sampled", "sample_rate"),
        ),
    ),
    Platform(
        "model_answer",
        "MT-bench or Arena-Hard answers",
        marks("question_id model_id choices, uid model messages tstamp, uid ans_id model messages"),
        """
        item_id: question_id uid  trace_id: answer_id ans_id
        ts: tstamp  model: model_id model
        input: messages[0].content|text
        output: choices[0].turns[-1].content|text choices[0].turns[-1]|text messages[-1].content.answer|text
            messages|chat
        """,
    ),
    Platform(
        "swebench",
        "SWE-bench predictions",
        marks("instance_id model_patch"),
        """
        item_id: instance_id
        model: model_name_or_path
        output: model_patch|text
        """,
        shows=lambda names, _: [name for name in names if name.endswith(".model_patch")][:1],
        unpack=_predictions,
    ),
    Platform(
        "bfcl",
        "BFCL results",
        marks("id result input_token_count, id result latency"),
        """
        item_id: id
        latency_s: latency  model:
        output: answer|text
        input_tokens: input_token_count  output_tokens: output_token_count  tool_calls: calls|calls
        """,
        unpack=_function_calls,
    ),
    Platform(
        "tau_bench",
        "tau-bench trajectories",
        marks("task_id traj reward, task_id messages reward_info, task_id messages termination_reason"),
        """
        item_id: task_id  trace_id: id
        ts: start_time timestamp  latency_s: duration  model: agent
        input: info.task.instruction|text  output: traj|said messages|said
        cost: agent_cost  tool_calls: traj|calls messages|calls
        """,
        unpack=_simulated,
        lists=(("simulations",),),
    ),
    Platform(
        "pydantic_evals",
        "pydantic-evals report",
        marks(
            "inputs output expected_output assertions, inputs output metrics assertions, inputs "
            "error_message error_stacktrace"
        ),
        """
        item_id: source_case_name name
        latency_s: task_duration  model:
        input: inputs  output:  expected: expected_output
        error: error_message
        scores:
        """,
        unpack=_report,
        lists=(("cases",), ("failures",)),
    ),
    Platform(
        "lighteval",
        "lighteval details",
        marks("doc metric model_response"),
        """
        item_id: item
        ts:  model:
        input: input|text  output: answer|text  expected: expected|references
        scores:
        """,
        unpack=_details,
        several=True,
    ),
    Platform(
        "adk",
        "ADK evaluation results",
        marks("eval_set_id eval_id final_eval_status"),
        """
        item_id: item  session_id: session
        ts:
        input: input|text  output: answer|text  expected: expected|text
        scores:
        """,
        unpack=_agent_case,
        lists=(("eval_case_results",),),
    ),
    Platform(
        "every_eval_ever",
        "Every Eval Ever samples",
        marks("evaluation_id sample_id model_id input output"),
        """
        item_id: sample_id
        model: model_id
        input: input.raw|text  output: output.raw[0]|text output.raw|text
        expected: input.reference|references
        input_tokens: token_usage.input_tokens  output_tokens: token_usage.output_tokens
        """,
    ),
    Platform(
        "openai_agents",
        "OpenAI Agents SDK traces",
        marks("object trace_id span_data, data[].trace_id data[].span_data"),
        """
        trace_id: trace_id id  span_id: id  parent_id:  session_id: group_id
        ts: started_at  end: ended_at  model: span_data.model span_data.response.model
        input: span_data.input  output: span_data.output span_data.response
        kind: span_data.type  error: error.data.error error.message
        input_tokens: span_data.usage.input_tokens  output_tokens: span_data.usage.output_tokens
        """,
        spans=True,
        unpack=_sent,
        lists=(("data",),),
        hint=(
            "spans of the Responses API hold only its ids: add span_data.input and "
            "span_data.response.model_dump() to them in a trace processor of your own"
        ),
    ),
    Platform(
        "cloud_batch",
        "Gemini, Vertex AI or Bedrock batch results",
        marks(
            "recordId modelInput modelOutput, recordId modelInput error, request response processed_time, "
            "key response response.candidates"
        ),
        """
        item_id: key recordId
        ts: processed_time  model: response.modelVersion response.model_version modelOutput.model
        input: request modelInput  output: response modelOutput
        error: error.errorMessage error.message status
        input_tokens: response.usageMetadata.promptTokenCount modelOutput.usage.input_tokens
        output_tokens: response.usageMetadata.candidatesTokenCount modelOutput.usage.output_tokens
        """,
    ),
    Platform(
        "messages",
        "chats",
        marks("messages, conversations, conversation, messages response"),
        """
        item_id: item_id id custom_id  trace_id:  session_id: session_id conversation_id
        ts: ts timestamp created_at created  model: model metadata.model generator  version:
        input: messages conversations conversation
        output: output response completion messages|chat conversations|chat conversation|chat
        expected: expected reference ground_truth target
        error:
        """,
        common=True,
    ),
    Platform(
        "ragas",
        "ragas samples",
        marks("user_input response, user_input reference, question answer contexts"),
        """
        item_id: id sample_id
        model:  version:
        input: user_input question  output: response answer user_input|chat
        expected: reference ground_truth
        tool_calls: user_input  contexts: retrieved_contexts|contexts contexts|contexts  scores:
        """,
        unpack=_with_numbers(),
        lists=(("samples",), ("dataset",)),
        common=True,
    ),
    Platform(
        "alpaca_eval",
        "AlpacaEval outputs",
        marks("instruction output generator, instruction output_1 output_2, instruction output dataset"),
        """
        item_id: instruction|item
        model: generator generator_2  version:
        input: instruction|text  output: output|text output_2|text
        expected: expected|text reference|text output_1|text
        """,
        common=True,
    ),
    Platform(
        "litellm",
        "LiteLLM log",
        marks(
            "call_type litellm_params messages, messages response response_cost, request_id call_type "
            "spend, id call_type messages response model, litellm_call_id messages"
        ),
        """
        item_id: metadata.item_id metadata.requester_metadata.item_id
        trace_id: trace_id litellm_trace_id id request_id litellm_call_id
        span_id: id request_id litellm_call_id  session_id: session_id metadata.session_id
        ts: startTime start_time  end: endTime end_time  latency_s: response_time  model:
        version: metadata.version
        input: messages proxy_server_request.messages input  output: response original_response
        kind:  error: error_str error_information.error_message exception
        input_tokens: prompt_tokens response.usage.prompt_tokens
        output_tokens: completion_tokens response.usage.completion_tokens  cost: response_cost spend
        """,
        lists=(("data",),),
    ),
    Platform(
        "logfire",
        "Logfire records",
        marks(
            "trace_id span_id otel_scope_name, trace_id span_name attributes service_name, span_id "
            "otel_status_code"
        ),
        """
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
        """,
        spans=True,
        lists=(("rows",), ("data",)),
    ),
)
