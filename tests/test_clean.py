"""Cleaning: real shapes of output, what must not change, and input that is made to be slow."""

import json
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.exceptions import ComputeError
from polars.testing import assert_frame_equal, assert_series_equal

import polars_evals as pe
from polars_evals import clean
from tests.texts import PIECES, SCRIPTS, real_pairs

Step = Callable[[pl.Expr], pl.Expr]

STEPS: dict[str, Step] = {
    "reasoning": pe.strip_reasoning,
    "fence": pe.unfence,
    "json": pe.extract_json,
    "choice": pe.extract_choice,
    "number": pe.extract_number,
    "boxed": pe.extract_boxed,
    "after": lambda text: pe.extract_after(text, "Answer:", "####"),
    "regex": lambda text: pe.extract_regex(text, r"<<(\w+)>>"),
}
every_step = pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)


def cleaned(step: Step, *texts: str | None) -> list[str | None]:
    column = pl.Series("text", texts, dtype=pl.String)
    return column.to_frame().select(step(pl.col("text"))).to_series().to_list()


def one(step: Step, text: str) -> str:
    (found,) = cleaned(step, text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        # DeepSeek, Qwen: the opening tag may be part of the prompt.
        ("<think>\nFirst, 6 * 7.\n</think>\n\n42", "42"),
        ("<think>\n\n</think>\n\n42", "42"),
        ("First, 6 * 7.\n</think>\n\n42", "42"),
        ("<think>\nFirst, 6 * 7, and then it was cut", ""),
        ("<think>a</think>b<think>c</think>d", "b d"),
        ("<THINK>a</Think> 42", "42"),
        # Claude's habits, and those of prompts that ask for them.
        ("<thinking>\nThe user asks for x < y.\n</thinking>\nYes", "Yes"),
        ("<scratchpad>\n- a\n- b\n</scratchpad>\n\nYes", "Yes"),
        ("<reasoning>because</reasoning><answer>Yes</answer>", "<answer>Yes</answer>"),
        ('<thought kind="plan">because</thought> Yes', "Yes"),
        ("Sure! <thinking>hm</thinking> Yes", "Sure!  Yes"),
        ("<think>is it <scratchpad>x</scratchpad> y?</think> Yes", "Yes"),
        # gpt-oss: Harmony, with its marks and without them.
        (
            "<|channel|>analysis<|message|>Let me see.<|end|>"
            "<|start|>assistant<|channel|>final<|message|>42<|return|>",
            "42",
        ),
        ("<|start|>assistant<|channel|>analysis<|message|>cut he", ""),
        (
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=functions.f "
            '<|constrain|>json<|message|>{"x": 1}<|call|>',
            '{"x": 1}',
        ),
        ("analysisThe user wants 6 * 7.assistantfinal42", "42"),
        # Magistral, Kimi, Seed, Command, OpenThinker, Granite: tokens and words of their own.
        ("[THINK]6 * 7[/THINK]42", "42"),
        ("[THINK]6 * 7, and then it was cut", ""),
        ("6 * 7[/THINK]42", "42"),
        ("\u25c1think\u25b76 * 7\u25c1/think\u25b7 42", "42"),
        ("<seed:think>6 * 7<seed:cot_budget_reflect>ok</seed:cot_budget_reflect></seed:think>42", "42"),
        ("<|START_THINKING|>6 * 7<|END_THINKING|><|START_RESPONSE|>42<|END_RESPONSE|>", "42"),
        (
            "<|begin_of_thought|>\n\n6 * 7\n\n<|end_of_thought|>\n\n"
            "<|begin_of_solution|>\n\n42\n\n<|end_of_solution|>",
            "42",
        ),
        ("Here is my thought process: 6 * 7.\n\nHere is my response: 42", "42"),
        ("Here's my thought process:\n6 * 7, and then it was cut", ""),
        ("[think] of `[THINK]` and [/think]", "[think] of `[THINK]` and [/think]"),
        ("Here is my response: 42", "Here is my response: 42"),
        # A tag in code is a word.
        ("Write `<think>` first", "Write `<think>` first"),
        ("<think>I close with `</think>` later</think> 42", "42"),
        ("```html\n<think>a</think>\n```\nis how", "```html\n<think>a</think>\n```\nis how"),
        ("<think>a ``` b</think> 42", "42"),
        # Once reasoning has begun, the first closing tag ends it, wherever it stands.
        ("<think>So:\n```python\nx = 1\n</think>\n```python\nx = 2\n```", "```python\nx = 2\n```"),
        ("<think>```\n</think>42", "42"),
        ("<think>use `x</think>` 42", "` 42"),
        ("<think>```</think>a<think>```</think>b", "a b"),
        ("<think>a\n```\nb</think>\n`</think>` is a tag\n```\nc\n```", "`</think>` is a tag\n```\nc\n```"),
        # No tags.
        ("x <thinker> y", "x <thinker> y"),
        ("analysis of assistants", "analysis of assistants"),
        (" 2 < 3 ", " 2 < 3 "),
    ],
)
def test_reasoning(text: str, answer: str) -> None:
    assert one(pe.strip_reasoning, text) == answer


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ('Here:\n```json\n{"a": 1}\n```\nBye', '{"a": 1}'),
        ('```json\n{"a": 1}', '{"a": 1}'),
        ("```\none\n```\nor\n```py\ntwo\n```", "two"),
        ("````markdown\n# T\n```py\nx\n```\n````", "# T\n```py\nx\n```"),
        ("```markdown\n# T\n```py\nx\n```\nrest\n```\nBye", "# T\n```py\nx\n```\nrest"),
        ("```py\nx = '''\n```sh\n'''\n```\nBye", "x = '''\n```sh\n'''"),
        ("~~~\nx\n~~~", "x"),
        ("1. Like this:\n   ```py\n   if x:\n       y\n   ```", "if x:\n    y"),
        ("```42```", "42"),
        ('```json {"a": 1} ```', '{"a": 1}'),
        ("```json is a word```", "json is a word"),
        ("```\n```", ""),
        ("```py\nx\n```\n```", "x"),
        ("a ``` b", "a ``` b"),
        ("no fence ", "no fence "),
        ("```py\r\nx\r\n```\r\n", "x"),
    ],
)
def test_fences(text: str, content: str) -> None:
    assert one(pe.unfence, text) == content


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('Sure! {"a": [1, 2]} Let me know.', '{"a": [1, 2]}'),
        ('```json\n{"a": "}"}\n```', '{"a": "}"}'),
        ('first {"a": 1}, then [2]', "[2]"),
        ('{"a": {"b": 1}', '{"b": 1}'),
        ('{not json} but {"a": 1}', '{"a": 1}'),
        ('"quoted {" and {"a": "\\"{\\u00e9"}', '{"a": "\\"{\\u00e9"}'),
        ('["never closed [1, 2]', "[1, 2]"),
        ("[1, 2,] x", "[1, 2,] x"),
        ("[01] {} x", "{}"),
        ("[1.5e-3, -0, true, null]", "[1.5e-3, -0, true, null]"),
        ("no JSON: 42", "no JSON: 42"),
    ],
)
def test_json(text: str, value: str) -> None:
    assert one(pe.extract_json, text) == value


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (r"so $\boxed{42}$.", "42"),
        (r"$\boxed{\frac{1}{\sqrt{2}}}$", r"\frac{1}{\sqrt{2}}"),
        (r"\boxed{1} no, \boxed{2}", "2"),
        (r"\boxed{1} no, \boxed{2", "1"),
        (r"\boxed{\left\{ x \right.}", r"\left\{ x \right."),
        (r"{ \boxed{1}", "1"),
        (r"\fbox{ x }", "x"),
        (r"$\boxed 7$", "7"),
        (r"\boxed{1}, no: \boxed -3/4.", "-3/4"),
        (r"\boxed -", r"\boxed -"),
        (r"\boxed x", r"\boxed x"),
        ("boxed{1}", "boxed{1}"),
    ],
)
def test_boxes(text: str, content: str) -> None:
    assert one(pe.extract_boxed, text) == content


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Answer: 42", "42"),
        ("#### 42", "42"),
        ("Answer: 41\nno\nAnswer: 42 \nbye", "42"),
        ("Answer:\n\n42\nindeed", "42\nindeed"),
        ("**Answer:** 42", "42"),
        ("**Answer**: 42", "42"),
        ("__Answer__: 42", "42"),
        ("**Final answer: 42**", "42"),
        ("ANSWER: a **b** c", "a **b** c"),
        ("no marker ", "no marker "),
        ("Answer:", ""),
    ],
)
def test_markers(text: str, rest: str) -> None:
    assert one(STEPS["after"], text) == rest


