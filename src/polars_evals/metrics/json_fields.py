"""Structured answers, leaf by leaf: what share of a JSON document is right."""

import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import polars as pl

from polars_evals.columns import side_by_side
from polars_evals.lift import Fields, IntoText, Missing, lift
from polars_evals.metrics.structured import readable
from polars_evals.options import check_amount, check_common
from polars_evals.wording import shown

Path: TypeAlias = tuple[str | int, ...]

FIELDS: Fields = {
    "agreeing": pl.Int64,
    "leaves": pl.Int64,
    "differing": pl.List(pl.String),
    "missing": pl.List(pl.String),
    "extra": pl.List(pl.String),
}

# The steps of a JSON path: .key, [0], ["key"], and .* or [*] for any.
STEP = re.compile(
    r"""\.(?P<key>[^.\[\]*]+)|\[(?P<index>\d+)\]|\[(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\]"""
    r"""|(?P<any>\.\*|\[\*\])"""
)


def json_fields(
    output: IntoText,
    expected: IntoText,
    *,
    abs_tol: float = 0.0,
    rel_tol: float = 0.0,
    ignore: str | Sequence[str] = (),
    threshold: float = 1.0,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the share of leaves on which two JSON documents agree, among the leaves of either.

    Parameters
    ----------
    output
        The JSON text to score.
    expected
        The JSON text it should be. Lists of several references: the best score counts.
    abs_tol
        How far apart two numbers may be.
    rel_tol
        How far apart two numbers may be, as a share of the larger. Either tolerance will do.
    ignore
        JSON paths that do not count, with all below them: `"$.id"`, `"$.items[*].id"`, `"$.meta.*"`.
    threshold
        The least score that passes.
    missing
        What a missing output or expected value gives: `"fail"` scores 0.0, `"null"` gives null.
    details
        Append `agreeing` and `leaves`, the paths that are `differing`, `missing` (in output) and `extra`, and
        what concerns turns.

    Notes
    -----
    Leaves are texts, numbers, booleans, nulls, and empty objects and arrays. Arrays are compared place by
    place. Numbers are equal however they are written. What is not JSON, in the sense of `json_schema`, scores
    0.0.

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
    check_common("json_fields", threshold=threshold, missing=missing, details=details)
    check_amount("json_fields", "abs_tol", abs_tol)
    check_amount("json_fields", "rel_tol", rel_tol)
    ignored = [read_path(path) for path in ([ignore] if isinstance(ignore, str) else ignore)]

    def equal(left: object, right: object) -> bool:
        if is_number(left) and is_number(right):
            return left == right or (
                (abs_tol > 0 or rel_tol > 0) and is_close(float(left), float(right), abs_tol, rel_tol)  # type: ignore[arg-type]
            )
        return type(left) is type(right) and left == right

    def leaves_of(text: str) -> dict[Path, object]:
        value = json.loads(text, parse_float=Decimal)
        return {path: leaf for path, leaf in leaves(value) if not any(covers(one, path) for one in ignored)}

    def compare(output: str, expected: str) -> dict[str, Any]:
        given, wanted = leaves_of(output), leaves_of(expected)
        both = [path for path in wanted if path in given]
        differing = [path for path in both if not equal(given[path], wanted[path])]
        lacking = [path for path in wanted if path not in given]
        extra = [path for path in given if path not in wanted]
        total = len(wanted) + len(extra)
        agreeing = len(both) - len(differing)
        return {
            "score": agreeing / total if total else 1.0,
            "agreeing": agreeing,
            "leaves": total,
            "differing": [written(path) for path in differing],
            "missing": [written(path) for path in lacking],
            "extra": [written(path) for path in extra],
        }

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        rows = side_by_side(left, right)
        valid = [readable(rows[side]) for side in ("output", "expected")]
        results: list[dict[str, Any]] = []
        for given, wanted, *can_read in zip(rows["output"], rows["expected"], *valid, strict=True):
            if given is None or wanted is None:
                results.append({"score": None})
            elif not all(can_read):
                results.append({"score": 0.0})
            else:
                results.append(compare(given, wanted))
        return pl.DataFrame(results, schema={"score": pl.Float64(), **FIELDS})

    return lift(
        "json_fields",
        output,
        expected,
        kernel,
        threshold=threshold,
        missing=missing,
        details=details,
        fields=FIELDS,
    )


def leaves(value: object) -> Iterator[tuple[Path, object]]:
    """List the leaves of a value with their paths, in their order."""
    to_do: list[tuple[Path, object]] = [((), value)]
    while to_do:
        path, here = to_do.pop()
        if isinstance(here, dict) and here:
            to_do += [((*path, key), below) for key, below in reversed(here.items())]
        elif isinstance(here, list) and here:
            to_do += [((*path, place), below) for place, below in reversed(list(enumerate(here)))]
        else:
            yield path, here


def is_number(value: object) -> bool:
    """Whether a JSON value is a number; true and false are none."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def is_close(left: float, right: float, abs_tol: float, rel_tol: float) -> bool:
    """Whether two numbers are within a tolerance."""
    return abs(left - right) <= max(abs_tol, rel_tol * max(abs(left), abs(right)))


def read_path(path: object) -> list[str | int | None]:
    """Read a JSON path; None stands for any step."""
    if not isinstance(path, str) or not path.startswith("$"):
        raise ValueError(f'json_fields: `ignore` takes JSON paths such as "$.items[*].id", got {shown(path)}')
    steps: list[str | int | None] = []
    at = 1
    while at < len(path):
        found = STEP.match(path, at)
        if found is None:
            raise ValueError(f'json_fields: `ignore`: "{path}" is no JSON path from "{path[at:]}" on')
        at = found.end()
        if found["any"]:
            steps.append(None)
        elif found["index"] is not None:
            steps.append(int(found["index"]))
        else:
            steps.append(found["key"] if found["key"] is not None else found["quoted"])
    return steps


def covers(pattern: Sequence[str | int | None], path: Path) -> bool:
    """Whether a path is one that the pattern names, or below it."""
    return len(pattern) <= len(path) and all(
        one is None or one == step for one, step in zip(pattern, path, strict=False)
    )


def written(path: Path) -> str:
    """Write a path."""
    return "$" + "".join(
        f"[{step}]"
        if isinstance(step, int)
        else (f".{step}" if re.fullmatch(r"[\w-]+", step) else f"[{json.dumps(step, ensure_ascii=False)}]")
        for step in path
    )
