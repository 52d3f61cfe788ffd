"""Files as tools and benchmarks write them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe

ROOT = Path(__file__).parents[2]
WILD = next((p for p in (ROOT / "../shared/data/wild", ROOT / "../../shared/data/wild") if p.is_dir()), None)


def _written(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_small_json_documents_keep_what_stands_around_their_list(tmp_path: Path) -> None:
    sample = {"id": 1, "epoch": 1, "input": "2 + 2?", "target": "4", "messages": [], "scores": {}}
    sample["output"] = {"model": "m-2026", "choices": [{"message": {"role": "assistant", "content": "4"}}]}
    for task in ("one", "two"):
        log = {"eval": {"task": task, "model": "openai/m", "created": "2026-01-01T00:00:00Z"}}
        (tmp_path / f"{task}.json").write_text(json.dumps(log | {"samples": [sample]}))
    found = pe.scan_traces(tmp_path).collect().sort("item_id")
    assert found["item_id"].to_list() == ["one/1", "two/1"]
    assert found["model"].unique().to_list() == ["openai/m"]
    assert found["ts"].null_count() == 0


def test_lm_eval_takes_the_model_from_the_results_beside(tmp_path: Path) -> None:
    stamp = "2026-01-21T03-44-18.458309"
    record = {"doc_id": 0, "doc": {}, "target": "4", "arguments": [["2 + 2?"]], "filtered_resps": ["4"]}
    path = _written(tmp_path / f"samples_sums_{stamp}.jsonl", record)
    (tmp_path / f"results_{stamp}.json").write_text(json.dumps({"model_name": "acme/one"}))
    assert pe.scan_traces(path).collect()["model"].to_list() == ["acme/one"]


def test_calls_of_bfcl_are_no_text(tmp_path: Path) -> None:
    about = {"input_token_count": 3, "output_token_count": 4, "latency": 1.5}
    _written(
        tmp_path / "result/acme-FC/simple_result.json",
        {"id": "simple_0", "result": [{"area": '{"base": 10}'}], **about},
        {"id": "simple_1", "result": "[area(base=10)]", **about},
    )
    found = pe.scan_traces(tmp_path).collect()
    assert found["output"].to_list() == [None, "[area(base=10)]"]
    assert found["tool_calls"].to_list()[0] == [{"name": "area", "arguments": '{"base": 10}'}]
    assert found["model"].to_list() == ["acme-FC", "acme-FC"]


def test_download_of_the_langfuse_ui_is_one_row_with_opened_texts(tmp_path: Path) -> None:
    said = json.dumps({"content": {"parts": [{"text": "Hello!"}], "role": "model"}})
    trace = {"id": "t", "timestamp": "2026-01-01T00:00:00Z", "input": '"Hi"', "output": json.dumps(said)}
    call = {
        "id": "o",
        "type": "GENERATION",
        "model": "m",
        "startTime": "2026-01-01T00:00:00Z",
        "output": said,
    }
    document = {"trace": trace | {"observations": [{"id": "o"}]}, "observations": [call | {"traceId": "t"}]}
    (tmp_path / "one.json").write_text(json.dumps(document))
    found = pe.scan_traces(tmp_path / "one.json").collect()
    assert found.select("input", "output", "model").rows() == [("Hi", "Hello!", "m")]


def _chat(*turns: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in turns]


def test_results_of_two_models_with_the_same_names_are_two_rows(tmp_path: Path) -> None:
    for model in ("one", "two"):
        request = {"model": model, "messages": _chat(("user", "2 + 2?"))}
        _written(
            tmp_path / f"{model}_input.jsonl",
            {"custom_id": "r-1", "method": "POST", "url": "/v1/chat/completions", "body": request},
            {"custom_id": "r-2", "method": "POST", "url": "/v1/chat/completions", "body": request},
        )
        body = {"model": f"{model}-2026", "choices": [{"message": {"role": "assistant", "content": model}}]}
        result = {"custom_id": "r-1", "response": {"status_code": 200, "body": body}, "error": None}
        _written(tmp_path / f"{model}_output.jsonl", {"id": f"batch_{model}", **result})
    found = pe.scan_traces(tmp_path).collect()
    answered = found.drop_nulls("output").sort("model")
    assert answered.select("model", "output", "input").rows() == [
        ("one-2026", "one", "2 + 2?"),
        ("two-2026", "two", "2 + 2?"),
    ]
    assert answered["item_id"].n_unique() == 1
    assert answered["trace_id"].n_unique() == 2
    assert found["output"].null_count() == 1


@pytest.mark.parametrize(
    ("turns", "answer"),
    [
        ([("user", "Hi"), ("assistant", "Hello"), ("user", "And now?")], None),
        ([("user", "Hi"), ("assistant", "Hello"), ("tool", "{}")], None),
        ([("user", "Hi"), ("agent", "Hello")], "Hello"),
        ([("User", "Hi"), ("Assistant", "Hello")], "Hello"),
    ],
)
def test_a_chat_has_an_answer_where_it_ends_with_the_assistant(
    tmp_path: Path, turns: list[tuple[str, str]], answer: str | None
) -> None:
    answered = {"messages": _chat(("user", "Bye"), ("assistant", "Bye!"))}
    file = _written(tmp_path / "a.jsonl", {"messages": _chat(*turns)}, answered)
    assert pe.scan_traces(file).collect()["output"].to_list() == [answer, "Bye!"]


def test_an_id_that_is_the_same_everywhere_is_no_item(tmp_path: Path) -> None:
    chats = [{"id": "chat", "messages": _chat(("user", asked), ("assistant", "Yes"))} for asked in "abc"]
    assert pe.scan_traces(_written(tmp_path / "a.jsonl", *chats)).collect()["item_id"].n_unique() == 3
    named = [chat | {"id": str(number)} for number, chat in enumerate(chats)]
    items = pe.scan_traces(_written(tmp_path / "b.jsonl", *named)).collect()["item_id"].to_list()
    assert items == ["0", "1", "2"]


CONTENTS: dict[str, tuple[Any, str | None, list[str]]] = {
    "thoughts of Gemini": (
        {"candidates": [{"content": {"parts": [{"text": "Hm", "thought": True}, {"text": "4"}]}}]},
        "4",
        [],
    ),
    "parts without a role": ({"parts": [{"text": "Hm", "thought": True}, {"text": "4"}]}, "4", []),
    "content of ADK": ({"content": {"parts": [{"text": "4"}], "role": "model"}, "partial": False}, "4", []),
    "call of ADK": (
        {"content": {"parts": [{"function_call": {"name": "add", "args": {"a": 2}}}], "role": "model"}},
        None,
        ["add"],
    ),
    "calls of the AI SDK": ([{"toolCallId": "1", "toolName": "add", "input": {"a": 2}}], None, ["add"]),
    "nothing but null": ({"output": None}, None, []),
    "blank": ({"role": "assistant", "content": ""}, "", []),
}


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("as_text", [False, True])
def test_contents_of_answers(tmp_path: Path, name: str, as_text: bool) -> None:
    content, answer, calls = CONTENTS[name]
    if as_text and name == "nothing but null":
        answer = json.dumps(content)  # as the model wrote it
    said = json.dumps(content) if as_text else content
    spans = [
        {"span_id": "a", "root_span_id": "a", "output": said},
        {"span_id": "b", "root_span_id": "b", "output": "x"},
    ]
    found = pe.scan_traces(_written(tmp_path / "a.jsonl", *spans), rows="all").collect()
    assert found["output"].to_list() == [answer, "x"]
    assert [call["name"] for call in found["tool_calls"].to_list()[0] or []] == calls


@pytest.mark.parametrize(
    "asked",
    [
        {"system": "Be brief.", "prompt": "2 + 2?"},
        {"system_prompt": "Be brief.", "user_prompt": "2 + 2?"},
        {"instructions": "Be brief.", "input": "2 + 2?"},
        {
            "config": {"system_instruction": "Be brief."},
            "contents": [{"parts": [{"text": "2 + 2?"}], "role": "user"}],
        },
    ],
    ids=lambda asked: next(iter(asked)),
)
def test_a_system_prompt_beside_the_question_is_a_message(tmp_path: Path, asked: Any) -> None:
    messages = _chat(("system", "Be brief."), ("user", "2 + 2?"))
    spans = [
        {"span_id": str(number), "root_span_id": str(number), "input": each, "output": "4"}
        for number, each in enumerate([asked, messages])
    ]
    found = pe.scan_traces(_written(tmp_path / "a.jsonl", *spans)).collect()
    assert found["item_id"].n_unique() == 1
    assert found["input"].to_list() == ["2 + 2?"] * 2


def test_a_task_is_a_question(tmp_path: Path) -> None:
    spans = [
        {"span_id": str(number), "root_span_id": str(number), "input": each, "output": "4"}
        for number, each in enumerate([{"task": "2 + 2?"}, "2 + 2?", _chat(("user", "2 + 2?"))])
    ]
    assert pe.scan_traces(_written(tmp_path / "a.jsonl", *spans)).collect()["item_id"].n_unique() == 1


def test_a_failed_run_of_langsmith_has_no_output(tmp_path: Path) -> None:
    run = {"id": "r", "trace_id": "r", "run_type": "chain", "inputs": {"question": "2 + 2?"}}
    file = _written(tmp_path / "a.jsonl", run | {"outputs": {"output": None}, "error": "TimeoutError()"})
    assert pe.scan_traces(file).select("output", "error").collect().rows() == [(None, "TimeoutError()")]


def _otlp(**span: Any) -> dict[str, Any]:
    about = {"traceId": "t", "spanId": "s", "startTimeUnixNano": "1767225600000000000", "attributes": []}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [about | span]}]}]}


@pytest.mark.parametrize("status", [{}, {"code": 2}, {"code": "STATUS_CODE_ERROR"}])
def test_an_exception_event_is_an_error(tmp_path: Path, status: Any) -> None:
    event = {
        "name": "exception",
        "attributes": [{"key": "exception.message", "value": {"stringValue": "no quota"}}],
    }
    asked = {"key": "gen_ai.prompt.0.content", "value": {"stringValue": "2 + 2?"}}
    model = {"key": "gen_ai.request.model", "value": {"stringValue": "m"}}
    file = _written(tmp_path / "a.jsonl", _otlp(attributes=[asked, model], events=[event], status=status))
    assert pe.scan_traces(file).collect()["error"].to_list() == ["no quota"]


@pytest.mark.parametrize("in_event", [True, False])
def test_a_blank_answer_in_otlp_is_blank(tmp_path: Path, in_event: bool) -> None:
    said = {"key": "gen_ai.completion", "value": {"stringValue": ""}}
    asked = {"key": "gen_ai.prompt", "value": {"stringValue": "Say nothing"}}
    model = {"key": "gen_ai.request.model", "value": {"stringValue": "m"}}
    events = [
        {"name": "gen_ai.content.prompt", "attributes": [asked]},
        {"name": "gen_ai.content.completion", "attributes": [said]},
    ]
    span = {"events": events, "attributes": [model]} if in_event else {"attributes": [asked, said, model]}
    found = pe.scan_traces(_written(tmp_path / "a.jsonl", _otlp(**span))).collect()
    assert found.select("input", "output").rows() == [("Say nothing", "")]


def _helm(name: str, *right: str) -> dict[str, Any]:
    references = [{"output": {"text": text}, "tags": ["correct"]} for text in right]
    return {
        "instance": {"input": {"text": name}, "references": references, "split": "test", "id": "id1"},
        "request": {"model": "acme/m", "prompt": name},
        "result": {"success": True, "completions": [{"text": "Paris"}]},
        "train_trial_index": 0,
    }


def test_helm_items_name_their_scenario_and_keep_all_references(tmp_path: Path) -> None:
    for scenario, right in (("cities", ("Paris", "Paname")), ("towns", ("Rome",))):
        file = tmp_path / f"{scenario}:method=generation,model=acme_m" / "scenario_state.json"
        file.parent.mkdir()
        file.write_text(json.dumps({"adapter_spec": {}, "request_states": [_helm(scenario, *right)]}))
    found = pe.scan_traces(tmp_path).collect().sort("item_id")
    assert found["item_id"].to_list() == [
        "cities-method=generation/test/id1",
        "towns-method=generation/test/id1",
    ]
    assert found["expected"].to_list() == [["Paris", "Paname"], ["Rome"]]


def test_several_targets_of_inspect_are_a_list(tmp_path: Path) -> None:
    log = {"eval": {"task": "one", "model": "m"}, "samples": []}
    for number in range(120):
        target = ["4", "four"] if number == 119 else "4"
        output = {"choices": [{"message": {"role": "assistant", "content": "4"}}]}
        sample = {"id": number, "epoch": 1, "input": "2 + 2?", "target": target, "output": output}
        log["samples"].append(sample | {"messages": [], "scores": {}})  # type: ignore[attr-defined]
    (tmp_path / "a.json").write_text(json.dumps(log))
    found = pe.scan_traces(tmp_path / "a.json").collect()["expected"].to_list()
    assert (found[0], found[-1]) == (["4"], ["4", "four"])


def test_a_list_of_references_in_a_table_is_a_list(tmp_path: Path) -> None:
    rows = [{"output": "4", "expected": ["4", "four"]}, {"output": "5", "expected": "5"}]
    expected = [["4", "four"], ["5"]]
    assert pe.scan_traces(_written(tmp_path / "a.jsonl", *rows)).collect()["expected"].to_list() == expected
    table = {"output": ["4", "5"], "expected": expected}
    pl.DataFrame(table).write_parquet(tmp_path / "a.parquet")
    assert pe.scan_traces(tmp_path / "a.parquet").collect()["expected"].to_list() == expected


@pytest.mark.parametrize("rows", ["traces", "spans"])
def test_a_span_that_is_exported_twice_counts_once(tmp_path: Path, rows: Any) -> None:
    def span(number: int, output: str | None) -> dict[str, Any]:
        about = {"id": f"o{number}", "traceId": "t", "type": "GENERATION", "providedModelName": "m"}
        times = {"startTime": f"2026-01-01T00:00:0{number}Z", "usageDetails": {"input": 10, "output": 1}}
        return about | times | {"input": "2 + 2?", "output": output, "parentObservationId": None}

    _written(tmp_path / "a.jsonl", span(1, "3"), span(2, None))
    _written(tmp_path / "b.jsonl", span(2, "4"), span(2, "4"))
    found = pe.scan_traces(tmp_path, rows=rows).collect()
    assert found["output"].to_list() == (["4"] if rows == "traces" else ["3", "4"])
    assert found["input_tokens"].sum() == 20


def test_failures_of_pydantic_evals_are_rows_with_an_error(tmp_path: Path) -> None:
    case = {
        "name": "q1",
        "inputs": "2 + 2?",
        "expected_output": "4",
        "output": "4",
        "metrics": {},
        "assertions": {},
    }
    failure = {"name": "q2", "inputs": "3 + 3?", "expected_output": "6", "metadata": None}
    failure |= {"error_message": "TimeoutError: slow", "error_stacktrace": "Traceback"}
    report = {"name": "acme-1", "cases": [case], "failures": [failure]}
    (tmp_path / "a.json").write_text(json.dumps(report))
    found = pe.scan_traces(tmp_path / "a.json").select("item_id", "model", "output", "error").collect()
    assert found.rows() == [("q1", "acme-1", "4", None), ("q2", "acme-1", None, "TimeoutError: slow")]


def test_fields_of_dspy_that_are_compared_are_answer_and_reference(tmp_path: Path) -> None:
    row = {"question": "2 + 2?", "example_label": "4", "pred_label": "5", "reasoning": "Hm", "metric": False}
    (tmp_path / "a.json").write_text(json.dumps([row]))
    found = pe.scan_traces(tmp_path / "a.json", scores=True).collect()
    assert found.select("input", "output", "expected", "metric_score").rows() == [("2 + 2?", "5", "4", 0.0)]


def test_promptfoo_says_the_same_in_json_and_in_yaml(tmp_path: Path) -> None:
    source = next(Path(__file__).parent.glob("real/promptfoo/*/results.json"))
    # JSON is YAML.
    shutil.copy(source, tmp_path / "results.yaml")
    found = pe.scan_traces(tmp_path / "results.yaml").collect()
    assert found["ts"].null_count() == 0
    assert_frame_equal(found, pe.scan_traces(source).collect())


def test_old_tables_of_promptfoo(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "city,[m-1] Where is {{city}}?,[m-2] Where is {{city}}?\n"
        'Rome,"[PASS] (1.00)\n\nItaly\n\nPass Reason: No assertions",'
        '"[FAIL] (0.00)\nEgypt\n---\nIt is wrong"\n'
    )
    found = pe.scan_traces(tmp_path / "a.csv", scores=True).collect()
    assert found.select("model", "input", "output", "promptfoo_score").rows() == [
        ("m-1", "Where is Rome?", "Italy", 1.0),
        ("m-2", "Where is Rome?", "Egypt", 0.0),
    ]


@pytest.mark.parametrize("version", [1, 2])
def test_old_results_of_promptfoo(tmp_path: Path, version: int) -> None:
    result = {
        "prompt": {"raw": "Where is Rome?", "display": "Where is {{city}}?"},
        "vars": {"city": "Rome"},
        "response": {"output": "Italy", "tokenUsage": {"total": 7, "prompt": 5, "completion": 2}},
        **({"provider": {"id": "m-1"}} if version == 2 else {"provider": {"id": "m-1", "label": ""}}),
        "success": True, "score": 1, "namedScores": {}, "latencyMs": 12,
    }  # fmt: skip
    results = {
        "version": version,
        "results": [result],
        "stats": {"successes": 1},
        "table": {"head": {}, "body": []},
    }
    (tmp_path / "a.json").write_text(json.dumps({"results": results, "config": {}, "shareableUrl": None}))
    found = pe.scan_traces(tmp_path / "a.json").select("model", "input", "output", "input_tokens").collect()
    assert found.rows() == [("m-1", "Where is Rome?", "Italy", 5)]


def test_the_model_is_the_folder_or_the_file_where_no_record_names_one(tmp_path: Path) -> None:
    for model in ("llama-7b", "llama-13b"):
        _written(tmp_path / "runs" / model / "out.jsonl", {"input": "2 + 2?", "output": model})
        _written(tmp_path / "flat" / f"{model}_2026-01-02.jsonl", {"input": "2 + 2?", "output": model})
        _written(tmp_path / "days" / f"2026-01-0{len(model) - 6}.jsonl", {"input": "2 + 2?", "output": model})
    for folder in ("runs", "flat"):
        found = pe.scan_traces(tmp_path / folder).collect()
        assert found["model"].to_list() == found["output"].to_list()
    assert pe.scan_traces(tmp_path / "days").collect()["model"].to_list() == [None, None]
    assert pe.scan_traces(tmp_path / "runs/llama-7b/out.jsonl").collect()["model"].to_list() == [None]


def test_what_the_agents_sdk_sends_at_once_is_taken_apart(tmp_path: Path) -> None:
    def span(name: str, data: Any) -> dict[str, Any]:
        times = {"started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:00:01Z"}
        about = {"object": "trace.span", "id": name, "trace_id": "t", "parent_id": None, "error": None}
        return about | times | {"span_data": data}

    said = [{"role": "assistant", "content": "4"}]
    call = {"type": "generation", "input": _chat(("user", "2 + 2?")), "output": said, "model": "m"}
    sent = [{"object": "trace", "id": "t", "workflow_name": "w"}, span("a", {"type": "agent", "name": "w"})]
    file = _written(tmp_path / "a.jsonl", {"data": [*sent, span("b", call)]})
    found = pe.scan_traces(file).select("model", "input", "output").collect()
    assert found.rows() == [("m", "2 + 2?", "4")]


def test_predictions_of_swe_bench_as_one_object(tmp_path: Path) -> None:
    preds = {
        name: {"model_name_or_path": "m", "instance_id": name, "model_patch": patch}
        for name, patch in (("a__a-1", "diff"), ("b__b-2", ""))
    }
    (tmp_path / "preds.json").write_text(json.dumps(preds))
    found = pe.scan_traces(tmp_path / "preds.json").select("item_id", "model", "output").collect()
    assert found.rows() == [("a__a-1", "m", "diff"), ("b__b-2", "m", "")]


def test_traces_of_deepeval(tmp_path: Path) -> None:
    about = {"status": "SUCCESS", "startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-01T00:00:01Z"}
    call = about | {"uuid": "s", "name": "call", "type": "llm", "model": "m", "inputTokenCount": 7}
    call |= {"input": _chat(("user", "2 + 2?")), "output": "four"}
    trace = about | {"uuid": "t", "input": "2 + 2?", "output": "4", "baseSpans": [], "llmSpans": [call]}
    found = pe.scan_traces(_written(tmp_path / "a.jsonl", trace)).collect()
    assert found.select("trace_id", "model", "output", "input_tokens").rows() == [("t", "m", "4", 7)]


def test_experiments_of_ragas(tmp_path: Path) -> None:
    (tmp_path / "experiments").mkdir()
    for name, answer in (("small", "4"), ("large", "5")):
        (tmp_path / "experiments" / f"{name}.csv").write_text(
            f"question,grading_notes,response,score\n2 + 2?,4,{answer},1\n"
        )
    found = pe.scan_traces(tmp_path / "experiments", scores=True).collect().sort("version")
    assert found.select("version", "input", "output", "score_score").rows() == [
        ("large", "2 + 2?", "5", 1.0),
        ("small", "2 + 2?", "4", 1.0),
    ]
    assert found["item_id"].n_unique() == 1


def test_simulations_of_tau2_bench(tmp_path: Path) -> None:
    messages = _chat(("user", "Book it"), ("assistant", "Booked."), ("user", "###STOP###"))
    run = {"id": "r", "task_id": "3", "messages": messages, "reward_info": {"reward": 1.0}, "trial": 0}
    document = {"info": {"agent_info": {"llm": "acme"}}, "tasks": [], "simulations": [run]}
    (tmp_path / "a.json").write_text(json.dumps(document))
    found = pe.scan_traces(tmp_path / "a.json").select("item_id", "model", "output").collect()
    assert found.rows() == [("3", "acme", "Booked.")]


def test_batches_of_gemini_and_bedrock(tmp_path: Path) -> None:
    asked = {"contents": [{"role": "user", "parts": [{"text": "2 + 2?"}]}]}
    said = {
        "candidates": [{"content": {"parts": [{"text": "4"}], "role": "model"}}],
        "modelVersion": "gemini",
    }
    vertex = {"status": "", "processed_time": "2026-01-01T00:00:00Z", "request": asked, "response": said}
    _written(tmp_path / "vertex.jsonl", vertex)
    answer = {"model": "claude", "role": "assistant", "content": [{"type": "text", "text": "5"}]}
    request = {"messages": _chat(("user", "2 + 2?")), "max_tokens": 9}
    _written(tmp_path / "bedrock.jsonl", {"recordId": "r1", "modelInput": request, "modelOutput": answer})
    found = pe.scan_traces(tmp_path).select("model", "input", "output", "error").collect().sort("model")
    assert found.rows() == [("claude", "2 + 2?", "5", None), ("gemini", "2 + 2?", "4", None)]


def test_turns_of_bfcl_are_text(tmp_path: Path) -> None:
    record = {"id": "multi_turn_base_0", "result": [[["cd(folder='a')"], ["ls()"]]], "latency": 1.0}
    file = _written(tmp_path / "result/m/multi_turn_result.json", record | {"input_token_count": 3})
    assert pe.scan_traces(file).collect()["output"].to_list() == ['[[["cd(folder=\'a\')"], ["ls()"]]]']


def _expectations() -> list[dict[str, Any]]:
    if WILD is None:
        return []
    held = json.loads((WILD / "expect.json").read_text())
    return [each for each in held if not each.get("refused")]


@pytest.mark.skipif(WILD is None, reason="the files from the wild are not here")
@pytest.mark.parametrize("wanted", _expectations(), ids=lambda wanted: wanted["file"])
def test_files_from_the_wild(wanted: dict[str, Any]) -> None:
    assert WILD is not None
    found = pe.scan_traces(WILD / wanted["file"]).collect()
    counts = {
        "rows": found.height,
        "non_null_outputs": found["output"].count(),
        "distinct_items": found["item_id"].drop_nulls().n_unique(),
        "models": sorted(found["model"].drop_nulls().unique()),
    }
    assert {name: count for name, count in counts.items() if wanted[name] not in (None, [])} == {
        name: wanted[name] for name in counts if wanted[name] not in (None, [])
    }
    if wanted["first_output"] is not None:
        assert wanted["first_output"] in found["output"].to_list()


def test_agents_that_ask_the_responses_api_are_told_what_to_add(tmp_path: Path) -> None:
    """The SDK exports the id of such a response; an application can add the rest."""
    span = {"object": "trace.span", "id": "s", "trace_id": "t", "parent_id": None}
    span |= {"started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:00:01Z", "error": None}
    data: dict[str, Any] = {
        "type": "response",
        "response_id": "resp_1",
        "usage": {"input_tokens": 5, "output_tokens": 2},
    }
    bare = _written(tmp_path / "bare.jsonl", span | {"span_data": data})
    with pytest.raises(pl.exceptions.NoDataError, match=r"add span_data\.input and span_data\.response"):
        pe.scan_traces(bare)
    content = [{"type": "output_text", "text": "Paris"}]
    said = {"type": "message", "role": "assistant", "content": content}
    data |= {"input": [{"role": "user", "content": "Capital?"}], "response": {"model": "m", "output": [said]}}
    [row] = pe.scan_traces(_written(tmp_path / "full.jsonl", span | {"span_data": data})).collect().to_dicts()
    assert [row[name] for name in ("model", "input", "output")] == ["m", "Capital?", "Paris"]


def test_scores_of_any_shape_are_numbers_and_labels() -> None:
    from polars_evals.traces.platforms.base import read_scores

    assert read_scores({"a": 1, "b": "good", "c": None, "d": {"value": {"x": 0.5}}}) == {
        "a": (1.0, None),
        "b": (None, "good"),
        "d_x": (0.5, None),
    }
    assert read_scores(
        [{"key": "k", "score": None, "value": 2}, {"name": "n", "success": False, "score": 0.1}]
    ) == {
        "k": (2.0, None),
        "n": (0.1, "fail"),
    }
    assert read_scores({"grade": {"value": "C"}}, {"C": 1.0}) == {"grade": (1.0, "C")}
    assert read_scores("no scores") == {}


def test_a_check_names_the_models_of_files_as_a_scan_does(tmp_path: Path) -> None:
    for model in ("acme-1", "acme-2"):
        _written(tmp_path / f"{model}.jsonl", {"input": "2 + 2?", "output": "4"})
    checked = pe.check_traces(tmp_path)
    assert (checked.pairing, checked.versions) == (1.0, ("model", ("acme-1", "acme-2")))
