"""Tool calls, JSON fields and retrieval: other packages' numbers are the oracle; and choices, and meaning."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.exceptions import ComputeError, InvalidOperationError

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


_ARGUMENTS = {"x": [1, {"y": 2.0}]}
_MADE = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": json.dumps(_ARGUMENTS)}}
_LANGCHAIN = {"name": "f", "args": _ARGUMENTS, "id": "call_1", "type": "tool_call"}
_AI = {
    "content": [
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "t", "name": "f", "input": _ARGUMENTS},
    ],
    "additional_kwargs": {"tool_calls": [_MADE]},
    "response_metadata": {"model_name": "m"},
    "type": "ai",
    "name": None,
    "id": "run-1",
    "tool_calls": [_LANGCHAIN],
    "invalid_tool_calls": [],
}
# Answers as the APIs and LangChain write them, whole.
SHAPES: list[Any] = [
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": None, "tool_calls": [_MADE], "refusal": None},
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 1},
    },
    {
        "id": "resp_1",
        "object": "response",
        "tools": [{"type": "function", "name": "f", "parameters": {}}],
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": "f",
                "arguments": json.dumps(_ARGUMENTS),
                "status": "completed",
            },
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "wait"}]},
        ],
    },
    {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "f", "arguments": json.dumps(_ARGUMENTS)},
    },
    {
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "function_call": {"name": "f", "arguments": json.dumps(_ARGUMENTS)},
                }
            }
        ]
    },
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": ""},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": _ARGUMENTS},
        ],
        "stop_reason": "tool_use",
    },
    {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"functionCall": {"name": "f", "args": _ARGUMENTS}}]},
                "finishReason": "STOP",
            }
        ]
    },
    {
        "output": {
            "message": {
                "role": "assistant",
                "content": [
                    {"text": "Let me look."},
                    {"toolUse": {"toolUseId": "1", "name": "f", "input": _ARGUMENTS}},
                ],
            }
        },
        "stopReason": "tool_use",
    },
    _AI,
    {"type": "ai", "data": _AI},
    {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "AIMessage"],
        "kwargs": _AI,
    },
    {"messages": [{"type": "human", "content": "q"}, _AI, {"type": "tool", "name": "f", "content": "[]"}]},
    [
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "HumanMessage"],
            "kwargs": {"content": "q", "type": "human"},
        },
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "AIMessage"],
            "kwargs": _AI | {"tool_calls": []},
        },
    ],
]


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
        *SHAPES,
        SHAPES[0] | {"choices": SHAPES[0]["choices"] * 2},
    ]
    pairs = [(json.dumps(shape), json.dumps([call])) for shape in shapes]
    scored = details_of(pe.tool_calls("output", "expected", details=True), pairs)
    assert scored["score"].to_list() == [1.0] * len(shapes)
    assert set(scored["calls"]) == {1}
    assert set(scored["reason"]) == {None}
    assert scores_of(pe.tool_calls("expected", "output"), pairs) == [1.0] * len(shapes)
    calls = [[{"name": "f", "arguments": {"x": 1, "y": None}}, {"name": "g", "arguments": None}], [], None]
    wanted = ['[{"name": "f", "arguments": {"x": 1}}, {"name": "g"}]', "", "[]"]
    frame = pl.DataFrame({"output": calls, "expected": wanted})
    scored = frame.select(pe.tool_calls("output", "expected")).unnest("tool_calls")
    assert scored["score"].to_list() == [1.0, 1.0, 0.0]


def test_what_langchain_and_openai_write() -> None:
    _, *rows = (json.loads(line) for line in (ORACLES / "messages.jsonl").read_text("utf-8").splitlines())
    expected = {1: '[{"name": "f", "arguments": {"x": 1}}]', 0: "[]"}
    pairs = [(row["text"], expected[row["calls"]]) for row in rows]
    scored = details_of(pe.tool_calls("output", "expected", details=True), pairs)
    assert scored["score"].to_list() == [1.0] * 11
    assert set(scored["reason"]) == {None}
    # What LangChain cannot write holds nothing.
    lost = '{"lc": 1, "type": "not_implemented", "id": ["langchain", "LLMResult"], "repr": "LLMResult()"}'
    reasons = details_of(pe.tool_calls("output", "expected", details=True), [(lost, "[]")])["reason"]
    assert reasons.item() == "no tool calls in output"


def test_pairs_of_calls_are_found_whatever_the_order() -> None:
    """Taking the first that fits would leave the second without one."""
    given = [{"name": "f", "arguments": {"x": 1, "y": 2}}, {"name": "f", "arguments": {"x": 1}}]
    wanted = [{"name": "f", "arguments": {"x": 1}}, {"name": "f", "arguments": {"x": 1, "y": 2}}]
    pair = [(json.dumps(given), json.dumps(wanted))]
    assert scores_of(pe.tool_calls("output", "expected", mode="unordered", arguments="subset"), pair) == [1.0]
    details = details_of(pe.tool_calls("output", "expected", mode="f1", details=True), pair)
    assert details.select("score", "matched", "output_calls").row(0) == (1.0, 2, ["f", "f"])


def test_text_that_holds_no_calls_says_so() -> None:
    pairs = [
        ("prose", "prose"),
        ("prose", "[]"),
        ('{"answer": 42, "name": "Ada"}', "[]"),
        ('{"role": "assistant", "content": "Bern."}', ""),
        ("I would call f", '[{"name": "f"}]'),
    ]
    scored = details_of(pe.tool_calls("output", "expected", details=True), pairs)
    assert scored["score"].to_list() == [1.0, 1.0, 1.0, 1.0, 0.0]
    assert scored["reason"].to_list() == [
        "no tool calls in output; no tool calls in expected",
        "no tool calls in output",
        "no tool calls in output",
        None,
        "no tool calls in output",
    ]
    assert scored["calls"].to_list() == [0] * 5


def test_calls_in_order_and_repeated_calls() -> None:
    f, g, h = ({"name": name, "arguments": {"x": 1}} for name in "fgh")
    cases: list[tuple[list[Any], list[Any], float]] = [
        ([f, g, h], [f, h], 1.0),
        ([f, g, h], [h, f], 0.0),
        ([f, f, g], [f, f], 1.0),
        ([f, g], [f, f], 0.0),
        ([], [], 1.0),
        ([f], [], 1.0),
        ([], [f], 0.0),
    ]
    pairs = [(json.dumps(output), json.dumps(expected)) for output, expected, _ in cases]
    scored = details_of(pe.tool_calls("output", "expected", mode="in_order", details=True), pairs)
    assert scored["score"].to_list() == [score for *_, score in cases]
    assert scored["repeated"].to_list() == [0, 0, 1, 0, 0, 0, 0]
    empty = [("[]", json.dumps([f])), (json.dumps([f]), "[]"), ("[]", "[]")]
    for mode, wanted in {
        "subset": [1.0, 0.0, 1.0],
        "superset": [0.0, 1.0, 1.0],
        "f1": [0.0, 0.0, 1.0],
    }.items():
        assert scores_of(pe.tool_calls("output", "expected", mode=mode), empty) == wanted  # type: ignore[arg-type]


SEARCH = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


@pytest.mark.parametrize(
    "tools",
    [
        [{"type": "function", "function": {"name": "search", "parameters": SEARCH}}],
        [{"type": "function", "name": "search", "parameters": SEARCH}],
        [{"name": "search", "input_schema": SEARCH}],
        {"tools": [{"name": "search", "inputSchema": SEARCH}]},
        {
            "functionDeclarations": [
                {
                    "name": "search",
                    "parameters": {
                        "type": "OBJECT",
                        "properties": {"q": {"type": "STRING"}},
                        "required": ["q"],
                    },
                }
            ]
        },
        {"tools": [{"toolSpec": {"name": "search", "inputSchema": {"json": SEARCH}}}]},
    ],
    ids=["chat", "responses", "anthropic", "mcp", "gemini", "bedrock"],
)
def test_calls_are_checked_against_the_tools(tools: Any) -> None:
    right, wrong = {"name": "search", "arguments": {"q": "x"}}, {"name": "search", "arguments": {"q": 1}}
    outputs = [json.dumps(calls) for calls in ([right], [right, wrong], [{"name": "serch"}], [])]
    frame = pl.DataFrame({"output": [*outputs, "prose", None], "tools": json.dumps(tools)})
    for given in (tools, pl.col("tools")):
        scored = frame.select(pe.tool_calls_valid("output", given, details=True)).unnest("tool_calls_valid")
        assert scored["score"].to_list() == [1.0, 0.5, 0.0, 1.0, 1.0, 0.0]
        assert scored["valid"].to_list() == [1, 1, 0, 0, 0, None]
        assert scored["errors"].to_list()[1:3] == [
            ['search: /q: value is not of type "string"'],
            ['unknown tool "serch"; did you mean "search"?'],
        ]
        assert scored["reason"].to_list()[3:] == [None, "no tool calls in output", "no output"]
    suite = pe.Suite.from_dict({"metric": [{"type": "tool_calls_valid", "tools": tools}]})
    assert suite.score(frame)["tool_calls_valid_score"].to_list()[:2] == [1.0, 0.5]


def test_tools_that_are_none() -> None:
    for tools, message in [
        ([{"parameters": {}}], "a tool has a `name`"),
        ([], "has no tool"),
        ([{"name": "f", "parameters": {"type": "nothing"}}], "not a valid JSON Schema"),
        ([3], "must hold tools"),
    ]:
        with pytest.raises(ValueError, match=f"tool_calls_valid: `tools`.*{message}"):
            pe.tool_calls_valid("output", tools)  # type: ignore[arg-type]
    frame = pl.DataFrame({"output": ["[]"], "tools": ["no"]})
    with pytest.raises(InvalidOperationError, match="tool_calls_valid: a row of `tools` is not JSON"):
        frame.select(pe.tool_calls_valid("output", pl.col("tools")))


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


def test_json_fields_matched_by_a_key() -> None:
    output = {"items": [{"id": 2, "n": "b"}, {"id": 1, "n": "a"}, {"n": "x"}], "total": 3}
    expected = {"items": [{"id": 1.0, "n": "a"}, {"id": 2, "n": "c"}, {"id": 4, "n": "d"}], "total": 3}
    pair = [(json.dumps(output), json.dumps(expected))]
    assert scores_of(pe.json_fields("output", "expected"), pair) == [1 / 7]
    scored = details_of(pe.json_fields("output", "expected", match_by="$.items[*].id", details=True), pair)
    scores = {one["path"]: one["score"] for one in scored["fields"][0].to_list()}
    assert scores == {
        "$.items[id=1].id": 1.0,
        "$.items[id=1].n": 1.0,
        "$.items[id=2].id": 1.0,
        "$.items[id=2].n": 0.0,
        "$.items[id=4].id": 0.0,
        "$.items[id=4].n": 0.0,
        "$.items[0].n": 0.0,
        "$.total": 1.0,
    }
    assert scored["score"].item() == 4 / 8
    again = [('[{"k": 1, "v": 1}, {"k": 1, "v": 2}]', '[{"k": 1, "v": 1}, {"k": 1, "v": 2}]')]
    assert scores_of(pe.json_fields("output", "expected", match_by="$[*].k"), again) == [1.0]
    for path in ("$.items", "$.items[0].id", "$.items[*][0]"):
        with pytest.raises(ValueError, match="`match_by` names a key"):
            pe.json_fields("output", "expected", match_by=path)


def test_objects_are_compared_as_json() -> None:
    rows = [{"a": 1, "b": {"c": "é"}}, {"a": 2, "b": None}, None]
    texts = ['{"b": {"c": "\\u00e9"}, "a": 1.0}', '{"a": 2}', "{}"]
    frame = pl.DataFrame({"output": rows, "expected": texts})
    for metric in (pe.json_match, pe.json_fields):
        for left, right in (("output", "expected"), ("expected", "output"), ("output", "output")):
            scored = frame.select(metric(left, right).struct.field("score")).to_series()
            assert scored.to_list() == [1.0, 1.0, 0.0]
    references = frame.select("output", expected=pl.concat_list(pl.col("output").shift(), "output"))
    assert references.select(
        pe.json_match("output", "expected").struct.field("score")
    ).to_series().to_list() == [
        1.0,
        1.0,
        0.0,
    ]


def test_graded_relevance_of_scikit_learn() -> None:
    from sklearn.metrics import ndcg_score

    rng = np.random.default_rng(0)
    for _ in range(50):
        size = int(rng.integers(2, 12))
        ids, grades = [f"d{n}" for n in range(size)], rng.integers(0, 4, size)
        order = rng.permutation(size)
        if not grades.any():
            continue
        frame = pl.DataFrame(
            {"output": [[ids[n] for n in order]], "expected": [ids], "grades": [grades.tolist()]}
        )
        ranks = np.empty(size)
        ranks[order] = np.arange(size, 0, -1)
        for gain, gains in {"linear": grades, "exponential": 2**grades - 1}.items():
            expr = pe.ndcg("output", "expected", grades="grades", gain=gain, k=5)  # type: ignore[arg-type]
            score = frame.select(expr.struct.field("score")).item()
            assert score == pytest.approx(ndcg_score([gains], [ranks], k=5), abs=1e-12)
    suite = pe.Suite([pe.Metric("ndcg", grades_column="grades")])
    assert suite.score(frame)["ndcg_score"].is_between(0, 1).all()
    with pytest.raises(ComputeError, match="ndcg: `grades` must have a number for each id"):
        pl.DataFrame({"output": [["a"]], "expected": [["a", "b"]], "grades": [[1]]}).select(
            pe.ndcg("output", "expected", grades="grades")
        )
    with pytest.raises(ComputeError, match="ndcg: `grades` must be a list of numbers, got String"):
        pl.LazyFrame(schema=dict.fromkeys("oe", pl.List(pl.String)) | {"g": pl.String}).select(
            pe.ndcg("o", "e", grades="g")
        ).collect_schema()


def test_quotients_are_the_nearest_numbers() -> None:
    frame = pl.DataFrame({"output": [list("abcdefghij")], "expected": [list("abcdef")]})
    for k in range(1, 11):
        hits = min(k, 6)
        assert (
            frame.select(pe.precision_at_k("output", "expected", k=k).struct.field("score")).item()
            == hits / k
        )


def test_retrieval_of_ir_measures() -> None:
    rows = table("retrieval.jsonl")
    frame = pl.DataFrame({"output": [r["output"] for r in rows], "expected": [r["expected"] for r in rows]})
    ours: dict[str, Callable[..., pl.Expr]] = {"R": pe.recall_at_k, "P": pe.precision_at_k, "nDCG": pe.ndcg}
    for k in (1, 3, 10):
        for name, metric in ours.items():
            scored = frame.select(metric("output", "expected", k=k)).to_series().struct.field("score")
            # To the last bit, but for logarithms that libraries round differently.
            assert scored.to_list() == pytest.approx([r["scores"][f"{name}@{k}"] for r in rows], abs=3e-16)
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
        (tmp_path / "none", r"there is no folder .*nothing is downloaded.*from_pretrained"),
        ("all-MiniLM-L6-v2", r"there is no folder \"all-MiniLM-L6-v2\".*SentenceTransformer"),
        (tmp_path, "holds no model2vec model"),
        (3, "must be the folder of a model, or a function"),
    ]:
        with pytest.raises(ValueError, match=message):
            pe.semantic("output", "expected", encoder=encoder)  # type: ignore[arg-type]
    frame = pl.DataFrame({"output": ["a"], "expected": ["b"]})
    with pytest.raises(Exception, match="must give a vector for each text"):
        frame.select(pe.semantic("output", "expected", encoder=lambda texts: [1.0]))
