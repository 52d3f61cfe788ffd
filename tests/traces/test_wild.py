"""Files as tools and benchmarks write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import polars_evals as pe

ROOT = Path(__file__).parents[2]
WILD = next((p for p in (ROOT / "../shared/data/wild", ROOT / "../../shared/data/wild") if p.is_dir()), None)

# What is not read yet: tables of nobody's standard, which take --column, and layouts still to come.
_UNREAD = (
    *("ifeval/", "mmlu_pro/", "promptfoo_old/", "azure_eval/", "dspy/"),
    *("batch_two_models", "chats/hw5_raw_traces.jsonl", "otel/gemini-B"),
)


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


def _expectations() -> list[dict[str, Any]]:
    if WILD is None:
        return []
    held = json.loads((WILD / "expect.json").read_text())
    return [each for each in held if not each["file"].startswith(_UNREAD) and not each.get("refused")]


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