def test_case_of_markers() -> None:
    text = pl.Series(["answer: 1\nAnswer: 2\nANSWER: 3"])
    assert text.evals.extract_after("Answer:", case_sensitive=True).item() == "2"  # type: ignore[attr-defined]
    assert text.evals.extract_after("ÉTÉ:", "Answer:").item() == "3"  # type: ignore[attr-defined]


CHOICES = r"""
B
(B)
B.
**B**
"B"
[B]
b
B) Rome
B. Rome is the capital.
B: because A is wrong
(B) Rome
The answer is B
The answer is (B).
The answer is: B
The correct answer is **B**.
Answer: B
answer - b
**Answer:** B
**Answer: B**
ANSWER: B) Rome
Final answer: \boxed{B}
$\boxed{\text{B}}$
<answer>B</answer>
I choose B.
I'd go with B
Option B is correct.
The correct option is (B).
B is the right answer, not C.
Therefore, B is correct because A is not.
It is not A. The answer is B.
The answer is B. Option A is incorrect, and option C is wrong.
A) Bern\nB) Rome\nC) Oslo\nThe answer is B
Let me think. A is too large, C is too small. So the best choice is B.
Answer:\n\nB
答案是B。
所以选B。
答えはBです。
La respuesta correcta es la B.
Die richtige Antwort ist B.
Правильный ответ — B.
(A) is incorrect. (C) is incorrect. (B) is correct.
**A** is wrong, while **B** is right.
The final answer is $\boxed{\textbf{(B)}}$. I hope it is correct.
I am not sure, but a good guess is B.
The answer is **B**. A common mistake is to choose C.
Let's think step by step. A is wrong since it freezes. C and D are too hot. That leaves B.
**Final Answer**\n\nB
{"answer": "B"}
""".strip().split("\n")


