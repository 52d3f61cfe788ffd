from typing import Any

import polars as pl
import pytest

import polars_evals as pe

LEVENSHTEIN = pe.Suite([pe.Metric("levenshtein")])


def found(
    suite: pe.Suite, frame: pl.DataFrame | pl.LazyFrame
) -> dict[tuple[str, str], tuple[int, str | None]]:
    """Findings by kind and column: number of rows and example."""
    findings = suite.check(frame).select("finding", "column", "rows", "example").rows()
    return {(finding, column): (rows, example) for finding, column, rows, example in findings}


def test_a_sound_frame_has_no_findings() -> None:
    findings = LEVENSHTEIN.check(pl.DataFrame({"output": ["a", "b"], "expected": ["c", "d"]}))
    assert findings.is_empty()
    assert dict(findings.schema) == {
        "severity": pl.Enum(["error", "warning", "info"]),
        "finding": pl.String,
        "metric": pl.String,
        "column": pl.String,
        "rows": pl.Int64,
        "share": pl.Float64,
        "example": pl.String,
        "advice": pl.String,
    }


@pytest.mark.parametrize("lazy", [False, True])
def test_profile_of_both_columns(lazy: bool) -> None:
    df = pl.DataFrame(
        {
            "output": ["a", None, "  ", "x" * 200, "e", "f"],
            "expected": ["yes", "yes", None, "no", "yes", ""],
        }
    )
    suite = pe.Suite([pe.Metric("levenshtein", max_chars=150)])
    assert found(suite, df.lazy() if lazy else df) == {
        ("missing", "output"): (1, None),
        ("empty", "output"): (1, "  "),
        ("missing", "expected"): (1, None),
        ("empty", "expected"): (1, ""),
        ("over_max_chars", "output"): (1, "x" * 79 + "…"),
        ("duplicate", "expected"): (2, "yes"),
    }


def test_the_worst_comes_first_with_its_share_and_advice() -> None:
    df = pl.DataFrame(
        {"output": [None, None], "expected": ["x", "x"]}, schema={"output": pl.String, "expected": pl.String}
    )
    findings = LEVENSHTEIN.check(df)
    assert findings.select("severity", "finding", "metric", "rows", "share").rows() == [
        ("error", "all_missing", None, 2, 1.0),
        ("info", "duplicate", None, 1, 0.5),
    ]
    assert findings["advice"].null_count() == 0


def test_rows_that_cannot_pass() -> None:
    df = pl.DataFrame(
        {
            "output": ["a", "b", "c", "d"],
            "expected": ["x", "да", None, "нет"],
            "references": [["да", "x"], [None, "x"], [], ["x", "да"]],
            "turns": [["x"], ["да", "x"], ["да", "нет"], []],
            "vector": [[1.0], [0.0], None, [2.0]],
        }
    )
    suite = pe.Suite(
        [
            pe.Metric("rouge", name="words", tokenizer="rouge"),
            pe.Metric("rouge", name="several", tokenizer="rouge", expected="references"),
            pe.Metric(
                "rouge",
                name="conversation",
                tokenizer="rouge",
                output="turns",
                expected="turns",
                threshold=0.5,
            ),
            pe.Metric("numeric_match", name="number"),
            pe.Metric("cosine", name="vectors", output="vector", expected="vector"),
            pe.Metric("rouge", name="seen"),
        ]
    )
    findings = suite.check(df).filter(finding="cannot_pass")
    assert findings.select("severity", "metric", "column", "rows", "example").rows() == [
        ("error", "words", "expected", 2, "да"),
        ("error", "several", "references", 1, "['да', 'x']"),
        ("error", "conversation", "turns", 1, "['да', 'нет']"),
        ("error", "number", "expected", 3, "x"),
        ("error", "vectors", "vector", 1, "[0.0]"),
    ]


@pytest.mark.parametrize(
    ("metric", "finding"),
    [
        (pe.Metric("rouge", tokenizer="rouge"), "unseen_script"),
        (pe.Metric("response", tokenizer="rouge"), "unseen_script"),
        (pe.Metric("rouge"), None),
        (pe.Metric("response"), None),
        (pe.Metric("response", match_type="recall"), None),
        (pe.Metric("rouge", tokenizer="unicode"), None),
        (pe.Metric("levenshtein"), None),
    ],
    ids=repr,
)
def test_scripts_that_are_not_seen(metric: pe.Metric, finding: str | None) -> None:
    df = pl.DataFrame({"output": ["naïve café", "ответ 42", "b"], "expected": ["naïve café", "x", "y"]})
    findings = pe.Suite([metric]).check(df)
    assert findings.select("finding", "column", "rows", "example").rows() == (
        [(finding, "output", 1, "ответ 42")] if finding else []
    )


