"""Tool calls: those that a model made, against those that it should make."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import polars as pl

from polars_evals.expressions import python
from polars_evals.expressions.native import Fields
from polars_evals.expressions.options import Fraction, IntoText, Missing
from polars_evals.metrics.structured import is_number, readable

FIELDS: Fields = {
    "matched": pl.Int64,
    "output_calls": pl.List(pl.String),
    "expected_calls": pl.List(pl.String),
}

Call = tuple[str, Any]


def tool_calls(
    output: IntoText,
    expected: IntoText,
    *,
    mode: Literal["strict", "unordered", "subset", "superset", "f1"] = "strict",
    arguments: Literal["exact", "subset", "names"] = "exact",
    threshold: Fraction = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score whether the tool calls of a model are those that are expected.

    Parameters
    ----------
    output
        The calls that were made: JSON text, or a List of Structs with `name` and `arguments`.
    expected
        The calls that should be made. Lists of several JSON texts: the best score counts.
    mode
        `"strict"`: the same calls in the same order. `"unordered"`: the same calls. `"subset"`: all calls of
        the output are expected. `"superset"`: all expected calls are there. `"f1"`: the harmonic mean of
        precision and recall over the calls.
    arguments
        When two calls of one name are the same: `"exact"`, if their arguments are equal as JSON values;
        `"subset"`, if the expected arguments are among those given; `"names"`, always.
    threshold
        The least score that passes.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null,
        `"unlabelled"` scores 0.0 without an output and gives null without an expected value.
    details
        Append `matched`, the number of calls that are in both, and the names of `output_calls` and
        `expected_calls`, and what concerns turns.

    Notes
    -----
    JSON text holds a call or a list of calls as OpenAI (`{"function": {"name", "arguments"}}`), Anthropic
    (`{"type": "tool_use", "name", "input"}`) or LangChain (`{"name", "args"}`) write them, or as
    `{"name", "arguments"}`; or a message or a list of messages that hold such calls. Arguments may be JSON in
    a text. An output that is not JSON is prose: a model that called nothing. An expected text that is not
    JSON scores 0.0. No calls on both sides score 1.0, on one side 0.0.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ['[{"name": "search", "arguments": {"q": "Bern", "n": 5}}]', "Bern."]})
    >>> wanted = pl.lit('[{"name": "search", "arguments": {"q": "Bern"}}]')
    >>> df.select(
    ...     pe.tool_calls("output", wanted).struct.field("score").alias("exact"),
    ...     pe.tool_calls("output", wanted, arguments="subset").struct.field("score").alias("subset"),
    ... )
    shape: (2, 2)
    ┌───────┬────────┐
    │ exact ┆ subset │
    │ ---   ┆ ---    │
    │ f64   ┆ f64    │
    ╞═══════╪════════╡
    │ 0.0   ┆ 1.0    │
    │ 0.0   ┆ 0.0    │
    └───────┴────────┘
    """
    given_arguments = locals()
    same = SAME.get(arguments, exact)

    def compare(given: list[Call], wanted: list[Call]) -> dict[str, Any]:
        matched = count_matches(given, wanted, same)
        if not given and not wanted:
            score = 1.0
        elif not given or not wanted:
            score = 0.0
        elif mode == "f1":
            score = 2 * matched / (len(given) + len(wanted))
        elif mode == "strict":
            in_order = len(given) == len(wanted) and all(map(same, given, wanted))
            score = float(in_order)
        else:
            needed = {
                "unordered": max(len(given), len(wanted)),
                "subset": len(given),
                "superset": len(wanted),
            }
            score = float(matched == needed[mode])
        return {
            "score": score,
            "matched": matched,
            "output_calls": [name for name, _ in given],
            "expected_calls": [name for name, _ in wanted],
        }

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        valid = [readable(side) for side in (left, right)]
        results: list[dict[str, Any]] = []
        for given, wanted, can_read, is_json in zip(left, right, *valid, strict=True):
            if given is None or wanted is None:
                results.append({"score": None})
            elif not is_json and wanted.strip():
                results.append({"score": 0.0})
            else:
                made = list(find_calls(json.loads(given))) if can_read else []
                needed = list(find_calls(json.loads(wanted))) if is_json else []
                results.append(compare(made, needed))
        return pl.DataFrame(results, schema={"score": pl.Float64(), **FIELDS})

    return python.metric(tool_calls, given_arguments, kernel, fields=FIELDS, read=read_calls)


