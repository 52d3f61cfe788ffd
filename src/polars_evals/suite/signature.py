"""Signatures: what a score was made with, in one line that travels with the scores."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl
from polars.exceptions import ComputeError

from polars_evals.clean import read_steps
from polars_evals.metrics.vectors import encoder_name
from polars_evals.storage.objects import is_remote
from polars_evals.storage.paths import expand
from polars_evals.suite.custom import identity
from polars_evals.suite.metric import Metric, accepts
from polars_evals.wording import listed

Location: TypeAlias = str | Path

METADATA_KEY = "polars_evals.signatures"

# What the column of a metric's signature is called, after its name.
SIGNATURE = "_signature"

# The attribute of a frame in memory that holds the signatures of its scores.
REMEMBERED = "_polars_evals_signatures"

# Longer values (a JSON schema, say) are named by their hash.
LONGEST_VALUE = 120

# The version of an algorithm, where it is not the first: of a metric, or of a cleaning step as `clean_fence`.
# A change that can change a score raises it, and `docs/versions.md` says what changed.
ALGORITHMS: dict[str, int] = {}

# Options that change no score.
NO_SCORE = ("details", "batch_size", "cache", "vectors")

# An option that is read from a column.
COLUMN = "column"


def signature(metric: Metric) -> str:
    """Write every option that can change a score or a label, and the versions of what computes it."""
    given = [] if metric.function is None else [f"function:{identity(metric.function)}"]
    given += [f"{key}:{text}" for key, text in settings(metric)]
    cleaning = {key: getattr(metric, key) for key in ("clean", "clean_expected", "field", "rows")}
    given += [f"{key}:{written(steps)}" for key, steps in cleaning.items() if steps]
    if metric.literal is not None:
        given.append(f"expected:{written(metric.to_dict()['expected'])}")
    steps = [step.name for side in ("output", "expected") for step in read_steps("", metric.steps(side))]
    algorithms = [] if metric.function is not None else [metric.type]
    algorithms += sorted({f"clean_{step}" for step in steps})
    return "|".join([metric.type, *given, *(f"{one}:{ALGORITHMS.get(one, 1)}" for one in algorithms)])


def settings(metric: Metric) -> Iterator[tuple[str, str]]:
    """List the options of a metric in the order of its function, threshold first."""
    values = metric.settings
    for option in sorted(values, key=lambda option: option != "threshold"):
        value = values[option]
        if option == "case_sensitive":
            yield "case", "mixed" if value else "lower"
        elif option == "encoder":
            yield option, encoder_name(value)
        elif option not in NO_SCORE:  # details add columns; they change no score
            parameter = metric.kind.options.get(option)
            is_float = parameter is not None and accepts(parameter.annotation, float) and type(value) is int
            yield option, written(float(value) if is_float else value)


def written(value: Any) -> str:
    """Write a value so that different values are different texts."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, pl.Expr) and value.meta.is_column():
        # Which column it is does not matter, as for output and expected: a column can be renamed.
        return COLUMN
    if isinstance(value, pl.Expr):
        # Polars' text of an expression leaves things out; the hash is what tells expressions apart.
        text = f"{json.dumps(str(value), ensure_ascii=False)}-{_shortened(serialized(value))}"
    elif isinstance(value, int | float) or (
        isinstance(value, str) and value != COLUMN and re.fullmatch(r"[\w.+-]+", value)
    ):
        text = str(value)
    else:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
    return text if len(text) <= LONGEST_VALUE else _shortened(text.encode())


def serialized(expr: pl.Expr) -> bytes:
    """Return what only this expression has: its contents, or its address if a function in it has no text."""
    try:
        return expr.meta.serialize()
    except ComputeError:
        return str(id(expr)).encode()


def _shortened(content: bytes) -> str:
    return f"sha256-{sha256(content).hexdigest()[:16]}"


def to_metadata(signatures: Mapping[str, str]) -> dict[str, str]:
    """Make the entry of a Parquet file's metadata."""
    return {METADATA_KEY: json.dumps(signatures)}


