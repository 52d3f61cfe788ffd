"""Numbers and lengths: worked examples, and Python's own float, math.isclose and str.split as oracles."""

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polars_evals as pe


def numbers(output: str | None, expected: str | None = "0", **options: Any) -> dict[str, Any]:
    frame = pl.DataFrame({"o": [output], "e": [expected]}, schema={"o": pl.String, "e": pl.String})
    scored = frame.select(pe.numeric_match("o", "e", details=True, **options).alias("s"))
    return scored.unnest("s").row(0, named=True)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("The answer is 42.", 42), ("-5", -5), ("+7", 7), ("\u22125", -5), ("x = -20", -20), ("x=-20", -20),
        ("10-20", 20), ("GPT-4", 4), ("2024-01-15", 15), ("5 - 3", 3), ("(-3)", -3),
        ("**-3**", -3), ("--20", -20),
        ("$1,234.50", 1234.5), ("-$5.50", -5.5), ("$-5", -5), ("€1,000,000", 1_000_000), ("£.50", 0.5),
        ("1,2345", 2345), ("1,2,3", 3), ("-1,2", 2), ("0,5", 5), ("1,234e3", 1_234_000), ("1,234.", 1234),
        (".5", 0.5), ("-.5", -0.5), ("so...5", 5), ("a.5", 5), ("1.2.3", 3),
        ("50%", 0.5), ("12.3 %", 0.123), ("-5%", -0.05), ("1,200%", 12), ("5%-3", 3),
        ("1e5", 1e5), ("6.02E+23", 6.02e23), ("1e-7", 1e-7), ("2e", 2), ("5km", 5), ("USD100", 100),
        ("first 1, then 2\nfinally 3\n", 3), ("007", 7), ("0" * 1000 + "1", 1),
        ("no number", None), ("", None), ("٤٢", None), ("-", None), (".", None), ("%", None), ("e5", 5),
        ("1e999", None), ("9" * 400, None),
    ],
)  # fmt: skip
def test_the_last_number(text: str, number: float | None) -> None:
    assert numbers(text)["output_number"] == number
    assert numbers("0", text)["expected_number"] == number


@pytest.mark.parametrize(
    ("output", "expected", "options", "score"),
    [
        ("1,200", "1200.0", {}, 1.0),
        ("1.2e3", "1200", {}, 1.0),
        ("12.3%", "0.123", {}, 1.0),
        ("50%", "50", {}, 0.0),
        ("-0", "0", {}, 1.0),
        ("007", "7", {}, 1.0),
        ("9007199254740993", "9007199254740992", {}, 0.0),
        ("9007199254740993", "9007199254740992", {"abs_tol": 1}, 1.0),
        ("9" * 400, "9" * 400, {}, 1.0),
        ("9" * 400, "9" * 400, {"rel_tol": 0.1}, 1.0),
        ("9" * 400, "9" * 399 + "8", {}, 0.0),
        ("9" * 400, "9" * 399 + "8", {"rel_tol": 0.1}, 0.0),
        ("1e999", "1e999", {}, 0.0),
        ("1e999", "-1e999", {"rel_tol": 0.5}, 0.0),
        ("no number", "no number", {}, 0.0),
        ("3.14159", "3.14", {"abs_tol": 0.01}, 1.0),
        ("3.14159", "3.14", {"rel_tol": 1e-6}, 0.0),
        ("99", "100", {"rel_tol": 0.01}, 1.0),
        ("98", "100", {"rel_tol": 0.01}, 0.0),
        ("98", "100", {"rel_tol": 0.01, "abs_tol": 2}, 1.0),
    ],
)
def test_matches(output: str, expected: str, options: dict[str, Any], score: float) -> None:
    assert numbers(output, expected, **options)["score"] == score


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(a=FINITE, b=FINITE | st.none(), abs_tol=st.floats(0, 1e6), rel_tol=st.floats(0, 1))
@settings(max_examples=200, deadline=None)
def test_tolerances_are_those_of_isclose(a: float, b: float | None, abs_tol: float, rel_tol: float) -> None:
    b = a * (1 + rel_tol / 2) if b is None else b
    if not math.isfinite(b):
        b = a
    scored = numbers(f"is {a!r}", f"{b!r}", abs_tol=abs_tol, rel_tol=rel_tol)
    assert (scored["output_number"], scored["expected_number"]) == (a, b)
    assert scored["score"] == float(math.isclose(a, b, abs_tol=abs_tol, rel_tol=rel_tol))