@pytest.mark.parametrize(
    ("metric", "finding"),
    [
        (pe.Metric("jaccard"), None),
        (pe.Metric("rouge", tokenizer="unicode"), "unspaced_script"),
        (pe.Metric("response", match_type="semantic"), "unspaced_script"),
        (pe.Metric("jaccard", tokenizer="whitespace"), "unspaced_script"),
        (pe.Metric("wer", tokenizer="unicode"), "unspaced_script"),
        (pe.Metric("token_f1", tokenizer="whitespace"), "unspaced_script"),
        (pe.Metric("token_f1"), None),
        (pe.Metric("similarity"), None),
        (pe.Metric("bleu"), "unspaced_script"),
        (pe.Metric("gleu"), "unspaced_script"),
        (pe.Metric("rouge"), None),
        (pe.Metric("response"), None),
        (pe.Metric("jaccard", tokenizer="auto"), None),
        (pe.Metric("jaccard", tokenizer="characters"), None),
        (pe.Metric("bleu", tokenize="char"), None),
        (pe.Metric("similarity", unit="characters"), None),
        (pe.Metric("response", match_type="exact"), None),
        (pe.Metric("chrf"), None),
    ],
    ids=repr,
)
def test_scripts_without_spaces(metric: pe.Metric, finding: str | None) -> None:
    df = pl.DataFrame({"output": ["東京です", "สวัสดี", "b"], "expected": ["Tokyo it is", "Привет всем", "y"]})
    findings = pe.Suite([metric]).check(df)
    assert findings.select("finding", "column", "rows", "example").rows() == (
        [(finding, "output", 2, "東京です")] if finding else []
    )


def test_what_to_choose_for_scripts_without_spaces() -> None:
    df = pl.DataFrame({"output": ["東京です"], "expected": ["東京です"]})
    for metric, advice in {
        "bleu": 'use tokenize="char"',
        "gleu": 'use bleu with tokenize="char", or chrf',
    }.items():
        assert advice in pe.Suite([metric]).check(df).filter(finding="unspaced_script")["advice"][0]
    response = pe.Suite([pe.Metric("response", match_type="recall")]).check(df)
    assert 'use tokenizer="characters"' in response["advice"][0]


def test_what_must_not_be_there_need_not_match_itself() -> None:
    df = pl.DataFrame({"output": ["a", "b"], "expected": ["c", "d"]})
    assert pe.Suite([pe.Metric("contains", negate=True)]).check(df).is_empty()


def test_conversations_and_references() -> None:
    turns = [["Hello", "42"], [], None, ["a", " "], [None]]
    df = pl.DataFrame({"output": turns, "expected": turns, "text": ["a", "b", "c", "d", "e"]})
    assert found(LEVENSHTEIN, df) == {
        ("missing", "output"): (3, "[]"),
        ("missing", "expected"): (3, "[]"),
        ("empty", "output"): (1, "['a', ' ']"),
        ("empty", "expected"): (1, "['a', ' ']"),
    }
    references = pe.Suite([pe.Metric("exact_match")], output="text")
    assert found(references, df) == {
        ("missing", "expected"): (3, "[]"),
        ("empty", "expected"): (1, "['a', ' ']"),
    }


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["a", "b"])])
def test_categories_are_text(dtype: Any) -> None:
    df = pl.DataFrame({"output": ["a", "b"], "expected": ["a", "a"]}).with_columns(pl.all().cast(dtype))
    assert found(LEVENSHTEIN, df) == {("duplicate", "expected"): (1, "a")}


def test_patterns_by_row_can_be_missing() -> None:
    df = pl.DataFrame({"output": ["a", "b"], "pattern": ["a", None]})
    suite = pe.Suite([pe.Metric("regex_match", pattern_column="pattern", missing="null")])
    findings = suite.check(df)
    assert findings.select("finding", "column", "rows", "advice").rows() == [
        ("missing", "pattern", 1, "they get no score")
    ]


def test_nothing_to_check() -> None:
    empty = pl.DataFrame(schema={"output": pl.String, "expected": pl.String})
    assert LEVENSHTEIN.check(empty).select("severity", "finding").rows() == [("error", "no_rows")]
    null = pl.DataFrame({"output": ["a"], "expected": [None]})
    assert found(LEVENSHTEIN, null) == {("all_missing", "expected"): (1, None)}
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match='no column "expected"'):
        LEVENSHTEIN.check(empty.select("output"))