@pytest.mark.parametrize("text", CHOICES)
def test_choices(text: str) -> None:
    assert one(pe.extract_choice, text.replace("\\n", "\n")) == "B"


def test_choices_that_are_none() -> None:
    texts = [
        "A cat sat.",
        "I cannot say",
        "Abc",
        "C++ and C#",
        "D'accord",
        "vitamins",
        "the answer is a cat",
        "",
    ]
    assert cleaned(pe.extract_choice, *texts) == texts
    assert one(lambda text: pe.extract_choice(text, choices="ABCDEFGHIJ"), "The answer is J") == "J"


def test_choices_that_are_words() -> None:
    texts = ["[Yes]", "No, it is not.", "Final answer: YES", "The answer is no"]
    assert cleaned(lambda text: pe.extract_choice(text, choices=["yes", "no"]), *texts) == ["yes", "no"] * 2
    for choices in ("", [], "AA", ["a", "A"], ["not this"], None, [str(n) for n in range(101)]):
        with pytest.raises(ValueError, match="extract_choice: `choices`"):
            pe.extract_choice("text", choices=choices)  # type: ignore[arg-type]


def test_real_answers_in_brackets() -> None:
    from tests.texts import SHARED

    path = SHARED / "llmdrift_prime.parquet"
    if not path.exists():
        pytest.skip("no real texts here")
    answers = pl.read_parquet(path).select(
        "output", bracket=pl.col("output").str.extract(r"\[(Yes|No)\]").str.to_lowercase()
    )
    answers = answers.drop_nulls().with_columns(choice=pe.extract_choice("output", choices=["yes", "no"]))
    agree = (answers["choice"] == answers["bracket"]).mean()
    assert len(answers) > 1000
    assert isinstance(agree, float)
    assert agree > 0.97


def test_numbers_are_those_of_numeric_match() -> None:
    texts = [
        "1,200",
        "-5",
        "1,5",
        "$12.50 total",
        "6.02e23",
        "12.5 %",
        "x",
        "10-20",
        "so...5",
        "5 %-7",
        "−3",
        "",
    ]
    found = cleaned(pe.extract_number, *texts)
    assert found == ["1,200", "-5", "5", "12.50", "6.02e23", "12.5%", "x", "20", "5", "7", "-3", ""]
    frame = pl.DataFrame({"text": texts, "found": found}).filter(pl.col("text").str.contains(r"\d"))
    scored = frame.select(pe.numeric_match("text", "found")).unnest("numeric_match")
    assert scored["score"].to_list() == [1.0] * len(frame)


def test_regular_expressions() -> None:
    assert one(lambda text: pe.extract_regex(text, r"\d+", group=0), "a 12 b 3") == "12"
    assert one(lambda text: pe.extract_regex(text, "x( *)y"), "x  y") == ""
    with pytest.raises(ValueError, match="extract_regex: the pattern has 0 groups, not 1"):
        pe.extract_regex("text", "a")
    with pytest.raises(ValueError, match=r"extract_regex: .*not a valid pattern"):
        pe.extract_regex("text", "(a")
    with pytest.raises(ValueError, match="extract_after: give one or more markers"):
        pe.extract_after("text")


