"""Tool calls, JSON fields and retrieval: other packages' numbers are the oracle; and choices, and meaning."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.exceptions import ComputeError

import polars_evals as pe
from tests.cases import letters
from tests.texts import details_of, scores_of

ORACLES = Path(__file__).parents[1] / "oracles"


def table(name: str) -> list[dict[str, Any]]:
    """The rows that another package scored; the first line says which version."""
    _, *rows = (json.loads(line) for line in (ORACLES / name).read_text("utf-8").splitlines())
    assert len(rows) >= 100
    return rows


def test_tool_calls_of_agentevals() -> None:
    for row in table("tool_calls.jsonl"):
        pair = [(json.dumps(row["output"]), json.dumps(row["expected"]))]
        expr = pe.tool_calls("output", "expected", mode=row["mode"], arguments=row["arguments"])
        assert scores_of(expr, pair) == [row["score"]], row


def test_shapes_of_tool_calls() -> None:
    call = {"name": "f", "arguments": {"x": [1, {"y": 2.0}]}}
    as_text = call | {"arguments": json.dumps(call["arguments"])}
    shapes: list[Any] = [
        call,
        [call],
        [as_text],
        {"function": as_text},
        [{"id": "1", "type": "function", "function": as_text}],
        {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": as_text}]},
        {"choices": 1, "tool_calls": [{"function": as_text}]},
        [
            {"type": "text", "text": "hm"},
            {"type": "tool_use", "id": "1", "name": "f", "input": call["arguments"]},
        ],
        {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": call["arguments"]}]},
        {"name": "f", "args": call["arguments"], "id": "1", "type": "tool_call"},
        [
            {"role": "user", "content": "q"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "name": "f"},
        ],
    ]
    pairs = [(json.dumps(shape), json.dumps([call])) for shape in shapes]
    assert scores_of(pe.tool_calls("output", "expected"), pairs) == [1.0] * len(shapes)
    calls = [[{"name": "f", "arguments": {"x": 1, "y": None}}, {"name": "g", "arguments": None}], [], None]
    wanted = ['[{"name": "f", "arguments": {"x": 1}}, {"name": "g"}]', "", "[]"]
    frame = pl.DataFrame({"output": calls, "expected": wanted})
    scored = frame.select(pe.tool_calls("output", "expected")).unnest("tool_calls")
    assert scored["score"].to_list() == [1.0, 1.0, 0.0]


def test_pairs_of_calls_are_found_whatever_the_order() -> None:
    """Taking the first that fits would leave the second without one."""
    given = [{"name": "f", "arguments": {"x": 1, "y": 2}}, {"name": "f", "arguments": {"x": 1}}]
    wanted = [{"name": "f", "arguments": {"x": 1}}, {"name": "f", "arguments": {"x": 1, "y": 2}}]
    pair = [(json.dumps(given), json.dumps(wanted))]
    assert scores_of(pe.tool_calls("output", "expected", mode="unordered", arguments="subset"), pair) == [1.0]
    details = details_of(pe.tool_calls("output", "expected", mode="f1", details=True), pair)
    assert details.select("score", "matched", "output_calls").row(0) == (1.0, 2, ["f", "f"])
    prose = [("prose", "prose"), ("prose", "[]"), ("1", "true")]
    assert scores_of(pe.tool_calls("output", "expected"), prose) == [0.0, 1.0, 1.0]


def test_json_fields_of_autoevals() -> None:
    rows = table("json_fields.jsonl")
    pairs = [(json.dumps(row["output"]), json.dumps(row["expected"])) for row in rows]
    scores = scores_of(pe.json_fields("output", "expected"), pairs)
    assert scores == pytest.approx([row["score"] for row in rows], abs=1e-12)


def test_json_fields() -> None:
    pairs = [
        ('{"a": [1, 2, {"b": true}]}', '{"a": [1.0, 3, {"b": 1}], "c": {}}'),
        ("{}", "{}"),
        ("[]", "{}"),
        ("3", "3.0"),
        ('{"a": 1}', '{"a": {"b": 1}}'),
        ("no", "no"),
        ('{"a b": 1}', "{}"),
    ]
    scored = details_of(pe.json_fields("output", "expected", details=True), pairs)
    assert scored["score"].to_list() == [0.25, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    assert scored["differing"][0].to_list() == ["$.a[1]", "$.a[2].b"]
    assert scored["missing"][0].to_list() == ["$.c"]
    assert scored["extra"][6].to_list() == ['$["a b"]']
    given = '{"items": [{"id": 1, "n": 2}, {"id": 3, "n": 4.05}]}'
    items = [(given, '{"items": [{"id": 5, "n": 2}, {"id": 6, "n": 4}]}')]
    for options, score in [
        ({"ignore": "$.items[*].id", "abs_tol": 0.1}, 1.0),
        ({"ignore": ["$.items.*['id']"]}, 0.5),
        ({"ignore": "$"}, 1.0),
        ({"rel_tol": 0.1}, 0.5),
    ]:
        assert scores_of(pe.json_fields("output", "expected", **options), items) == [score]  # type: ignore[arg-type]
    for path in ("items", "$.a b[", 3):
        with pytest.raises(ValueError, match="json_fields: `ignore`"):
            pe.json_fields("output", "expected", ignore=[path])  # type: ignore[list-item]


def test_retrieval_of_ir_measures() -> None:
    rows = table("retrieval.jsonl")
    frame = pl.DataFrame({"output": [r["output"] for r in rows], "expected": [r["expected"] for r in rows]})
    ours: dict[str, Callable[..., pl.Expr]] = {"R": pe.recall_at_k, "P": pe.precision_at_k, "nDCG": pe.ndcg}
    for k in (1, 3, 10):
        for name, metric in ours.items():
            scored = frame.select(metric("output", "expected", k=k)).to_series().struct.field("score")
            assert scored.to_list() == pytest.approx([r["scores"][f"{name}@{k}"] for r in rows], abs=1e-12)
    scored = frame.select(pe.reciprocal_rank("output", "expected")).unnest("reciprocal_rank")["score"]
    assert scored.to_list() == pytest.approx([row["scores"]["RR"] for row in rows], abs=1e-12)


def test_ids() -> None:
    frame = pl.DataFrame({"output": [[1, 1, 2], [3], [], None], "expected": [[2], [], [1], [1]]})
    scored = frame.select(pe.reciprocal_rank("output", "expected", details=True)).unnest("reciprocal_rank")
    assert scored["score"].to_list() == [0.5, 0.0, 0.0, 0.0]
    assert scored["reason"].to_list() == [None, "no expected value", None, "no output"]
    single = pl.DataFrame({"output": [["a", "b"], ["c"]], "expected": ["b", None]})
    scored = single.select(pe.recall_at_k("output", "expected")).unnest("recall_at_k")
    assert scored["score"].to_list() == [1.0, 0.0]
    with pytest.raises(ComputeError, match="ndcg: `output` must be a list of ids"):
        pl.DataFrame({"output": ["a"], "expected": ["a"]}).select(pe.ndcg("output", "expected"))
    with pytest.raises(ValueError, match="ndcg: `k`"):
        pe.ndcg("output", "expected", k=0)


def test_choice_finds_both_sides() -> None:
    pairs = [("so (B)", "B"), ("B", "**B**"), ("C", "B"), ("none", "none"), ("B", "none")]
    assert scores_of(pe.choice("output", "expected"), pairs) == [1.0, 1.0, 0.0, 0.0, 0.0]


def test_each_text_is_encoded_once() -> None:
    seen: list[str] = []

    def encode(texts: list[str]) -> list[list[float]]:
        assert len(texts) <= 3
        seen.extend(texts)
        return letters(texts)

    frame = pl.DataFrame({"output": ["ab", "b", "ab", None] * 4, "expected": ["ab", "a", "x", "y"] * 4})
    expr = pe.semantic("output", "expected", encoder=encode, batch_size=3)
    first = frame.select(expr)
    assert sorted(seen) == ["a", "ab", "b", "x"]  # not "y": nothing stands beside it
    assert frame.lazy().select(expr).collect(engine="streaming").equals(first)
    assert len(seen) == 4


def test_cached_vectors_and_vectors_on_request(tmp_path: Path) -> None:
    cache = tmp_path / "vectors.parquet"
    frame = pl.DataFrame({"output": ["ab", "ba"], "expected": ["abc", "x"]})

    def never(texts: list[str]) -> list[list[float]]:
        raise AssertionError(texts)

    first = frame.select(pe.semantic("output", "expected", encoder=letters, cache=cache))
    again = frame.select(pe.semantic("output", "expected", encoder=never, cache=cache))
    assert again.equals(first)
    assert pl.read_parquet(cache).height == 4
    plain = frame.select(pe.semantic("output", "expected", encoder=letters, details=True)).unnest("semantic")
    assert not [name for name in plain.columns if "vector" in name]
    with_vectors = pe.semantic("output", "expected", encoder=letters, vectors=True, details=True)
    vectors = frame.select(with_vectors).unnest("semantic")
    assert vectors["output_vector"][0].to_list() == letters(["ab"])[0]


def test_a_model_in_a_folder(tmp_path: Path) -> None:
    from model2vec import StaticModel
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    words = ["[UNK]", "cat", "dog", "car"]
    tokenizer = Tokenizer(WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    vectors = np.array([[0, 0, 0.01], [1, 0.1, 0], [0.9, 0.3, 0], [0, 0, 1]], dtype=np.float32)
    StaticModel(vectors, tokenizer).save_pretrained(tmp_path)
    frame = pl.DataFrame({"output": ["cat", "cat", "cat"], "expected": ["cat", "dog", "car"]})
    scored = frame.select(pe.semantic("output", "expected", encoder=tmp_path)).unnest("semantic")["score"]
    assert scored[0] == 1.0
    assert 0.9 < scored[1] < 1.0
    assert scored[2] < 0.1
    metric = pe.Suite([pe.Metric("semantic", encoder=str(tmp_path))])
    assert "sha256" in metric.signature["semantic"]


def test_encoders_that_are_none(tmp_path: Path) -> None:
    for encoder, message in [
        (tmp_path / "none", r"there is no model in .*nothing is downloaded here.*from_pretrained"),
        (3, "must be the folder of a model, or a function"),
    ]:
        with pytest.raises(ValueError, match=message):
            pe.semantic("output", "expected", encoder=encoder)  # type: ignore[arg-type]
    frame = pl.DataFrame({"output": ["a"], "expected": ["b"]})
    with pytest.raises(Exception, match="must give a vector for each text"):
        frame.select(pe.semantic("output", "expected", encoder=lambda texts: [1.0]))
