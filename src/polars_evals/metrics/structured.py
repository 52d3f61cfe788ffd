"""Answers in JSON: equal to an expected value, right leaf by leaf, or valid against a schema."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from itertools import repeat
from math import isclose
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl
from polars.exceptions import InvalidOperationError

from polars_evals.expressions import python
from polars_evals.expressions.native import Fields, call, metric
from polars_evals.expressions.options import Amount, Fraction, IntoText, Missing, read_path
from polars_evals.wording import shown

if TYPE_CHECKING:
    from jsonschema_rs import Validator

__all__ = ["json_fields", "json_match", "json_schema"]


@dataclass(frozen=True)
class Entry:
    """An object of an array, known by the value of a key; `number` tells those with the same value apart."""

    key: str
    value: str
    number: int = 0


Path: TypeAlias = tuple[str | int | Entry, ...]
Pattern: TypeAlias = Sequence[str | int | None]

# The errors of alternatives hold those of each, and where a schema refers to itself there are more than any
# time allows. Whether a value is valid takes no such time.
ALTERNATIVES, REFERENCES = ("anyOf", "oneOf"), ("$ref", "$dynamicRef", "$recursiveRef")

# Deeper values are refused before Python reads them: its own limit depends on where it is called from.
MAX_DEPTH = 255
NOT_JSON = "not JSON, or out of bounds"


@dataclass(frozen=True)
class Schema:
    """A compiled schema, and whether its errors may take too long to list."""

    validator: "Validator"
    explodes: bool


LEAVES: Fields = {
    "fields": pl.List(pl.Struct({"path": pl.String, "score": pl.Float64})),
    "agreeing": pl.Int64,
    "leaves": pl.Int64,
    "differing": pl.List(pl.String),
    "missing": pl.List(pl.String),
    "extra": pl.List(pl.String),
}


def json_match(
    output: IntoText,
    expected: IntoText,
    *,
    subset: bool = False,
    threshold: Fraction = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    r"""Score 1.0 where output and expected are equal as JSON values, else 0.0.

    Parameters
    ----------
    output, expected
        JSON texts or Structs: to score, and to equal. Of several references any may match.
    subset
        Ignore object keys, at every depth, that the expected value does not have.
    threshold
        The lowest score that passes. A conversation scores the share of its turns that match.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append `output_valid` and `expected_valid`, whether each is JSON, and the fields for conversations.

    Notes
    -----
    The order of keys, white space, and the spelling of numbers and strings do not matter: `1`, `1.0` and
    `10e-1` are equal, and so are `"é"` and `"\u00e9"`. Numbers of any size are compared exactly, never as
    floats. `true` is not `1`, and the order of an array matters. A null field of a Struct is ignored.

    Invalid JSON scores 0.0, even if both texts are equal: text around the value, `NaN`, trailing commas, an
    object that repeats a key, an escape of half a surrogate pair. Any depth of nesting is allowed.

    Examples
    --------
    >>> df = pl.DataFrame({"output": ['{"b": 2, "a": 1.0}', '{"a": 1, "b": 2, "c": 3}', "a is 1"]})
    >>> df.with_columns(pe.json_match("output", pl.lit('{"a": 1, "b": 2}'))).unnest("json_match")
    shape: (3, 3)
    ┌──────────────────────────┬───────┬───────┐
    │ output                   ┆ score ┆ label │
    │ ---                      ┆ ---   ┆ ---   │
    │ str                      ┆ f64   ┆ enum  │
    ╞══════════════════════════╪═══════╪═══════╡
    │ {"b": 2, "a": 1.0}       ┆ 1.0   ┆ pass  │
    │ {"a": 1, "b": 2, "c": 3} ┆ 0.0   ┆ fail  │
    │ a is 1                   ┆ 0.0   ┆ fail  │
    └──────────────────────────┴───────┴───────┘
    """
    return metric(json_match, locals())


def json_schema(
    output: IntoText,
    schema: Mapping[str, Any] | IntoText,
    *,
    threshold: Fraction = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score 1.0 if the output is JSON that is valid against a schema, else 0.0.

    Parameters
    ----------
    output
        The JSON text to score.
    schema
        A JSON Schema as a dict, for all rows; or a column of schemas as JSON texts, one for each row, or
        lists of schemas, any of which may match.
    threshold
        The lowest score that passes. A conversation scores the share of its valid turns.
    missing
        How to score a missing output or schema: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `error` (the first violation and its place), and the fields for conversations.

    Notes
    -----
    `$schema` chooses among drafts 4, 6, 7, 2019-09 and 2020-12; the last is the default. References are
    resolved within the schema only, never from the network or files. An invalid schema raises an error.

    Text that `json_match` does not accept as JSON scores 0.0, and so do values nested deeper than 255
    levels, integers of more than 4,000 digits, and other numbers from 1e308 on.

    Examples
    --------
    >>> schema = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}
    >>> df = pl.DataFrame({"output": ['{"city": "Paris"}', '{"city": 75}', "Paris"]})
    >>> df.with_columns(pe.json_schema("output", schema, details=True).struct.field("score", "error"))
    shape: (3, 3)
    ┌───────────────────┬───────┬─────────────────────────────────┐
    │ output            ┆ score ┆ error                           │
    │ ---               ┆ ---   ┆ ---                             │
    │ str               ┆ f64   ┆ str                             │
    ╞═══════════════════╪═══════╪═════════════════════════════════╡
    │ {"city": "Paris"} ┆ 1.0   ┆ null                            │
    │ {"city": 75}      ┆ 0.0   ┆ /city: value is not of type "s… │
    │ Paris             ┆ 0.0   ┆ not JSON, or out of bounds      │
    └───────────────────┴───────┴─────────────────────────────────┘
    """
    arguments = locals()
    fields: Fields = {"error": pl.String}
    text = schema_text("json_schema: `schema`", schema) if isinstance(schema, Mapping) else None

    def validate(output: str, can_read: bool, against: Schema) -> dict[str, Any]:
        if not can_read:
            return {"score": 0.0, "error": NOT_JSON}
        value = json.loads(output)
        if against.validator.is_valid(value):
            return {"score": 1.0}
        return {"score": 0.0, "error": first_error(against, value) if details else None}

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        schemas = _compiled_rows(right) if text is None else repeat(compiled(text))
        return python.by_row(validate, fields, left, readable(left), schemas)

    columns = ("output", "schema") if text is None else ("output",)
    return python.metric(json_schema, arguments, kernel, fields=fields, columns=columns)


