"""Cleaning before scoring: from what a model wrote to its answer, as expressions from text to text.

A step that finds nothing leaves a text as it is, but a field that is not there is null. What a step finds
loses the white space around it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import polars as pl

from polars_evals.expressions.native import as_expr, call
from polars_evals.expressions.options import (
    IntoText,
    Natural,
    check_choices,
    check_options,
    check_pattern,
    read_path,
    read_rule,
)
from polars_evals.metrics.texts import CHOICES
from polars_evals.wording import did_you_mean, shown

__all__ = [
    "extract_after",
    "extract_boxed",
    "extract_choice",
    "extract_field",
    "extract_json",
    "extract_number",
    "extract_regex",
    "strip_reasoning",
    "unfence",
]


@dataclass(frozen=True)
class Step:
    """A step of cleaning: native, or a pattern for Polars; and what it says where it finds nothing."""

    name: str
    nothing: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def native(self) -> dict[str, Any]:
        """The step as the native function reads it."""
        return {"step": self.name, "nothing": self.nothing, **self.options}

    def find(self, texts: pl.Expr) -> pl.Expr:
        """Take a group of the pattern's first match."""
        return texts.str.extract(self.options["pattern"], self.options["group"]).str.strip_chars()


def strip_reasoning(text: IntoText) -> pl.Expr:
    """Drop the reasoning that a model writes before its answer.

    Parameters
    ----------
    text
        The text that the model wrote.

    Notes
    -----
    Reasoning is the text between `<think>`, `<thinking>`, `<reasoning>`, `<thought>` or `<scratchpad>` (in
    any case) and the closing tag, and the analysis channel of Harmony messages, whose other marks are
    dropped too. A closing tag without an opening one ends reasoning that began with the text; an opening tag
    without a closing one begins reasoning up to the end. A tag in code (between backticks or in a fence) is
    text. Once reasoning has begun, the first closing tag ends it, even in code.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["<think>6 * 7</think> 42", "so 42</think>42", "42", "<think>hm"]})
    >>> df.select(pe.strip_reasoning("output"))["output"].to_list()
    ['42', '42', '42', '']
    """
    return _cleaning("strip_reasoning", text, STEPS["reasoning"])


def unfence(text: IntoText) -> pl.Expr:
    r"""Take the content of a code fence.

    Parameters
    ----------
    text
        The text that the model wrote.

    Notes
    -----
    A fence is a line of three or more backticks or tildes, with or without the name of a language, up to the
    next such line, or to the end of the text. Of several fences, the last counts. Text around it is dropped.
    A fence inside a fence is part of its content.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ['Here it is:\n```json\n{"a": 1}\n```\nBye!', "no fence"]})
    >>> df.select(pe.unfence("output"))["output"].to_list()
    ['{"a": 1}', 'no fence']
    """
    return _cleaning("unfence", text, STEPS["fence"])


def extract_json(text: IntoText) -> pl.Expr:
    """Extract the JSON object or array from the prose around it.

    Parameters
    ----------
    text
        The text that the model wrote.

    Notes
    -----
    The last complete object or array counts.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ['Sure: {"city": "Paris"} is the answer.', "[1, 2", None]})
    >>> df.select(pe.extract_json("output"))["output"].to_list()
    ['{"city": "Paris"}', '[1, 2', None]
    """
    return _cleaning("extract_json", text, STEPS["json"])


def extract_field(text: IntoText, path: str) -> pl.Expr:
    """Take the value at a path of a JSON document.

    Parameters
    ----------
    text
        JSON text, or a Struct.
    path
        A JSON path: `"$.customer.name"`, `"$.items[0].id"`, `"$.items[-1]"`, `"$['a key']"`.
        `"$.items[*].id"` takes all of them, as a JSON list.

    Notes
    -----
    A JSON string gives its content, any other value its JSON text. If the path has no value, or the text is
    not JSON, the result is null.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ['{"customer": {"name": "Ada", "age": 36}}', '{"customer": {}}', "Ada"]})
    >>> df.select(pe.extract_field("output", "$.customer.name"))["output"].to_list()
    ['Ada', None, None]
    """
    return _cleaning("extract_field", text, _at_path("extract_field: `path`", path))


