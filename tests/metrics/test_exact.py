"""Equality, substrings and patterns."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.exceptions import ComputeError

import polars_evals as pe

# Python also strips U+001C to U+001F, which Unicode does not count as white space.
WHITE_SPACE = "".join(chr(c) for c in range(0x110000) if chr(c).isspace() and not 0x1C <= c <= 0x1F)


def score(metric: Any, output: Any, expected: Any, **options: Any) -> float:
    frame = pl.DataFrame({"output": [output], "expected": [expected]})
    return float(
        frame.select(metric("output", pl.col("expected"), **options)).to_series().struct.field("score").item()
    )


@pytest.mark.parametrize(
    ("output", "expected", "options", "wanted"),
    [
        ("Positive", "positive", {}, 1.0),
        ("POSITIVE", "positive", {}, 1.0),
        ("positive!", "positive", {}, 0.0),
        ("OK", "OK", {"case_sensitive": True}, 1.0),
        ("ok", "OK", {"case_sensitive": True}, 0.0),
        ("Ok", "OK", {"case_sensitive": True}, 0.0),
        ("Hello   World", "Hello World", {"normalize_whitespace": True}, 1.0),
        ("Hello\nWorld", "Hello World", {"normalize_whitespace": True}, 1.0),
        ("Hello\nWorld", "Hello World", {}, 0.0),
        ("\u3000Hello\t", "Hello", {}, 1.0),
        ("\u3000Hello\t", "Hello", {"trim": False}, 0.0),
        (" a", "\na", {"trim": False, "normalize_whitespace": True}, 1.0),
        (" a", "a", {"trim": False, "normalize_whitespace": True}, 0.0),
        ("ΣΊΣΥΦΟΣ", "σίσυφος", {}, 1.0),
        ("", "", {}, 1.0),
        # Exact string match as others define it: trimmed, case counts.
        ("The answer is 42.", "The answer is 42.", {"case_sensitive": True}, 1.0),
        ("Pass", "PASS", {"case_sensitive": True}, 0.0),
        ("Hello", " Hello ", {"case_sensitive": True}, 1.0),
        ("The answer is Paris.", "Paris", {"case_sensitive": True}, 0.0),
    ],
)
def test_exact_match(output: str, expected: str, options: dict[str, bool], wanted: float) -> None:
    assert score(pe.exact_match, output, expected, **options) == wanted


@pytest.mark.parametrize(
    ("output", "expected", "options", "wanted"),
    [
        ("The answer is Paris.", "Paris", {"case_sensitive": True}, 1.0),
        ("The answer is Paris.", " paris ", {}, 1.0),
        ("The answer is Paris.", "paris", {"case_sensitive": True}, 0.0),
        ("a.c", ".", {}, 1.0),
        ("abc", ".", {}, 0.0),
        ("abc", "", {}, 1.0),
        ("abc", "z", {"negate": True}, 1.0),
        ("abc", ["a", "z"], {}, 1.0),
        ("abc", ["a", "z"], {"mode": "all"}, 0.0),
        ("abc", ["a", "b"], {"mode": "all"}, 1.0),
        ("abc", ["a", "z"], {"negate": True}, 0.0),
        ("abc", ["y", "z"], {"negate": True}, 1.0),
        ("abc", ["a", "z"], {"mode": "all", "negate": True}, 1.0),
        ("abc", ["a", "b"], {"mode": "all", "negate": True}, 0.0),
        ("abc", ["a", None], {"mode": "all"}, 1.0),
    ],
)
def test_contains(output: str, expected: Any, options: dict[str, Any], wanted: float) -> None:
    assert score(pe.contains, output, expected, **options) == wanted


@pytest.mark.parametrize(
    ("metric", "output", "expected", "options", "wanted"),
    [
        (pe.starts_with, " Yes, it is", "yes", {}, 1.0),
        (pe.starts_with, " Yes, it is", "yes", {"trim": False}, 0.0),
        (pe.starts_with, "Yes, it is", "yes", {"case_sensitive": True}, 0.0),
        (pe.starts_with, "No", ["yes", "no"], {}, 1.0),
        (pe.ends_with, "it is YES\n", " yes", {}, 1.0),
        (pe.ends_with, "it is yes\n", "yes", {"trim": False}, 0.0),
        (pe.ends_with, "it is yes.", "yes", {}, 0.0),
    ],
)
def test_ends(metric: Any, output: str, expected: Any, options: dict[str, Any], wanted: float) -> None:
    assert score(metric, output, expected, **options) == wanted


@pytest.mark.parametrize(
    ("output", "pattern", "options", "wanted"),
    [
        ("Order a-1234", r"[A-Z]-\d{4}", {}, 1.0),
        ("Order a-1234", r"[A-Z]-\d{4}", {"case_sensitive": True}, 0.0),
        ("Order a-1234", r"^\d", {}, 0.0),
        ("Order a-1234", r"^\d", {"negate": True}, 1.0),
        ("b", "a|B", {}, 1.0),
        ("x", ["a", "x"], {}, 1.0),
        ("x", ["a", "x"], {"negate": True}, 0.0),
        ("straße", r"\bSTRAßE\b", {}, 1.0),
    ],
)
def test_regex_match(output: str, pattern: Any, options: dict[str, Any], wanted: float) -> None:
    assert score(pe.regex_match, output, pattern, **options) == wanted


def test_a_plain_string_is_the_pattern_itself() -> None:
    frame = pl.DataFrame({"output": ["abc", "xyz"]})
    assert frame.select(pe.regex_match("output", "b.")).to_series().struct.field("score").to_list() == [
        1.0,
        0.0,
    ]


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a{100000000}", "[a-z]{40000}"])
def test_bad_patterns(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"regex_match: .* is not a valid pattern"):
        pe.regex_match("output", pattern)
    with pytest.raises(ComputeError, match="regex_match: a row of `pattern` is not a valid pattern"):
        score(pe.regex_match, "abc", pattern)


def test_bad_options() -> None:
    with pytest.raises(
        ValueError, match=r'contains: `mode` must be one of "any", "all", got .al.; did you mean "all"'
    ):
        pe.contains("a", "b", mode="al")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="exact_match: `trim` must be True or False, got 'yes'"):
        pe.exact_match("a", "b", trim="yes")  # type: ignore[arg-type]


@given(st.text(max_size=30), st.text(max_size=30), st.booleans(), st.booleans())
def test_exact_match_is_pythons_equality(left: str, right: str, case_sensitive: bool, trim: bool) -> None:
    a, b = (text.strip(WHITE_SPACE) if trim else text for text in (left, right))
    a, b = (text if case_sensitive else pl.Series([text]).str.to_lowercase().item() for text in (a, b))
    assert score(pe.exact_match, left, right, case_sensitive=case_sensitive, trim=trim) == float(a == b)
