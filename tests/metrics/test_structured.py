"""JSON metrics: Python's json with exact numbers is the oracle, and hostile texts never get through."""

import json
import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.exceptions import ComputeError, InvalidOperationError

import polars_evals as pe


def match(output: str | None, expected: str | None, **options: Any) -> dict[str, Any]:
    frame = pl.DataFrame({"o": [output], "e": [expected]}, schema={"o": pl.String, "e": pl.String})
    return (
        frame.select(pe.json_match("o", "e", details=True, **options).alias("s"))
        .unnest("s")
        .row(0, named=True)
    )


def same(output: str, expected: str, **options: Any) -> bool:
    return bool(match(output, expected, **options)["score"] == 1.0)


def is_valid(text: str) -> bool:
    return bool(match(text, "0")["output_valid"])


def reference(text: str) -> Any:
    """Read as Python does, with exact numbers; repeated keys are refused."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError("repeated key")
        return dict(pairs)

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    value = json.loads(
        text, parse_int=Decimal, parse_float=Decimal, parse_constant=refuse, object_pairs_hook=members
    )
    json.dumps(value, default=str, ensure_ascii=False).encode()  # half a surrogate pair cannot be encoded
    return value


def reference_equal(a: Any, b: Any, subset: bool) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        if not (subset or a.keys() == b.keys()):
            return False
        return all(key in a and reference_equal(a[key], b[key], subset) for key in b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(reference_equal(x, y, subset) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and bool(a == b)


SCALARS = [
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1.0, 100.0, 0.1, -0.0]),
    st.text(alphabet='aé"\\\n🙂/', max_size=4),
]
KEYS = st.sampled_from(["a", "b", "é", ""])
VALUES = st.recursive(
    st.one_of(SCALARS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


def spell(value: Any, rng: random.Random) -> str:
    """Write a value as JSON in one of many ways."""
    gap = rng.choice(["", " ", "\n\t"])
    if isinstance(value, dict):
        items = list(value.items())
        rng.shuffle(items)
        return "{" + ",".join(f"{gap}{spell(k, rng)}{gap}:{spell(v, rng)}" for k, v in items) + gap + "}"
    if isinstance(value, list):
        return "[" + ",".join(gap + spell(v, rng) for v in value) + gap + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    exact = Decimal(repr(value))
    sign, digits, exponent = exact.as_tuple()
    assert isinstance(exponent, int)
    plain = f"{exact:f}"
    shifted = f"{'-' * sign}{''.join(map(str, digits))}{rng.choice('eE')}{exponent:+d}"
    return rng.choice([plain, f"{plain}e0", f"{plain}.00" if "." not in plain else f"{plain}0", shifted])


@given(value=VALUES, seed=st.integers(0, 1000))
@settings(max_examples=200, deadline=None)
def test_spelling_does_not_matter(value: Any, seed: int) -> None:
    rng = random.Random(seed)
    one, other = spell(value, rng), spell(value, rng)
    assert same(one, other)
    assert same(one, other, subset=True)


@given(a=VALUES, b=VALUES, seed=st.integers(0, 1000), subset=st.booleans())
@settings(max_examples=200, deadline=None)
def test_equality_is_that_of_the_reference(a: Any, b: Any, seed: int, subset: bool) -> None:
    rng = random.Random(seed)
    one, other = spell(a, rng), spell(b, rng)
    assert same(one, other, subset=subset) == reference_equal(reference(one), reference(other), subset)


@given(text=st.text(alphabet='{}[]",:.-+eE01ntrufalse \\ud8cD/\n\x00', max_size=12) | st.text(max_size=12))
@settings(max_examples=500, deadline=None)
def test_any_text_is_valid_as_the_reference_says(text: str) -> None:
    try:
        reference(text)
        expected = True
    except ValueError:
        expected = False
    assert is_valid(text) == expected


@pytest.mark.parametrize(
    ("output", "expected", "equal"),
    [
        ("1", "1.0", True),
        ("1e2", "100", True),
        ("100", "1E+2", True),
        ("-0", "0.0", True),
        ("0e99", "0", True),
        ("1", "true", False),
        ("1", '"1"', False),
        ("null", "false", False),
        ("0.1", "0.10", True),
        ("9007199254740993", "9007199254740992", False),
        ("1" * 5000, "1" * 5000, True),
        ("1" * 5000, "1" * 4999 + "2", False),
        ("1" + "0" * 5000, "1e5000", True),
        ("1e400", "1e401", False),
        ("1e-400", "0", False),
        ("0.1", "0.1000000000000000055511151231257827", False),
        ('"\\u00e9\\/\\ud83d\\ude42"', '"é/🙂"', True),
        ('"\\u0041"', '"A"', True),
        ('"é"', '"e\u0301"', False),
        ("[1,2]", "[2,1]", False),
        ("[]", "{}", False),
        ("[[]]", "[]", False),
        ("{}", "{}", True),
        ('{"a":1,"b":2}', '{"b":2,"a":1}', True),
        ('{"a":1}', '{"b":1}', False),
        ('{"\\u0061":1}', '{"a":1}', True),
    ],
)
def test_worked_examples(output: str, expected: str, equal: bool) -> None:
    assert same(output, expected) == equal


@pytest.mark.parametrize(
    ("output", "expected", "equal"),
    [
        ('{"a":1,"b":2}', '{"a":1}', True),
        ('{"a":1}', '{"a":1,"b":2}', False),
        ('{"x":[{"a":1,"b":{"c":2,"d":3}},4],"y":0}', '{"x":[{"b":{"c":2.0}},4]}', True),
        ('{"x":[1,2]}', '{"x":[1]}', False),
        ('[{"a":1,"z":0}]', '[{"a":1}]', True),
        ('{"aa":1,"b":2,"c":3}', '{"b":2}', True),
        ('{"a":1}', "{}", True),
        ("[]", "{}", False),
    ],
)
def test_subset_ignores_further_keys_at_every_depth(output: str, expected: str, equal: bool) -> None:
    assert same(output, expected, subset=True) == equal


INVALID = [
    "",
    " ",
    "NaN",
    "Infinity",
    "-Infinity",
    "nul",
    "tru",
    "True",
    "'a'",
    '"a',
    '"\\',
    '"\\x"',
    '"\\u12"',
    '"\\u12g4"',
    '"\\ud800"',
    '"\\udc00"',
    '"\\ud800\\u0041"',
    '"\\ud800x"',
    '"\t"',
    '"\x00"',
    "01",
    "-",
    "-01",
    "1.",
    ".5",
    "+1",
    "1e",
    "1e+",
    "0x1",
    "1e" + "9" * 30,
    "[",
    "]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    "{",
    "{}}",
    "[]]",
    "[}",
    "{]",
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{,"a":1}',
    "{a:1}",
    "{1:1}",
    '{"a" 1}',
    '{"a":1 "b":2}',
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '[{"x":{"a":1,"b":2,"a":3}}]',
    "1 2",
    "[] []",
    "\ufeff1",
    "1//c",
    "\u00a01",
    "[1]x",
    "```json\n{}\n```",
    "[" * 100_000,
    '{"a":' * 100_000,
    "]" * 1000,
    "[" * 5000 + "]" * 4999,
]


@pytest.mark.parametrize("text", INVALID, ids=lambda text: repr(text[:15]))
def test_what_is_not_json_scores_zero_even_against_itself(text: str) -> None:
    scored = match(text, text)
    assert (scored["score"], scored["output_valid"], scored["expected_valid"]) == (0.0, False, False)
    assert pl.Series([text]).evals.json_schema({}).struct.field("score").item() == 0.0  # type: ignore[attr-defined]


def test_zero_has_any_exponent() -> None:
    assert same("0e" + "9" * 30, "0")
    assert same("0." + "0" * 100 + "e" + "9" * 100, "-0.0")
    assert same("5e" + "0" * 100 + "2", "500")


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_nesting_of_any_depth_is_compared(opening: str) -> None:
    depth, closing = 200_000, "]" if opening == "[" else "}"
    deep, other = (opening * depth + value + closing * depth for value in ("1", "2"))
    assert same(deep, deep.replace(":1", ": 1.0"))
    assert not same(deep, other)


def test_large_documents() -> None:
    keys = [f"key{i}" for i in range(30_000)]
    document = json.dumps({key: [i, str(i), {"x": i / 8}] for i, key in enumerate(keys)})
    backwards = json.dumps({key: [i, str(i), {"x": i / 8}] for i, key in reversed(list(enumerate(keys)))})
    assert same(document, backwards)
    assert not same(document, backwards.replace("2499.875", "2499.876"))


PERSON = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": "integer", "minimum": 0}},
    "additionalProperties": False,
}


def schema_scores(outputs: Sequence[str | None], schema: Any, **options: Any) -> pl.DataFrame:
    frame = pl.DataFrame({"o": outputs}, schema={"o": pl.String})
    return frame.select(pe.json_schema("o", schema, **options).alias("s")).unnest("s")


def test_schema_worked_examples() -> None:
    outputs = [
        '{"name": "Ada", "age": 36}',
        '{"name": "Ada", "age": 36.0}',
        '{"name": ""}',
        '{"age": 1}',
        '{"name": "Ada", "x": 1}',
        '{"name": "Ada", "age": "36"}',
        "[]",
        "Ada",
        None,
    ]
    scored = schema_scores(outputs, PERSON, details=True)
    assert scored["score"].to_list() == [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert scored["label"].to_list()[:3] == ["pass", "pass", "fail"]
    errors = scored["error"].to_list()
    assert errors[:2] == [None, None]
    assert errors[5] == '/age: value is not of type "integer"'
    assert errors[3] == '"name" is a required property'
    assert "not JSON" in errors[7]
    assert scored["reason"].to_list()[-2:] == [None, "no output"]
    assert schema_scores(outputs, PERSON, missing="null")["score"].to_list()[-1] is None


def test_a_schema_for_each_row() -> None:
    schemas = ['{"type": "integer"}', '{"type": "string"}', "true", "false", None, '{"type": "integer"}']
    frame = pl.DataFrame({"o": ["1", "1", "1", "1", "1", None], "s": schemas})
    scored = frame.select(pe.json_schema("o", "s", details=True).alias("x")).unnest("x")
    assert scored["score"].to_list() == [1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    assert scored["reason"].to_list()[-2:] == ["no expected value", "no output"]
    any_of = pl.lit(['{"type": "string"}', '{"type": "integer"}'])
    assert frame.select(pe.json_schema("o", any_of).struct.field("score")).to_series()[0] == 1.0
    turns = pl.DataFrame({"o": [["1", '"a"', None], None, []]})
    averaged = turns.select(pe.json_schema("o", {"type": "integer"}, details=True).alias("x")).unnest("x")
    assert averaged["score"].to_list() == [0.333333333333, 0.0, 0.0]
    assert averaged["reason"].to_list() == [None, "no output", "no output"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nope"},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "file:///etc/hostname"},
        {"$ref": "#/$defs/none"},
        {"pattern": "("},
        {"const": float("nan")},
        {"const": object()},
        {"minimum": 10**5000},
    ],
)
def test_bad_schemas_are_errors_at_once(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="json_schema: `schema`"):
        pe.json_schema("o", schema)


def test_bad_schemas_in_a_column_are_errors() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"not": deep}
    with pytest.raises(ValueError, match="json_schema: `schema`"):
        pe.json_schema("o", deep)
    for text in ("", "{", '{"type": 3}', "[]", '{"not":' * 5000 + "{}" + "}" * 5000):
        with pytest.raises(InvalidOperationError, match="json_schema: a row of `schema` is not"):
            schema_scores(["1"], pl.lit(text))
    with pytest.raises(ComputeError, match="json_schema: `schema` must be text"):
        schema_scores(["1"], pl.lit(3))
    for nothing in (None, 3):
        with pytest.raises(TypeError, match=r"json_schema: `schema`.*pl\.lit"):
            pe.json_schema("o", nothing)  # type: ignore[arg-type]


def test_hostile_outputs_against_a_recursive_schema() -> None:
    tree = {
        "$ref": "#/$defs/node",
        "$defs": {"node": {"type": "array", "items": {"allOf": [{"$ref": "#/$defs/node"}]}}},
    }
    nested = ["[" * depth + "]" * depth for depth in (1, 255, 256, 100_000)]
    assert schema_scores(nested, tree)["score"].to_list() == [1.0, 1.0, 0.0, 0.0]
    numbers = ["1" * 4000, "1" * 4001, "9e307", "1e308", "-1e400", "1e-400", "9" * 309]
    assert schema_scores(numbers, {"type": "number"})["score"].to_list() == [
        1.0,
        0.0,
        1.0,
        0.0,
        0.0,
        1.0,
        1.0,
    ]
    exact = {"maximum": 10**30}
    assert schema_scores(["1" + "0" * 30, "1" + "0" * 29 + "1"], exact)["score"].to_list() == [1.0, 0.0]
    evil = {"pattern": "^(a+)+$"}
    assert schema_scores([json.dumps("a" * 5000 + "b")], evil)["score"].to_list() == [0.0]
    endless = {"$ref": "#"}
    assert schema_scores(["1"], endless)["score"].is_between(0, 1).all()


def test_errors_do_not_repeat_the_output() -> None:
    huge = json.dumps({"name": ["x" * 1_000_000]})
    error = schema_scores([huge], PERSON, details=True)["error"].item()
    assert len(error) < 200


def test_errors_of_recursive_alternatives_take_no_exponential_time() -> None:
    again = {"$ref": "#/$defs/node"}
    two_ways = [{"type": "array", "items": again}, {"type": "array", "prefixItems": [again]}]
    node = {"anyOf": [{"type": "integer"}, *two_ways]}
    schema = {"$defs": {"node": node}, "properties": {"a": {"type": "array", "items": again}}}
    deep = "[" * 100 + '"no"' + "]" * 100
    frame = pl.DataFrame({"output": [f'{{"a": [1, {deep}]}}', '{"a": 3}', '{"a": [1]}']})
    errors = frame.select(pe.json_schema("output", schema, details=True)).unnest("json_schema")["error"]
    assert errors.to_list() == [
        "value is not valid",
        "value is not valid",
        None,
    ]
