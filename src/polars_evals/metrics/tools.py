"""Tool calls: those that a model made, against those that it should make, or against the tools there are."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import repeat
from typing import Any, Literal, NamedTuple

import polars as pl
from polars.exceptions import InvalidOperationError

from polars_evals.expressions import python
from polars_evals.expressions.native import Fields
from polars_evals.expressions.options import Fraction, IntoText, Missing
from polars_evals.metrics.structured import (
    Schema,
    as_json,
    compiled,
    first_error,
    is_number,
    readable,
    schema_text,
)
from polars_evals.wording import did_you_mean, shown

__all__ = ["tool_calls", "tool_calls_valid"]

_COUNTS: Fields = {"calls": pl.Int64, "repeated": pl.Int64}
_WRITTEN: Fields = {"output_calls": pl.List(pl.String), "expected_calls": pl.List(pl.String)}
_MATCHED: Fields = {**_COUNTS, "matched": pl.Int64, **_WRITTEN}
_VALID: Fields = {**_COUNTS, "valid": pl.Int64, "errors": pl.List(pl.String)}

# Lists of structs are lists of calls: one text.
_read_structs = partial(as_json, "tool_calls", whole=True)

# A name and arguments.
Call = tuple[str, Any]

# What APIs and frameworks call the name and the arguments of a call, and what they put around both.
_NAMES = ("name", "toolName", "tool_name")
_ARGUMENTS = ("arguments", "args", "input", "parameters", "tool_kwargs")
_AROUND = ("function", "functionCall", "function_call", "toolUse")
_TYPES = (
    *(None, "function", "function_call", "tool_use", "server_tool_use", "tool_call", "tool-call"),
    *("custom_tool_call", "mcp_call"),
)
# What a call without arguments may have beside its name.
_BESIDE = {*_NAMES, "type", "id", "call_id", "index", "status"}
# Where a message, an answer or a conversation holds calls. The first that has any counts: LangChain repeats
# the calls of Anthropic's blocks in `tool_calls`.
_HOLDERS = (
    *("tool_calls", "toolCalls", "content", "parts", "output", "choices", "candidates", "message", "delta"),
    *("messages", "contents", "kwargs", "data", "additional_kwargs", "generations"),
)
# Several answers to one question: the first counts.
_ALTERNATIVES = ("choices", "candidates")
# What somebody else said, which holds no calls.
_OTHERS = ("user", "human", "tool", "system", "developer", "function_call_output", "tool_result")
# What tells a message or an answer without calls from any other JSON.
_KEYS = {"role", "choices", "candidates", "messages", "contents", "tool_calls", "content", "parts"}
_PARTS = ("text", "output_text", "thinking", "redacted_thinking", "reasoning", "message", "image", "refusal")


def tool_calls(
    output: IntoText,
    expected: IntoText,
    *,
    mode: Literal["strict", "unordered", "in_order", "subset", "superset", "f1"] = "strict",
    arguments: Literal["exact", "subset", "names"] = "exact",
    threshold: Fraction = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score whether a model made the expected tool calls.

    Parameters
    ----------
    output
        The calls of the model: JSON text, or a List of Structs with `name` and `arguments`.
    expected
        The expected calls. With a list of JSON texts, the best score counts.
    mode
        `"strict"`: the same calls in the same order. `"unordered"`: the same calls. `"in_order"`: the
        expected calls appear in this order; other calls may stand between them. `"subset"`: all calls of the
        output are expected. `"superset"`: the output has all expected calls. `"f1"`: the harmonic mean of
        precision and recall over the calls.
    arguments
        When two calls of the same name are equal. `"exact"`: their arguments are equal as JSON values.
        `"subset"`: the output has all expected arguments. `"names"`: always.
    threshold
        The lowest score that passes.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append the numbers of `calls` of the output, of `repeated` calls (equal to an earlier one) and of
        `matched` calls, the names of `output_calls` and `expected_calls`, and the fields for conversations.

    Notes
    -----
    JSON text holds a call or a list of calls as `{"name", "arguments"}`, or an answer, a message or a
    conversation of one of these APIs: OpenAI's chat completions (with the older `function_call`) and
    Responses, Anthropic, Gemini (`functionCall`), Bedrock (`toolUse`), LangChain (messages, and the output
    of `dumps`). Arguments may be JSON text. Any other text, prose included, has no calls, which is right if
    none are expected; `reason` says so.

    An empty list is a set, as in agentevals: no calls are a subset of any calls, and any calls are a
    superset of no calls. In the other modes, no calls on one side only score 0.0.

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
    same = _SAME.get(arguments, _exact)

    def score(given: list[Call], wanted: list[Call], matched: int) -> float:
        if mode == "f1":
            total = len(given) + len(wanted)
            return 2 * matched / total if total else 1.0
        if mode == "strict":
            return float(len(given) == len(wanted) and all(map(same, given, wanted)))
        if mode == "in_order":
            # Each wanted call takes the first fitting one behind the one before.
            left = iter(given)
            return float(all(any(same(one, call) for one in left) for call in wanted))
        sizes = {"unordered": max(len(given), len(wanted)), "subset": len(given), "superset": len(wanted)}
        return float(matched == sizes[mode])

    def compare(made: _Read, needed: _Read) -> dict[str, Any]:
        given, wanted = made.calls, needed.calls
        matched = _count_matches(given, wanted, same)
        sides = {"output": made, "expected": needed}
        unread = [f"no tool calls in {side}" for side, one in sides.items() if not one.is_read]
        return {
            "score": score(given, wanted, matched),
            **_counts(given),
            "matched": matched,
            "output_calls": [name for name, _ in given],
            "expected_calls": [name for name, _ in wanted],
            "reason": "; ".join(unread) or None,
        }

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        return python.by_row(compare, _MATCHED, _read_column(left), _read_column(right))

    return python.metric(tool_calls, given_arguments, kernel, fields=_MATCHED, read=_read_structs)


def tool_calls_valid(
    output: IntoText,
    tools: Sequence[Mapping[str, Any]] | Mapping[str, Any] | IntoText,
    *,
    threshold: Fraction = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the share of tool calls that name a known tool and have arguments that match its JSON Schema.

    Parameters
    ----------
    output
        The calls of the model, in any form that `tool_calls` reads.
    tools
        The declarations of the tools, in the form of OpenAI, Anthropic, Gemini, Bedrock or MCP: a list of
        dicts for all rows, or a column of JSON texts.
    threshold
        The lowest score that passes. 1.0 requires every call to be valid.
    missing
        How to score a missing output or missing tools: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `calls`, `repeated` (calls that repeat an earlier one exactly), `valid` (how many are), the
        `errors`, and the fields for conversations.

    Notes
    -----
    An output without calls scores 1.0. `tool_calls` scores whether calls were expected.

    Examples
    --------
    >>> tools = [{"name": "search", "parameters": {"type": "object", "required": ["q"]}}]
    >>> calls = ['[{"name": "search", "arguments": {"q": "Bern"}}]', '[{"name": "serch", "arguments": {}}]']
    >>> df = pl.DataFrame({"output": calls})
    >>> df.select(pe.tool_calls_valid("output", tools, details=True).struct.field("score", "errors"))
    shape: (2, 2)
    ┌───────┬─────────────────────────────────┐
    │ score ┆ errors                          │
    │ ---   ┆ ---                             │
    │ f64   ┆ list[str]                       │
    ╞═══════╪═════════════════════════════════╡
    │ 1.0   ┆ []                              │
    │ 0.0   ┆ ["unknown tool "serch"; did yo… │
    └───────┴─────────────────────────────────┘
    """
    arguments = locals()
    text = None
    if isinstance(tools, Mapping | list | tuple):
        try:
            text = json.dumps(tools, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"tool_calls_valid: `tools`: {error}") from None
        _read_tools(text)

    def check(made: _Read, schemas: Mapping[str, Schema | None]) -> dict[str, Any]:
        errors = [error for call in made.calls if (error := _call_error(call, schemas)) is not None]
        valid = len(made.calls) - len(errors)
        return {
            "score": valid / len(made.calls) if made.calls else 1.0,
            **_counts(made.calls),
            "valid": valid,
            "errors": errors,
            "reason": None if made.is_read else "no tool calls in output",
        }

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        known = repeat(_read_tools(text)) if text is not None else _tools_of_rows(right)
        return python.by_row(check, _VALID, _read_column(left), known)

    columns = ("output", "tools") if text is None else ("output",)
    return python.metric(
        tool_calls_valid, arguments, kernel, fields=_VALID, columns=columns, read=_read_structs
    )


