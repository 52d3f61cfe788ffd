"""Every metric that gives a score, with columns to try it on. The contract suite runs all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

import polars_evals as pe

TEXTS = [
    "The quick brown fox",
    "the quick  brown dog.",
    "",
    None,
    " Straße in ÉVREUX, \u0130stanbul ",
    "42",
    "Ответ: ΟΔΥΣΣΕΥΣ, 中文 and 🙂",
    "jumps over the lazy dog " * 40,
    "x",
    None,
    "\x00\u2028odd\x1f",
    "The answer is 42.",
]

DOCUMENTS = [
    '{"a": 1, "b": [true, null]}',
    '{"b": [true, null], "a": 1.0}',
    '{"a": 1}',
    None,
    "[1, 2.50, 1e2]",
    "[1.0, 2.5, 100]",
    '"Stra\\u00dfe"',
    '"Straße"',
    "{}",
    None,
    "not JSON",
    "[" * 1000 + "]" * 1000,
]
SHIFTED = [*DOCUMENTS[1:], DOCUMENTS[0]]
# Documents that are also schemas.
SCHEMAS = [
    '{"type": "object"}',
    "true",
    '{"type": "boolean"}',
    None,
    '{"required": ["type"]}',
    '{"type": "boolean", "description": "ß"}',
    "false",
    "{}",
    None,
]

VECTORS = [
    [1.0, 2.0, 3.0],
    [2.0, 4.0, 6.1],
    [0.0, 0.0, 0.0],
    None,
    [-1.0, 0.5, 1e300],
    [1e-300, 0.0, 0.0],
    [1.0, 2.0],
    [],
    [float("nan"), 1.0, 1.0],
    None,
    [float("inf"), 1.0, 1.0],
    [None, 1.0, 1.0],
]


CALLS = [
    '[{"name": "f", "arguments": {"x": 1}}, {"name": "g"}]',
    '[{"name": "g"}, {"function": {"name": "f", "arguments": "{\\"x\\": 1.0}"}}]',
    '{"content": [{"type": "text"}, {"type": "tool_use", "name": "f", "input": {"x": 1, "y": 2}}]}',
    None,
    "[]",
    '{"role": "assistant", "content": "no call"}',
    '[{"name": "f", "args": {"x": 1}}]',
    '{"role": "assistant", "tool_calls": [{"name": "f", "args": {"x": 1}}, {"name": "g"}]}',
    "",
    None,
    "prose",
    '[{"name": "f"}, {"name": "f"}]',
]

IDS = [
    ["a", "b", "c"],
    ["b", "b", "a", "d"],
    ["c"],
    None,
    ["d", None, "b"],
    [],
    ["x", "y", "z", "a", "b", "c", "d", "e", "f", "g", "h", "i"],
    ["a"],
    ["Straße", "b"],
    None,
    [None],
    ["h", "i", "a"],
]


def letters(texts: list[str]) -> list[list[float]]:
    """A small encoder: how often each letter occurs."""
    return [[float(text.lower().count(chr(97 + i))) for i in range(26)] for text in texts]


@dataclass(frozen=True)
class Case:
    """A metric, its options, and columns that fit it."""

    metric: Callable[..., pl.Expr]
    options: dict[str, Any] = field(default_factory=dict)
    output: Sequence[Any] = tuple(TEXTS)
    expected: Sequence[Any] = (*TEXTS[3:], *TEXTS[:3])
    # Whether any text scores 1.0 against itself. ROUGE, BLEU and chrF find nothing to count in some texts.
    reflexive: bool = True
    # A value that scores 1.0 against itself, and another.
    same: Any = "x"
    other: Any = "zebra"
    # Two columns of texts, as most metrics take them; the output alone; or two columns of vectors.
    columns: Literal["texts", "output", "vectors"] = "texts"

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.__name__

    @property
    def frame(self) -> pl.DataFrame:
        """The columns, some rows of which are equal."""
        output, expected = list(self.output), list(self.expected)
        return pl.DataFrame({"output": output + output, "expected": expected + output}, strict=False)

    def __call__(self, output: Any = "output", expected: Any = "expected", **options: Any) -> pl.Expr:
        """Build the expression, with further options."""
        # A plain string would be a pattern for `regex_match`.
        expected = pl.col(expected) if isinstance(expected, str) else expected
        if self.columns == "output":
            return self.metric(output, **(self.options | options))
        return self.metric(output, expected, **(self.options | options))


CASES = [
    Case(pe.exact_match),
    Case(pe.exact_match, {"case_sensitive": True, "trim": False, "normalize_whitespace": True}),
    Case(pe.contains),
    Case(pe.contains, {"mode": "all", "case_sensitive": True}),
    Case(pe.starts_with),
    Case(pe.ends_with, {"trim": False}),
    Case(
        pe.regex_match,
        expected=["fox", None, "^$", "[a-z]+", "ß", r"\d+", "中", "dog", "y", "x", "odd", "42."],
    ),
    Case(pe.levenshtein),
    Case(pe.levenshtein, {"case_sensitive": True, "decimals": None, "max_chars": 5}),
    Case(pe.rouge),
    Case(pe.rouge, {"tokenizer": "rouge"}, reflexive=False),
    Case(pe.rouge, {"variant": "rougeL", "measure": "recall", "stemmer": False}),
    Case(pe.rouge, {"variant": "rougeLsum", "tokenizer": "unicode", "threshold": 0.5, "stemmer": True}),
    Case(pe.rouge, {"variant": "rouge2", "tokenizer": r"[\w']+"}),
    Case(pe.jaccard),
    Case(pe.jaccard, {"tokenizer": "whitespace"}),
    Case(pe.jaccard, {"tokenizer": "characters", "case_sensitive": True}),
    Case(pe.recall),
    Case(pe.recall, {"tokenizer": r"\w+"}),
    Case(pe.recall, {"tokenizer": "auto", "case_sensitive": True}),
    Case(pe.token_f1),
    Case(pe.token_f1, {"tokenizer": "unicode"}),
    Case(pe.bleu, reflexive=False),
    Case(pe.bleu, {"tokenize": "intl", "lowercase": True}, reflexive=False),
    Case(pe.chrf, reflexive=False),
    Case(pe.chrf, {"word_order": 2}, reflexive=False),
    Case(pe.response),
    Case(pe.response, {"match_type": "semantic"}),
    Case(pe.response, {"match_type": "exact", "case_sensitive": True}),
    Case(pe.response, {"match_type": "recall", "case_sensitive": True, "normalize_whitespace": False}),
    Case(pe.damerau_levenshtein),
    Case(pe.osa, {"case_sensitive": True, "decimals": None, "max_chars": 5}),
    Case(pe.indel),
    Case(pe.hamming),
    Case(pe.jaro_winkler, {"decimals": 4}),
    Case(pe.similarity),
    Case(pe.similarity, {"unit": "characters", "n": 3, "case_sensitive": True}),
    Case(pe.numeric_match, reflexive=False, same="-1,000", other="7"),
    Case(pe.numeric_match, {"abs_tol": 1.0, "rel_tol": 0.1}, reflexive=False, same="5%", other="7"),
    Case(pe.json_match, output=DOCUMENTS, expected=SHIFTED, reflexive=False, same="[1]", other="[2]"),
    Case(
        pe.json_match,
        {"subset": True},
        output=DOCUMENTS,
        expected=SHIFTED,
        reflexive=False,
        same='{"a": 1}',
        other="[2]",
    ),
    Case(
        pe.json_schema,
        output=SCHEMAS,
        expected=(*SCHEMAS[1:], SCHEMAS[0]),
        reflexive=False,
        same="{}",
        other="false",
    ),
    Case(pe.json_schema, {"schema": {"type": "object"}}, output=DOCUMENTS, columns="output"),
    Case(pe.length_between, {"minimum": 2}, columns="output"),
    Case(pe.length_between, {"maximum": 3, "unit": "words"}, columns="output"),
    Case(
        pe.cosine,
        output=VECTORS,
        expected=(*VECTORS[3:], *VECTORS[:3]),
        columns="vectors",
        same=[1.0, 2.0],
        other=[2.0, -1.0],
    ),
    Case(pe.wer),
    Case(pe.wer, {"tokenizer": "unicode", "case_sensitive": True}),
    Case(pe.cer),
    Case(pe.gleu),
    Case(pe.gleu, {"case_sensitive": False, "min_len": 2, "max_len": 3}),
    Case(pe.choice, reflexive=False, same="(B)", other="C", output=[*TEXTS[:10], "A", "so it is B"]),
    Case(pe.choice, {"choices": ["fox", "dog"]}, reflexive=False, same="fox", other="dog"),
    Case(pe.semantic, {"encoder": letters}),
    Case(pe.json_fields, output=DOCUMENTS, expected=SHIFTED, reflexive=False, same="[1]", other="[2]"),
    Case(
        pe.json_fields,
        {"abs_tol": 1.0, "ignore": ("$.b",), "match_by": "$[*].id"},
        output=DOCUMENTS,
        expected=SHIFTED,
        reflexive=False,
        same='{"a": 1}',
        other='{"a": 3}',
    ),
    *(
        Case(
            pe.tool_calls,
            {"mode": mode, "arguments": arguments},
            output=CALLS,
            expected=(*CALLS[1:], CALLS[0]),
            reflexive=False,
            same='[{"name": "f"}]',
            other='[{"name": "g"}]',
        )
        for mode, arguments in [
            ("strict", "exact"),
            ("unordered", "exact"),
            ("subset", "names"),
            ("superset", "subset"),
            ("in_order", "exact"),
            ("f1", "exact"),
        ]
    ),
    Case(
        pe.tool_calls_valid,
        {"tools": [{"name": "f", "parameters": {"required": ["x"]}}]},
        output=CALLS,
        columns="output",
    ),
    *(
        Case(
            metric,
            options,
            output=IDS,
            expected=(*IDS[3:], *IDS[:3]),
            columns="vectors",
            same=["a"],
            other=["b"],
        )
        for metric, options in [
            (pe.recall_at_k, {"k": 3}),
            (pe.precision_at_k, {"k": 2}),
            (pe.ndcg, {}),
            (pe.reciprocal_rank, {}),
        ]
    ),
]