@every_step
def test_engines_agree_and_names_stay(step: Step) -> None:
    texts = [*PIECES, None, *SCRIPTS, "<think>a</think> ```\nx\n``` Answer: B [1] \\boxed{2} <<y>>", ""] * 3
    frame = pl.DataFrame({"text": texts})
    eager = frame.with_columns(step(pl.col("text")))
    assert eager.schema == frame.schema
    assert eager["text"].null_count() == 3
    assert_frame_equal(frame.lazy().with_columns(step(pl.col("text"))).collect(engine="streaming"), eager)
    parts = pl.concat([frame[:7], frame[7:7], frame[7:]], rechunk=False)
    assert_frame_equal(parts.with_columns(step(pl.col("text"))), eager)
    assert_series_equal(frame[5:40].select(step(pl.col("text"))).to_series(), eager["text"][5:40])
    categories = frame.with_columns(pl.col("text").cast(pl.Categorical)).with_columns(step(pl.col("text")))
    assert_frame_equal(categories, eager)
    lists = frame.select(pl.concat_list("text", "text")).with_columns(
        pl.col("text").list.eval(step(pl.element()))
    )
    assert_series_equal(lists["text"].list.first(), eager["text"])
    assert frame[:0].select(step(pl.col("text"))).is_empty()


@every_step
def test_text_without_markers_is_left_alone(step: Step) -> None:
    texts = [text for pair in real_pairs(40) for text in pair]
    plain = [text for text in texts if not any(mark in text for mark in "<`~[{\\#:0123456789ABCD")]
    plain += [" spaces stay \n", "", "\x00", "日本語"]
    assert cleaned(step, *plain) == plain


@pytest.mark.parametrize("name", ["json", "choice", "number", "boxed", "reasoning"])
@settings(max_examples=150, deadline=None)
@given(
    parts=st.lists(
        st.sampled_from(
            [
                "<think>",
                "</think>",
                "a",
                " ",
                "{",
                "}",
                "[1]",
                '"',
                "\\boxed{",
                "B",
                "(",
                ")",
                "1",
                "-",
                "\n",
                "é",
            ]
        ),
        max_size=20,
    )
)
def test_twice_is_once(name: str, parts: list[str]) -> None:
    once = one(STEPS[name], "".join(parts))
    if name == "boxed" and "\\boxed{" in once:
        return  # a box in a box
    assert one(STEPS[name], once) == once


HOSTILE = [
    "<think>",
    "</think>",
    "<",
    "`",
    "``` ",
    "```a\n",
    "{",
    "[",
    '["',
    '{"a":',
    '["\\"',
    "\\boxed{",
    "(A",
    "1,",
]