@given(value=st.integers() | st.decimals(allow_nan=False, allow_infinity=False, places=3))
@settings(max_examples=100, deadline=None)
def test_thousands_separators(value: Any) -> None:
    plain, grouped = f"{value:f}" if not isinstance(value, int) else str(value), f"{value:,}"
    assert numbers(f"It is {grouped}.", plain)["score"] == 1.0
    assert numbers(grouped)["output_number"] == numbers(plain)["output_number"]


@given(text=st.text() | st.text(alphabet="-+.,0123456789eE% $\n", max_size=30))
@settings(max_examples=200, deadline=None)
def test_any_text_has_a_finite_number_or_none(text: str) -> None:
    scored = numbers(text, text)
    number = scored["output_number"]
    assert number is None or math.isfinite(number)
    assert number is None or scored["score"] == 1.0


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "1", True, None])
@pytest.mark.parametrize("option", ["abs_tol", "rel_tol"])
def test_bad_tolerances(option: str, bad: Any) -> None:
    with pytest.raises(ValueError, match=f"numeric_match: `{option}`"):
        pe.numeric_match("o", "e", **{option: bad})


def lengths(texts: list[str | None], *bounds: int | None, **options: Any) -> pl.DataFrame:
    frame = pl.DataFrame({"o": texts}, schema={"o": pl.String})
    return frame.select(pe.length_between("o", *bounds, details=True, **options).alias("s")).unnest("s")


@given(texts=st.lists(st.text(alphabet="aé🙂 \n\t\x1c\x1f\x85\u2003\u3000.") | st.none(), max_size=8))
@settings(max_examples=100, deadline=None)
def test_lengths_are_those_of_python(texts: list[str | None]) -> None:
    characters = [None if text is None else len(text) for text in texts]
    words = [None if text is None else len(text.split()) for text in texts]
    assert lengths(texts, 2)["length"].to_list() == characters
    assert lengths(texts, 2, unit="words")["length"].to_list() == words
    scores = lengths(texts, 2, 4, missing="null")["score"].to_list()
    assert scores == [None if n is None else float(2 <= n <= 4) for n in characters]


def test_bounds_are_included_and_may_be_absent() -> None:
    texts = ["", "a", "ab", "abc", None]
    assert lengths(texts, 1, 2)["score"].to_list() == [0.0, 1.0, 1.0, 0.0, 0.0]
    assert lengths(texts, minimum=2)["score"].to_list() == [0.0, 0.0, 1.0, 1.0, 0.0]
    assert lengths(texts, maximum=0)["score"].to_list() == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert lengths(texts, 2, 2)["label"].to_list() == ["fail", "fail", "pass", "fail", "fail"]
    assert lengths(texts, 1)["reason"].to_list() == [None, None, None, None, "no output"]


def test_lengths_of_turns() -> None:
    turns = pl.DataFrame({"o": [["a", "abc"], ["abc", None], [], None]})
    scored = turns.select(pe.length_between("o", 2, details=True).alias("s")).unnest("s")
    assert scored["score"].to_list() == [0.5, 0.5, 0.0, 0.0]
    assert scored["num_low_scores"].to_list() == [1, 1, None, None]
    assert scored["reason"].to_list() == [None, None, "no output", "no output"]


@pytest.mark.parametrize(
    ("bounds", "options", "message"),
    [
        ((), {}, "`minimum`, a `maximum`"),
        ((3, 2), {}, "above the `maximum`"),
        ((-1,), {}, "`minimum`"),
        ((1, 2.5), {}, "`maximum`"),
        ((1,), {"unit": "word"}, '`unit`.*did you mean "words"'),
    ],
)
def test_bad_bounds(bounds: tuple[Any, ...], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"length_between: .*{message}"):
        pe.length_between("o", *bounds, **options)