def extract_choice(text: IntoText, *, choices: str | Sequence[str] = CHOICES) -> pl.Expr:
    r"""Take the final choice of an answer to a multiple-choice question.

    Parameters
    ----------
    text
        The text that the model wrote.
    choices
        The choices: a text of single letters, or a list of words.

    Notes
    -----
    Statements of the answer count first ("the answer is (B)", `\boxed{B}`, "B is correct"), then statements
    of an option or choice, then a choice at the start ("B) Paris"), then a marked choice ("**B**", "(B)"),
    then any other. Of several of the same kind, the last counts. The result is spelt as in `choices`.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["The answer is (B).", "C) Rome", "A is wrong, so **D**", "dunno"]})
    >>> df.select(pe.extract_choice("output"))["output"].to_list()
    ['B', 'C', 'D', 'dunno']
    """
    return _cleaning("extract_choice", text, _choosing(check_choices("extract_choice", choices)))


def extract_number(text: IntoText) -> pl.Expr:
    """Take the last number in a text, as written, without a currency sign.

    Parameters
    ----------
    text
        The text that the model wrote.

    Notes
    -----
    Numbers are those of `numeric_match`: with signs, thousands separators, exponents and percent signs.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["3 boxes of 14 make $1,042.50.", "x = -7", "none"]})
    >>> df.select(pe.extract_number("output"))["output"].to_list()
    ['1,042.50', '-7', 'none']
    """
    return _cleaning("extract_number", text, STEPS["number"])


def extract_after(text: IntoText, *markers: str, case_sensitive: bool = False) -> pl.Expr:
    r"""Take the text after a marker.

    Parameters
    ----------
    text
        The text that the model wrote.
    *markers
        The markers to look for. The last occurrence of any of them counts.
    case_sensitive
        Whether to distinguish case.

    Notes
    -----
    The result is the rest of the line, or the rest of the text if the line has nothing else. The closing
    half of emphasis is dropped: `**Answer:** 42` gives 42.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["First 6 * 7.\nAnswer: 42\nBye", "So it is #### 42", "42"]})
    >>> df.select(pe.extract_after("output", "Answer:", "####"))["output"].to_list()
    ['42', '42', '42']
    """
    _check_markers("extract_after", markers)
    check_options(extract_after, {"case_sensitive": case_sensitive})
    return _cleaning("extract_after", text, _after(markers, case_sensitive=case_sensitive))


def extract_boxed(text: IntoText) -> pl.Expr:
    r"""Take the content of the last `\boxed{…}`.

    Parameters
    ----------
    text
        The text that the model wrote.

    Examples
    --------
    >>> df = pl.DataFrame({"output": [r"so $\boxed{\frac{1}{2}}$.", "one half"]})
    >>> df.select(pe.extract_boxed("output"))["output"].to_list()
    ['\\frac{1}{2}', 'one half']
    """
    return _cleaning("extract_boxed", text, STEPS["boxed"])


def extract_regex(text: IntoText, pattern: str, *, group: Natural = 1) -> pl.Expr:
    r"""Take a group of the first match of a regular expression.

    Parameters
    ----------
    text
        The text that the model wrote.
    pattern
        The regular expression, in Polars' syntax. It runs in linear time.
    group
        The group to take; 0 is the whole match.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ["[Yes] 17077 is prime.", "I think so"]})
    >>> df.select(pe.extract_regex("output", r"\[(\w+)\]"))["output"].to_list()
    ['Yes', 'I think so']
    """
    return _cleaning("extract_regex", text, _regex("extract_regex", pattern, group))


def _cleaning(name: str, text: IntoText, step: Step) -> pl.Expr:
    column = as_expr(name, "text", text)
    if step.name == "regex":
        # Whatever the column is: one that is no text is refused by the function that takes it as it is.
        found = step.find(column.cast(pl.String, strict=False))
        return call(
            "clean", [column, found], {"name": name, "notes": False, "steps": [], "given": step.nothing}
        )
    return call("clean", [column], {"name": name, "notes": False, "steps": [step.native]})


def cleaned(text: IntoText, steps: Sequence[Step]) -> pl.Expr:
    """Run steps one after the other: a struct of the `text` and what they did not find, as `cleaning`."""
    options: dict[str, Any] = {"name": "clean", "notes": True, "steps": []}
    columns = [as_expr("clean", "text", text)]
    for step in steps:
        if step.name != "regex":
            options["steps"].append(step.native)
            continue
        # Polars finds the pattern in what the steps before it made.
        made = call("clean", columns, options)
        texts = made.struct.field("text")
        columns = [texts, step.find(texts), made.struct.field("cleaning")]
        options = {"name": "clean", "notes": True, "steps": [], "given": step.nothing}
    return call("clean", columns, options)