class _Read(NamedTuple):
    """The calls in a text, and whether it is one that can hold any."""

    calls: list[Call]
    is_read: bool


def _read_column(texts: pl.Series) -> Iterable[_Read | None]:
    for text, can_read in zip(texts, readable(texts), strict=True):
        if text is None:
            yield None
        elif can_read:
            calls = _find_calls(json.loads(text))
            yield _Read(calls or [], calls is not None)
        else:
            yield _Read([], not text.strip())


def _find_calls(value: Any) -> list[Call] | None:
    """Find the calls in an answer, a message, a call or a list of them; None if it is none of these."""
    if isinstance(value, list):
        found = [calls for one in value if (calls := _find_calls(one)) is not None]
        return [call for calls in found for call in calls] if found or not value else None
    if not isinstance(value, Mapping):
        return None
    if value.get("role") in _OTHERS or value.get("type") in _OTHERS:
        return []
    if (call := _as_call(value)) is not None:
        return [call]
    is_known = bool(_KEYS & value.keys()) or value.get("type") in _PARTS or value.keys() == {"text"}
    for key in _HOLDERS:
        held = value.get(key)
        if key in _ALTERNATIVES and isinstance(held, list):
            held = held[:1]
        if isinstance(held, list | Mapping) and (calls := _find_calls(held)) is not None:
            if calls:
                return calls
            is_known = True
    return [] if is_known or value.get("object") == "response" else None


