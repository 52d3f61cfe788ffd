"""Answers in JSON: equal to an expected value, or valid against a schema."""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl
from polars.exceptions import InvalidOperationError

from polars_evals import _native
from polars_evals.columns import side_by_side
from polars_evals.lift import IntoText, Missing, lift
from polars_evals.metrics.schema_errors import Explainer
from polars_evals.options import check_common, check_flags

if TYPE_CHECKING:
    from jsonschema_rs import Validator

    Compiled: TypeAlias = tuple[Validator, Explainer]

# Deeper values are refused before Python reads them: its own limit depends on where it is called from.
MAX_DEPTH = 255


def json_match(
    output: IntoText,
    expected: IntoText,
    *,
    subset: bool = False,
    threshold: float = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    r"""Score 1.0 where output and expected are equal as JSON values, else 0.0.

    Parameters
    ----------
    output
        The JSON text to score.
    expected
        The JSON text it should equal. Lists of several references: any of them will do.
    subset
        Ignore object keys, at every depth, that the expected value does not have.
    threshold
        The least score that passes. It matters for conversations, whose score is the share of turns that
        match.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `output_valid` and `expected_valid`, whether each is JSON, and what concerns conversations.

    Notes
    -----
    The order of keys, white space, and the spelling of numbers and strings do not matter: `1`,
    `1.0` and `10e-1` are equal, and so are `"é"` and `"\u00e9"`. Numbers of any size are compared exactly,
    never as floats. `true` is not `1`, and the order of an array matters.

    What is not JSON scores 0.0, also against itself: text around the value, `NaN`, trailing commas; and so
    does what has no single value: an object that repeats a key, an escape of half a surrogate pair. Nesting
    may be of any depth.

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
    check_common("json_match", threshold=threshold, missing=missing, details=details)
    check_flags("json_match", subset=subset)

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        matched = pl.DataFrame(_native.json_match(left, right, subset=subset, threads=pl.thread_pool_size()))
        return matched.with_columns(pl.col("output_valid", "expected_valid").cast(pl.Boolean))

    return lift(
        "json_match",
        output,
        expected,
        kernel,
        threshold=threshold,
        missing=missing,
        details=details,
        fields={"output_valid": pl.Boolean, "expected_valid": pl.Boolean},
    )


def json_schema(
    output: IntoText,
    schema: Mapping[str, Any] | IntoText,
    *,
    threshold: float = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score 1.0 where the output is JSON that is valid against a schema, else 0.0.

    Parameters
    ----------
    output
        The JSON text to score.
    schema
        A JSON Schema as a dict, for all rows; or a column of schemas as JSON texts, one for each row, or
        lists of several of which any will do.
    threshold
        The least score that passes. It matters for conversations, whose score is the share of valid turns.
    missing
        What a missing output or schema gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `error`, the first thing that is wrong and where, and what concerns conversations.

    Notes
    -----
    `$schema` chooses among drafts 4, 6, 7, 2019-09 and 2020-12; the last is the default.
    References are resolved within the schema; nothing is read from the network or from files. A schema that
    is not valid is an error.

    What `json_match` does not take for JSON scores 0.0, and so do values nested deeper than 255 levels,
    integers of more than 4,000 digits and other numbers from 1e308 on.

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
    metric = "json_schema"
    check_common(metric, threshold=threshold, missing=missing, details=details)
    text = schema_text(schema) if isinstance(schema, Mapping) else None

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        if text is not None:
            return validate(left, repeat(compiled(text)), explain=details)
        rows = side_by_side(left, right)
        return validate(rows["output"], compile_column(rows["expected"]), explain=details)

    return lift(
        metric,
        output,
        output if isinstance(schema, Mapping) else schema,
        kernel,
        threshold=threshold,
        missing=missing,
        details=details,
        fields={"error": pl.String},
        expected_name="schema",
        output_alone=text is not None,
    )


def validate(outputs: pl.Series, schemas: "Iterable[Compiled | None]", *, explain: bool) -> pl.DataFrame:
    """Score each text by its schema. With `explain`, say what is wrong with it."""
    scores: list[float | None] = []
    errors: list[str | None] = []
    for text, is_readable, schema in zip(outputs, readable(outputs), schemas, strict=False):
        value = json.loads(text) if is_readable else None
        if text is None or schema is None:
            scores.append(None)
            errors.append(None)
        elif not is_readable:
            scores.append(0.0)
            errors.append("not JSON, or out of bounds")
        elif schema[0].is_valid(value):
            scores.append(1.0)
            errors.append(None)
        else:
            scores.append(0.0)
            errors.append(schema[1](schema[0], value) if explain else None)
    return pl.DataFrame({"score": scores, "error": errors}, schema={"score": pl.Float64, "error": pl.String})


def readable(texts: pl.Series) -> pl.Series:
    """Tell which texts Python can read as JSON, whatever is in them."""
    checked = pl.DataFrame(_native.json_readable(texts, max_depth=MAX_DEPTH, threads=pl.thread_pool_size()))
    return checked["readable"].cast(pl.Boolean)


@lru_cache(maxsize=256)
def compiled(text: str) -> "Compiled":
    """Compile a schema, once."""
    from jsonschema_rs import ReferencingError, validator_for

    try:
        return validator_for(json.loads(text), mask="value", offline=True), Explainer(text)
    except (ValueError, ReferencingError) as error:
        raise ValueError(f"not a valid JSON Schema: {error}") from None


def schema_text(schema: Mapping[str, Any]) -> str:
    """Check a schema that is given as a dict."""
    try:
        text = json.dumps(dict(schema), allow_nan=False)
        if not readable(pl.Series([text])).item():
            raise ValueError(f"nested deeper than {MAX_DEPTH} levels, or a number out of bounds")
        compiled(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"json_schema: `schema`: {error}") from None
    return text


def compile_column(schemas: pl.Series) -> "Iterable[Compiled | None]":
    """Compile the schema of each row."""
    for text, is_readable in zip(schemas, readable(schemas), strict=True):
        if text is None:
            yield None
            continue
        try:
            if not is_readable:
                raise ValueError("not JSON, or out of bounds")
            yield compiled(text)
        except ValueError as error:
            raise InvalidOperationError(f"json_schema: a row of `schema` is {error}") from None