def signatures(
    source: Location | Iterable[Location], *, storage_options: dict[str, str] | None = None
) -> dict[str, str]:
    """Read the signatures of scores from Parquet files.

    Parameters
    ----------
    source
        A file, a folder, a pattern such as `"scores/*.parquet"`, or a list of these.
    storage_options
        Options for object stores, as in `pl.scan_parquet`.

    Returns
    -------
    dict
        The signature of each metric by its name, from the metadata of the files or from their
        `<name>_signature` columns; empty if the files have none.

    Raises
    ------
    ValueError
        If files or rows have different signatures: their scores cannot be compared.

    Examples
    --------
    >>> suite = pe.Suite([pe.Metric("exact_match")])
    >>> suite.sink_parquet(pl.DataFrame({"output": ["4"], "expected": ["4"]}), "scored.parquet")
    >>> pe.signatures("scored.parquet")
    {'exact_match': 'exact_match|threshold:1.0|case:lower|trim:yes|...|exact_match:1'}
    """
    sources = [source] if isinstance(source, str | Path) else list(source)
    found = {file: _from_file(file, storage_options) for one in sources for file in parquet_files(one)}
    if not found:
        raise ValueError("no files were given")
    first, *others = found
    for other in others:
        if found[other] != found[first]:
            unlike = _differences(first, other, found)
            raise ValueError(f"scores that were not made in the same way:\n{unlike}")
    return found[first]


def _from_file(file: str, storage_options: dict[str, str] | None = None) -> dict[str, str]:
    """Read the signatures in one file: in its metadata, and in columns, as a cluster writes them."""
    found = from_metadata(file, storage_options)
    rows = pl.scan_parquet(file, glob=False, storage_options=storage_options)
    columns = _columns_of(rows)
    if not columns:
        return found
    seen = rows.select(pl.col(columns).cast(pl.String).drop_nulls().unique().sort().implode())
    for column, values in seen.collect(engine="streaming").row(0, named=True).items():
        if len(values) > 1:
            raise ValueError(
                f"scores that were not made in the same way: {column!r} in {file} has {listed(values, 2)}"
            )
        found |= {column.removesuffix(SIGNATURE): value for value in values}
    return found


def remember(scored: pl.DataFrame | pl.LazyFrame, made: Mapping[str, str]) -> None:
    """Let a frame in memory say how its scores were made, as the metadata of a file does."""
    object.__setattr__(scored, REMEMBERED, dict(made))


def signatures_of(scored: pl.DataFrame | pl.LazyFrame) -> dict[str, str]:
    """Return what a frame in memory says of its scores: in its columns, or as `Suite.score` left it."""
    known: dict[str, str] = dict(getattr(scored, REMEMBERED, {}))
    if columns := _columns_of(scored):
        firsts = scored.lazy().select(pl.col(columns).cast(pl.String).drop_nulls().first()).collect()
        seen = firsts.row(0, named=True)
        known |= {name.removesuffix(SIGNATURE): text for name, text in seen.items() if text is not None}
    return known


def _columns_of(scored: pl.DataFrame | pl.LazyFrame) -> list[str]:
    names = scored.collect_schema().names()
    columns = [f"{name.removesuffix('_score')}{SIGNATURE}" for name in names if name.endswith("_score")]
    return [column for column in columns if column in names]


def from_metadata(file: str, storage_options: dict[str, str] | None = None) -> dict[str, str]:
    """Read the signatures in one file."""
    try:
        metadata = pl.read_parquet_metadata(file, storage_options=storage_options)
    except pl.exceptions.PolarsError as error:
        raise type(error)(f"cannot read {file!r} as Parquet: {error}") from None
    try:
        stored = json.loads(metadata.get(METADATA_KEY, "{}"))
    except (ValueError, RecursionError):
        stored = None
    if not isinstance(stored, dict):
        raise ValueError(f"the signatures in {file!r} are damaged; score the rows again")
    return {str(name): str(text) for name, text in stored.items()}


def parquet_files(source: Location) -> list[str]:
    """List the files of a path, a folder or a pattern. Addresses of object stores are taken as they are."""
    path = str(source)
    return [path] if is_remote(path) else expand(path, (".parquet", ".pq"))


def _differences(first: str, other: str, found: Mapping[str, Mapping[str, str]]) -> str:
    """Show what two files say about each metric that differs."""
    names = dict.fromkeys([*found[first], *found[other]])
    return "\n".join(
        f"  {name}: {found[file].get(name, '(no signature)')}  in {file}"
        for name in names
        if found[first].get(name) != found[other].get(name)
        for file in (first, other)
    )