def json_fields(
    output: IntoText,
    expected: IntoText,
    *,
    abs_tol: Amount = 0.0,
    rel_tol: Amount = 0.0,
    ignore: str | Sequence[str] = (),
    match_by: str | Sequence[str] = (),
    threshold: Fraction = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the share of JSON leaves that agree, among the leaves of both documents.

    Parameters
    ----------
    output, expected
        JSON texts or Structs: to score, and the right one. Of several references the best counts.
    abs_tol, rel_tol
        As in `numeric_match`.
    ignore
        JSON paths to ignore, with everything below them: `"$.id"`, `"$.items[*].id"`, `"$.meta.*"`.
    match_by
        Paths of keys that tell which objects of two arrays belong together: `"$.items[*].id"` compares the
        items with equal `id`, in any order. Other arrays are compared by position.
    threshold
        The lowest score that passes.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append `fields` (a list of each leaf's `path` and `score`), the numbers of `agreeing` and of all
        `leaves`, the `differing`, `missing` (in output) and `extra` paths, and the fields for conversations.

    Notes
    -----
    Leaves are texts, numbers, booleans, nulls, and empty objects and arrays. The spelling of numbers does
    not matter. A null field of a Struct is ignored. Text that `json_schema` does not accept as JSON scores
    0.0. To score each field with a metric of its own, use `field=` in a suite.

    Examples
    --------
    >>> outputs = ['{"name": "Ada", "born": 1815}', '{"name": "Ada", "died": 1852}', "Ada"]
    >>> df = pl.DataFrame({"output": outputs})
    >>> df.select(pe.json_fields("output", pl.lit('{"name": "Ada", "born": 1816}'), details=True)).unnest(
    ...     "json_fields"
    ... ).select("score", "differing", "missing", "extra")
    shape: (3, 4)
    ┌──────────┬────────────┬────────────┬────────────┐
    │ score    ┆ differing  ┆ missing    ┆ extra      │
    │ ---      ┆ ---        ┆ ---        ┆ ---        │
    │ f64      ┆ list[str]  ┆ list[str]  ┆ list[str]  │
    ╞══════════╪════════════╪════════════╪════════════╡
    │ 0.5      ┆ ["$.born"] ┆ []         ┆ []         │
    │ 0.333333 ┆ []         ┆ ["$.born"] ┆ ["$.died"] │
    │ 0.0      ┆ null       ┆ null       ┆ null       │
    └──────────┴────────────┴────────────┴────────────┘
    """
    arguments = locals()
    ignore, match_by = ([one] if isinstance(one, str) else one for one in (ignore, match_by))
    ignored = [read_path("json_fields: `ignore`", one) for one in ignore]
    keys = [_read_key(one) for one in match_by]

    def equal(left: Any, right: Any) -> bool:
        if is_number(left) and is_number(right):
            close = abs_tol > 0 or rel_tol > 0
            return left == right or (
                close and isclose(float(left), float(right), abs_tol=abs_tol, rel_tol=rel_tol)
            )
        return type(left) is type(right) and left == right

    def leaves_of(text: str) -> dict[Path, object]:
        found = _leaves(json.loads(text, parse_float=Decimal), keys)
        return {path: leaf for path, leaf in found if not any(_covers(one, path) for one in ignored)}

    def score(output: str, expected: str, *can_read: bool) -> dict[str, Any]:
        if not all(can_read):
            return {"score": 0.0}
        given, wanted = leaves_of(output), leaves_of(expected)
        names = {path: "$" + "".join(map(_written_step, path)) for path in [*wanted, *given]}
        differing = [path for path in wanted if path in given and not equal(given[path], wanted[path])]
        lacking = [path for path in wanted if path not in given]
        extra = [path for path in given if path not in wanted]
        wrong = {*differing, *lacking, *extra}
        agreeing = len(names) - len(wrong)
        apart = {"differing": differing, "missing": lacking, "extra": extra}
        return {
            "score": agreeing / len(names) if names else 1.0,
            "fields": [{"path": name, "score": float(path not in wrong)} for path, name in names.items()],
            "agreeing": agreeing,
            "leaves": len(names),
            **{key: [names[path] for path in paths] for key, paths in apart.items()},
        }

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        return python.by_row(score, LEAVES, left, right, readable(left), readable(right))

    read = partial(as_json, "json_fields")
    return python.metric(json_fields, arguments, kernel, fields=LEAVES, read=read)


def as_json(name: str, column: pl.Series, *, whole: bool = False) -> pl.Series:
    """Write structs as JSON texts, and lists of them as lists of texts or, if `whole`, as one text.

    Other columns stay as they are.
    """
    inner = column.dtype.inner if isinstance(column.dtype, pl.List) else column.dtype
    if not isinstance(inner, pl.Struct):
        return column
    options = {"name": name, "argument": column.name, "whole": whole}
    return pl.select(call("as_json", [pl.lit(column)], options)).to_series()


def first_error(schema: Schema, value: Any) -> str:
    """Say what is wrong, and where as a JSON pointer; not with which value, which may be long."""
    if schema.explodes:
        return "value is not valid"
    error = next(iter(schema.validator.iter_errors(value)))
    path = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in error.instance_path)
    return f"{path}: {error.message}" if path else error.message


def readable(texts: pl.Series) -> pl.Series:
    """Tell which texts Python can read as JSON, whatever is in them."""
    return pl.select(call("json_readable", [pl.lit(texts)], {"max_depth": MAX_DEPTH})).to_series()


@lru_cache(maxsize=256)
def compiled(text: str) -> Schema:
    """Compile a schema, once."""
    from jsonschema_rs import ReferencingError, validator_for

    explodes = any(f'"{word}"' in text for word in ALTERNATIVES) and any(word in text for word in REFERENCES)
    try:
        return Schema(validator_for(json.loads(text), mask="value", offline=True), explodes)
    except (ValueError, ReferencingError) as error:
        raise ValueError(f"not a valid JSON Schema: {error}") from None


def schema_text(where: str, schema: Mapping[str, Any]) -> str:
    """Check a schema that is given as a dict."""
    try:
        text = json.dumps(dict(schema), allow_nan=False)
        if not readable(pl.Series([text])).item():
            raise ValueError(f"nested deeper than {MAX_DEPTH} levels, or a number out of bounds")
        compiled(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{where}: {error}") from None
    return text


def _compiled_rows(schemas: pl.Series) -> Iterable[Schema | None]:
    for text, is_readable in zip(schemas, readable(schemas), strict=True):
        try:
            if text is not None and not is_readable:
                raise ValueError(NOT_JSON)
            yield None if text is None else compiled(text)
        except ValueError as error:
            raise InvalidOperationError(f"json_schema: a row of `schema` is {error}") from None


def _leaves(value: object, keys: Sequence[tuple[Pattern, str]] = ()) -> Iterator[tuple[Path, object]]:
    """List the leaves of a value with their paths, in their order. `keys` name the objects of some arrays."""
    to_do: list[tuple[Path, object]] = [((), value)]
    while to_do:
        path, here = to_do.pop()
        if isinstance(here, dict) and here:
            to_do += [((*path, key), below) for key, below in reversed(here.items())]
        elif isinstance(here, list) and here:
            fitting = (key for pattern, key in keys if len(pattern) == len(path) and _covers(pattern, path))
            key = next(fitting, None)
            steps = range(len(here)) if key is None else _entries(here, key)
            to_do += reversed([((*path, step), below) for step, below in zip(steps, here, strict=True)])
        else:
            yield path, here


def _entries(array: Sequence[object], key: str) -> list[int | Entry]:
    """Name the objects of an array by a key; those without it stay at their place among each other."""
    steps: list[int | Entry] = []
    # None counts those without the key.
    seen = Counter[str | None]()
    for one in array:
        text = None
        if isinstance(one, dict) and key in one:
            value = one[key]
            # However a number is written.
            text = str(Decimal(value).normalize()) if is_number(value) else json.dumps(value, default=str)
        steps.append(seen[text] if text is None else Entry(key, text, seen[text]))
        seen[text] += 1
    return steps


def _read_key(path: object) -> tuple[Pattern, str]:
    """Read which array `match_by` speaks of, and by which key."""
    steps = read_path("json_fields: `match_by`", path)
    if len(steps) < 2 or steps[-2] is not None or not isinstance(steps[-1], str):
        raise ValueError(
            'json_fields: `match_by` names a key of the objects of an array, such as "$.items[*].id", got '
            f"{shown(path)}"
        )
    return steps[:-2], steps[-1]


def is_number(value: object) -> bool:
    """Whether a JSON value is a number; true and false are none."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _covers(pattern: Pattern, path: Path) -> bool:
    return len(pattern) <= len(path) and all(
        one is None or one == step for one, step in zip(pattern, path, strict=False)
    )


def _written_step(step: str | int | Entry) -> str:
    """Write a step: `[id="a"]` is the object whose `id` is "a"."""
    if isinstance(step, Entry):
        again = f", {step.number + 1}" if step.number else ""
        return f"[{step.key}={step.value}{again}]"
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if re.fullmatch(r"[\w-]+", step) else f"[{json.dumps(step, ensure_ascii=False)}]"