def _as_call(value: Mapping[str, Any]) -> Call | None:
    for key in _AROUND:
        inner = value.get(key)
        if isinstance(inner, Mapping) and isinstance(inner.get("name"), str):
            return inner["name"], _read_arguments(inner)
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    if name is None or "role" in value or value.get("type") not in _TYPES:
        return None
    has_arguments = any(key in value for key in _ARGUMENTS)
    if value.get("type") is None and not has_arguments and value.keys() - _BESIDE:
        return None
    return name, _read_arguments(value)


def _read_arguments(call: Mapping[str, Any]) -> Any:
    """Take the arguments of a call, which may be JSON in a text; none are an empty object."""
    given: Any = next((call[key] for key in _ARGUMENTS if call.get(key) is not None), {})
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given) if given.strip() else {}
    except (ValueError, RecursionError):
        return given


def _counts(calls: Sequence[Call]) -> dict[str, int]:
    written = {json.dumps(call, sort_keys=True, default=str) for call in calls}
    return {"calls": len(calls), "repeated": len(calls) - len(written)}


def _equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal: true is not 1, but 1.0 is."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    if all(is_number(one) or isinstance(one, float) for one in (left, right)):
        return bool(left == right)
    return type(left) is type(right) and bool(left == right)


def _exact(given: Call, wanted: Call) -> bool:
    return given[0] == wanted[0] and _equal(given[1], wanted[1])


def _holds(given: Call, wanted: Call) -> bool:
    """Whether a call has all that is wanted, and perhaps more."""
    if given[0] != wanted[0] or not isinstance(given[1], dict) or not isinstance(wanted[1], dict):
        return _exact(given, wanted)
    return all(key in given[1] and _equal(given[1][key], value) for key, value in wanted[1].items())


_SAME: Mapping[str, Callable[[Call, Call], bool]] = {
    "exact": _exact,
    "subset": _holds,
    "names": lambda given, wanted: given[0] == wanted[0],
}


def _count_matches(given: Sequence[Call], wanted: Sequence[Call], same: Callable[[Call, Call], bool]) -> int:
    """Pair as many calls as can be paired, each with one other."""
    fits = [[place for place, one in enumerate(given) if same(one, call)] for call in wanted]
    taken: dict[int, int] = {}

    def place(number: int, tried: set[int]) -> bool:
        for at in fits[number]:
            if at not in tried:
                tried.add(at)
                if at not in taken or place(taken[at], tried):
                    taken[at] = number
                    return True
        return False

    return sum(place(number, set()) for number in range(len(wanted)))


@lru_cache(maxsize=256)
def _read_tools(text: str) -> dict[str, Schema | None]:
    found: dict[str, Schema | None] = {}
    for declared in _declarations(json.loads(text)):
        name = declared.get("name")
        if not isinstance(name, str):
            raise ValueError(
                f"tool_calls_valid: `tools`: a tool has a `name` and a JSON Schema, got {shown(declared)}"
            )
        keys = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "args_schema")
        schema = next((declared[key] for key in keys if isinstance(declared.get(key), Mapping)), None)
        if schema is not None and isinstance(schema.get("json"), Mapping):
            schema = schema["json"]
        found[name] = (
            None if schema is None else compiled(schema_text("tool_calls_valid: `tools`", _lowered(schema)))
        )
    if not found:
        raise ValueError("tool_calls_valid: `tools` has no tool")
    return found


def _declarations(value: Any) -> Iterable[Mapping[str, Any]]:
    """List the tools in what an API takes: one of them, a list, or Gemini's lists of declarations."""
    if isinstance(value, list):
        for one in value:
            yield from _declarations(one)
    elif not isinstance(value, Mapping):
        raise ValueError(f"tool_calls_valid: `tools` must hold tools, got {shown(value)}")
    else:
        keys = ("function", "toolSpec", "functionDeclarations", "function_declarations", "tools")
        inner = next((value[key] for key in keys if isinstance(value.get(key), list | Mapping)), None)
        yield from [value] if inner is None else _declarations(inner)


def _lowered(schema: Any) -> Any:
    """Write the types of a schema as JSON Schema does: Gemini writes `OBJECT`."""
    if isinstance(schema, Mapping):
        return {
            key: value.lower() if key == "type" and isinstance(value, str) else _lowered(value)
            for key, value in schema.items()
        }
    return [_lowered(one) for one in schema] if isinstance(schema, list) else schema


def _tools_of_rows(texts: pl.Series) -> Iterable[dict[str, Schema | None] | None]:
    for text, can_read in zip(texts, readable(texts), strict=True):
        if text is not None and not can_read:
            raise InvalidOperationError("tool_calls_valid: a row of `tools` is not JSON, or out of bounds")
        try:
            yield None if text is None else _read_tools(text)
        except ValueError as error:
            raise InvalidOperationError(f"{error}, in a row") from None


def _call_error(call: Call, tools: Mapping[str, Schema | None]) -> str | None:
    name, arguments = call
    if name not in tools:
        hint = did_you_mean(name, tools) or f"; use one of {', '.join(tools)}"
        return f'unknown tool "{name}"{hint}'
    schema = tools[name]
    if schema is None or schema.validator.is_valid(arguments):
        return None
    return f"{name}: {first_error(schema, arguments)}"