def cleaned_text(text: IntoText, steps: Sequence[Any]) -> pl.Expr:
    """Run the steps of a suite one after the other."""
    return cleaned(text, read_steps("clean", list(steps))).struct.field("text")


def _after(markers: Sequence[str], *, case_sensitive: bool) -> Step:
    nothing = "no " + " or ".join(f'"{marker}"' for marker in markers)
    words = [word for marker in markers for word in _emphasized(marker)]
    # The native core lowercases the letters of ASCII, as bytes do.
    words = words if case_sensitive else [word.encode().lower().decode() for word in words]
    return Step("after", nothing, {"words": words, "case_sensitive": case_sensitive})


def _at_path(where: str, path: object) -> Step:
    return Step("field", f"no {path}", {"path": read_path(where, path)})


def _choosing(choices: Sequence[str]) -> Step:
    return Step("choice", "no choice", {"words": list(choices)})


def _emphasized(marker: str) -> list[str]:
    """Write a marker as Markdown may: `**Answer**:` has its colon behind the stars."""
    return [marker, *(f"{marker[:-1]}{mark}:" for mark in ("**", "__") if marker.endswith(":"))]


def _regex(name: str, pattern: object, group: object) -> Step:
    if not isinstance(pattern, str):
        raise ValueError(f"{name}: `pattern` must be a text, got {shown(pattern)}")
    check_pattern(name, pattern)
    if (rule := read_rule(Natural)) is not None:
        rule.check(name, "group", group)
    assert isinstance(group, int)
    groups = _count_groups(pattern)
    if group > groups:
        raise ValueError(
            f"{name}: the pattern has {groups} groups, not {group}; set ( ) around what you want, or group=0"
        )

    return Step("regex", f"no match of {pattern}", {"pattern": pattern, "group": group})


@lru_cache
def _count_groups(pattern: str) -> int:
    return len(pl.Series([""]).str.extract_groups(pattern).struct.fields)


def _check_markers(name: str, markers: object) -> None:
    if not isinstance(markers, Sequence) or not markers or not all(isinstance(m, str) and m for m in markers):
        raise ValueError(f'{name}: give one or more markers, such as "Answer:", got {shown(markers)}')


STEPS: Mapping[str, Step] = {
    "reasoning": Step("reasoning", "no reasoning"),
    "fence": Step("fence", "no fence"),
    "json": Step("json", "no JSON"),
    "choice": _choosing(CHOICES),
    "number": Step("number", "no number"),
    "boxed": Step("boxed", "no box"),
}


# The steps that are a table, with what they take.
WITH_OPTIONS = ("after", "regex", "group", "choice", "field")
KNOWN = ", ".join(
    [*STEPS, '{after = "…"}', '{regex = "…", group = 1}', '{choice = ["…"]}', '{field = "$.…"}']
)


def read_steps(where: str, steps: object) -> list[Step]:
    """Read the steps of a suite: names, or tables such as `{"after": …}` and `{"field": …}`."""
    if isinstance(steps, str | Mapping):
        steps = [steps]
    if not isinstance(steps, Sequence):
        raise ValueError(f"{where}: must be a list of steps, got {shown(steps)}")
    return [_read_step(where, step) for step in steps]


def _read_step(where: str, step: object) -> Step:
    if isinstance(step, str):
        if step not in STEPS:
            hint = did_you_mean(step, STEPS) or f"; use one of {KNOWN}"
            raise ValueError(f'{where}: unknown step "{step}"{hint}')
        return STEPS[step]
    if isinstance(step, Mapping):
        options: dict[Any, Any] = dict(step)
        if set(options) == {"after"}:
            markers = [options["after"]] if isinstance(options["after"], str) else options["after"]
            _check_markers(where, markers)
            return _after(markers, case_sensitive=False)
        if set(options) in ({"regex"}, {"regex", "group"}):
            return _regex(where, options["regex"], options.get("group", 1))
        if set(options) == {"choice"}:
            return _choosing(check_choices(where, options["choice"]))
        if set(options) == {"field"}:
            return _at_path(f"{where}: `field`", options["field"])
        for key in options:
            if key not in WITH_OPTIONS and (hint := did_you_mean(key, WITH_OPTIONS)):
                raise ValueError(f'{where}: unknown step "{key}"{hint}')
    raise ValueError(f"{where}: a step is one of {KNOWN}, got {shown(step)}")