@pytest.mark.parametrize(
    "piece", [*HOSTILE, "<|channel|>", "<|start|>", "answer ", "` `` ", "Answer:", "<think "]
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    short, long = (pl.DataFrame({"text": [piece * (size // len(piece))]}) for size in (250_000, 1_000_000))
    for step in (*STEPS.values(), first_field):
        times = []
        for frame in (short, long):
            start = time.process_time()
            frame.select(step(pl.col("text")))
            times.append(time.process_time() - start)
        # Quadratic time would be 16 times as long, and minutes. Processor time does not see a busy machine.
        assert times[1] < max(10 * times[0], 1.0)


def first_field(text: pl.Expr) -> pl.Expr:
    return pe.extract_field(text, "$.a[0].b")


DOCUMENTS = [
    '{"a": {"b c": [1, 2.50, "x\\u00e9\\n", null, true, {"d": []}]}, "e": "\\ud83d\\ude42"}',
    ' [ {"a": 1} , {"a": "two"}, 3 ] ',
    '{"a": 1, "a": {"b c": 2}}',
    '{"e": ""}',
    '"text"',
    "1e400",
    "not JSON",
    '{"a": ',
    "",
    None,
]
PATHS: dict[str, list[Any]] = {
    "$": [],
    "$.a": ["a"],
    "$.e": ["e"],
    '$.a["b c"]': ["a", "b c"],
    "$.a['b c'][1]": ["a", "b c", 1],
    '$.a["b c"][2]': ["a", "b c", 2],
    '$.a["b c"][3]': ["a", "b c", 3],
    '$.a["b c"][-1].d': ["a", "b c", -1, "d"],
    '$.a["b c"][9]': ["a", "b c", 9],
    "$[1].a": [1, "a"],
    "$.missing.a": ["missing", "a"],
}


def value_at(document: str | None, path: list[Any]) -> str | None:
    """What Python finds: the content of a text, or the value as it is written."""
    try:
        value = json.loads(document or "", parse_float=Decimal)
        for step in path:
            if not isinstance(value, dict if isinstance(step, str) else list):
                return None
            value = value[step]
    except (ValueError, KeyError, IndexError):
        return None
    if isinstance(value, str):
        return value
    return json.dumps(value, default=float)


@pytest.mark.parametrize("path", PATHS)
def test_fields(path: str) -> None:
    frame = pl.DataFrame({"text": DOCUMENTS * 3})
    found = frame.select(pe.extract_field("text", path))
    for document, ours in zip(DOCUMENTS, found["text"], strict=False):
        theirs = value_at(document, PATHS[path])
        if ours is None or theirs is None:
            assert ours == theirs
        elif document != "1e400":
            assert ours == theirs or json.loads(ours) == json.loads(theirs)
    assert_frame_equal(frame.lazy().select(pe.extract_field("text", path)).collect(engine="streaming"), found)
    parts = pl.concat([frame[:4], frame[4:4], frame[4:]], rechunk=False)
    assert_frame_equal(parts.select(pe.extract_field("text", path)), found)
    assert_series_equal(frame[3:17].select(pe.extract_field("text", path)).to_series(), found["text"][3:17])
    assert_series_equal(frame["text"].evals.extract_field(path), found["text"])  # type: ignore[attr-defined]
    lists = frame.select(pl.concat_list("text")).select(
        pl.col("text").list.eval(pe.extract_field(pl.element(), path))
    )
    assert_series_equal(lists["text"].list.first(), found["text"])


def test_fields_of_all_entries_and_of_structs() -> None:
    def field(text: str, path: str) -> str | None:
        return pl.select(pe.extract_field(pl.lit(text), path)).item()  # type: ignore[no-any-return]

    assert field('[{"a": 1}, {"b": 2}, {"a": "x"}]', "$[*].a") == '[1, "x"]'
    assert field('{"x": {"a": 1}, "y": {"a": 2}}', "$.*.a") == "[1, 2]"
    assert field("[]", "$[*].a") is None
    structs = pl.DataFrame(
        {"s": [{"a": {"b": 'q"\n'}, "n": 1.5, "l": [1, None], "t": True}, None]},
        schema={
            "s": pl.Struct(
                {"a": pl.Struct({"b": pl.String}), "n": pl.Float64, "l": pl.List(pl.Int8), "t": pl.Boolean}
            )
        },
    )
    for path, value in {
        "$.a.b": 'q"\n',
        "$.n": "1.5",
        "$.l": "[1, null]",
        "$.t": "true",
        "$.z": None,
    }.items():
        assert structs.select(pe.extract_field("s", path))["s"].to_list() == [value, None]
    assert structs[1:].select(pe.extract_field("s", "$.a.b"))["s"].to_list() == [None]
    with pytest.raises(ComputeError, match=r"extract_field: `text` must be JSON text, a Struct.*cast"):
        pl.DataFrame({"s": [1]}).select(pe.extract_field("s", "$.a"))
    for path, message in {
        "a.b": "takes a JSON path",
        "$..a": "is not a JSON path",
        "$[a]": "is not a JSON path",
    }.items():
        with pytest.raises(ValueError, match=f"extract_field: `path`.*{message}"):
            pe.extract_field("s", path)


def test_steps_of_a_suite_are_named() -> None:
    for step, message in [
        ("fences", 'unknown step "fences"; did you mean "fence"'),
        ("zzz", "unknown step .*use one of reasoning, fence"),
        ({"after": ""}, "give one or more markers"),
        ({"before": "x"}, "a step is one of"),
        ({"regex": "(", "group": 1}, "not a valid pattern"),
        ({"feild": "$.a"}, 'unknown step "feild"; did you mean "field"'),
        ({"field": "a"}, "`field` takes a JSON path"),
        (3, "a step is one of"),
    ]:
        with pytest.raises(ValueError, match=message):
            clean.read_steps("clean", [step])
    with pytest.raises(ValueError, match="must be a list of steps"):
        clean.read_steps("clean", 3)