def read_calls(column: pl.Series) -> pl.Series:
    """Write lists of structs as JSON texts; other columns stay as they are."""
    if not isinstance(column.dtype, pl.List) or not isinstance(column.dtype.inner, pl.Struct):
        return column
    texts = [None if calls is None else json.dumps(without_nulls(calls.to_list())) for calls in column]
    return pl.Series(column.name, texts, dtype=pl.String)


def without_nulls(value: Any) -> Any:
    """Drop the fields that a struct has only because other rows have them."""
    if isinstance(value, dict):
        return {key: without_nulls(below) for key, below in value.items() if below is not None}
    return (
        [without_nulls(below) for below in value if below is not None] if isinstance(value, list) else value
    )


def find_calls(value: Any) -> Iterator[Call]:
    """Find the calls in what a model, a message or a list of them holds."""
    if isinstance(value, list):
        for below in value:
            yield from find_calls(below)
    elif isinstance(value, Mapping):
        function = value.get("function")
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            yield function["name"], read_arguments(function.get("arguments"))
        elif is_call(value):
            given = next((value[key] for key in ("arguments", "input", "args") if key in value), None)
            yield value["name"], read_arguments(given)
        else:
            for key in ("tool_calls", "content"):
                if isinstance(value.get(key), list):
                    yield from find_calls(value[key])


def is_call(value: Mapping[str, Any]) -> bool:
    """Whether an object is a call, and no message with a name in it."""
    return (
        isinstance(value.get("name"), str)
        and "role" not in value
        and value.get("type") in (None, "tool_use", "tool_call", "function", "function_call")
    )


def read_arguments(given: Any) -> Any:
    """Read arguments that are JSON in a text; none are an empty object."""
    if isinstance(given, str):
        if not given.strip():
            return {}
        return json.loads(given) if readable(pl.Series([given])).item() else given
    return {} if given is None else given


def equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal: true is not 1, but 1.0 is."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if is_number_or_float(left) and is_number_or_float(right):
        return bool(left == right)
    return type(left) is type(right) and bool(left == right)


def is_number_or_float(value: object) -> bool:
    """Whether a value that `json` read is a number."""
    return is_number(value) or isinstance(value, float)


def exact(given: Call, wanted: Call) -> bool:
    """Whether two calls are equal."""
    return given[0] == wanted[0] and equal(given[1], wanted[1])


def holds(given: Call, wanted: Call) -> bool:
    """Whether a call has all that is wanted, and perhaps more."""
    if given[0] != wanted[0] or not isinstance(given[1], dict) or not isinstance(wanted[1], dict):
        return exact(given, wanted)
    return all(key in given[1] and equal(given[1][key], value) for key, value in wanted[1].items())


SAME: Mapping[str, Callable[[Call, Call], bool]] = {
    "exact": exact,
    "subset": holds,
    "names": lambda given, wanted: given[0] == wanted[0],
}


def count_matches(given: Sequence[Call], wanted: Sequence[Call], same: Callable[[Call, Call], bool]) -> int:
    """Pair as many calls as can be paired, each with one other."""
    fits = [[place for place, one in enumerate(given) if same(one, call)] for call in wanted]
    taken: dict[int, int] = {}

    def place(number: int, tried: set[int]) -> bool:
        for at in fits[number]:
            if at in tried:
                continue
            tried.add(at)
            if at not in taken or place(taken[at], tried):
                taken[at] = number
                return True
        return False

    return sum(place(number, set()) for number in range(len(wanted)))
