"""From two files, folders or frames to a comparison: read, pair, choose metrics, score and compare."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from polars_evals._errors import ConfigError, InputError
from polars_evals.drift.baseline import against_baseline
from polars_evals.drift.compare import compare
from polars_evals.suite.metric import Metric
from polars_evals.suite.suggest import Suggestion, suggest
from polars_evals.suite.suite import Suite
from polars_evals.traces.scan import read_traces
from polars_evals.traces.source import SOURCE
from polars_evals.wording import counted, did_you_mean

if TYPE_CHECKING:
    from polars_evals.drift import Comparison

Source: TypeAlias = str | Path | Sequence[str | Path] | pl.DataFrame | pl.LazyFrame

# The column that tells the two sides apart.
SIDE, SIDES = "model", ["baseline", "candidate"]
ITEM, INPUT = "item_id", "input"
# Pairs of ids stand for one question where so many of them have the same input.
MOST = 0.5
# So many rows of each side are looked at to choose metrics.
LOOKED_AT = 5_000


@dataclass(frozen=True)
class Diff:
    """A comparison and how it was made."""

    comparison: Comparison
    scored: pl.DataFrame
    suite: Suite
    suggestion: Suggestion | None
    # Without expected values, the answers of the baseline were expected.
    is_against_baseline: bool
    # What names the versions and the items.
    version: str
    item: str

    @property
    def compared(self) -> bool:
        """Whether any item could be compared."""
        return bool((self.comparison.summary["n"] > 0).any())

    @property
    def similarity(self) -> list[str]:
        """The similarity of the answers to the baseline's, if there is nothing else to compare."""
        baseline = self.comparison.spec.baseline
        others = self.scored.filter(pl.col(self.version) != baseline, pl.col("expected").is_not_null())
        same = others.select(
            (pl.col("output").cast(pl.String) == pl.col("expected").cast(pl.String)).sum()
        ).item()
        means = {str(one.name): others[f"{one.name}_score"].mean() for one in self.suite.metrics}
        listed = ", ".join(f"{name} {mean:.2f}" for name, mean in means.items() if isinstance(mean, float))
        return [
            f"{same:,} of {counted(others.height, 'answer')} are the same. Mean similarity: {listed}.",
            f"There is no verdict: {baseline} answered each item once, so its own variation is unknown. "
            "Run it a second time on the same items, or add expected values.",
        ]

    @property
    def first_line(self) -> str | None:
        """A warning to show before the result, if there is one."""
        if not self.is_against_baseline:
            return None
        return (
            "There are no expected values: the answers of the baseline "
            f"{self.comparison.spec.baseline} are the expected values."
        )


def diff(
    baseline: Source,
    candidate: Source | None = None,
    *,
    suite: Suite | None = None,
    metrics: Sequence[str] | str | None = None,
    version: str | None = None,
    baseline_version: str | None = None,
    item: str | None = None,
    reading: Mapping[str, Any] | None = None,
    **options: Any,
) -> Comparison:
    """
    Compare two sets of answers in one call: read, pair, choose metrics, score and compare.

    Parameters
    ----------
    baseline, candidate
        Files or folders of any export that `scan_traces` reads, or frames with a column `output`. Without a
        `candidate`, `baseline` holds all versions and `version` names the column that tells them apart.
    suite, metrics
        How to score. Without either, `suggest` chooses metrics that fit the answers.
    version, baseline_version
        The column of versions, and the version to compare with, if one set holds all versions.
    item
        The column that names the items. By default the versions are paired by `item_id`, or by equal inputs.
    reading
        Options of `scan_traces`: `format`, `columns`, `keep`, `rows`, `storage_options`.
    **options
        Options of `compare`: `by`, `cluster`, `measures`, `min_effect`, `alpha`, `margin`.

    Returns
    -------
    Comparison
        Its notes say which metrics were chosen and why.

    Notes
    -----
    The name of a version is its `model` if that has one value, else its file or folder. If only one side has
    expected values, the other side uses them too. If neither has any, the answers of the baseline are the
    expected values.

    Examples
    --------
    >>> v1 = pl.DataFrame({"input": ["1 + 1?", "2 + 2?"], "output": ["2", "4"], "expected": ["2", "4"]})
    >>> v2 = v1.with_columns(output=pl.Series(["2", "5"]))
    >>> comparison = pe.diff(v1, v2)
    >>> comparison.summary.select("metric", "n", "baseline_mean", "candidate_mean")
    shape: (1, 4)
    ┌───────────────┬─────┬───────────────┬────────────────┐
    │ metric        ┆ n   ┆ baseline_mean ┆ candidate_mean │
    │ ---           ┆ --- ┆ ---           ┆ ---            │
    │ str           ┆ i64 ┆ f64           ┆ f64            │
    ╞═══════════════╪═════╪═══════════════╪════════════════╡
    │ numeric_match ┆ 2   ┆ 1.0           ┆ 0.5            │
    └───────────────┴─────┴───────────────┴────────────────┘
    """
    done = run_diff(
        [baseline] if candidate is None else [baseline, candidate],
        suite=suite, metrics=metrics, version=version, baseline_version=baseline_version, item=item,
        reading=reading, **options,
    )  # fmt: skip
    reasons = done.suggestion.reasons if done.suggestion else ()
    notes = (*([done.first_line] if done.first_line else []), *reasons, *done.comparison.notes)
    return replace(done.comparison, notes=notes)


def run_diff(
    sources: Sequence[Source],
    *,
    suite: Suite | None = None,
    metrics: Sequence[str] | str | None = None,
    version: str | None = None,
    baseline_version: str | None = None,
    item: str | None = None,
    reading: Mapping[str, Any] | None = None,
    **options: Any,
) -> Diff:
    """Do what `diff` does, and keep what it found on the way."""
    if suite is not None and metrics is not None:
        raise ConfigError("give either a suite or metrics, not both")
    needed = [name for name in (version, item) if name]
    needed += columns_of([options.get(name) for name in ("by", "cluster", "adjust")])
    reading = {**(reading or {}), "needed": needed}
    if len(sources) == 2:
        frame, version, before = _two_sides(sources, reading)
    elif len(sources) == 1:
        frame, version, before = _one_set(sources[0], version, baseline_version, reading)
    else:
        raise ConfigError(
            f"diff compares two files, folders or frames, or one that holds all versions; got {len(sources)}"
        )
    item = _paired_by(frame, version, before, item)
    frame = _with_expected_of_others(frame, item)
    lone = frame["expected"].null_count() == frame.height
    if lone:
        frame = against_baseline(frame, version=version, baseline=before, item=item)
    suggestion = None
    if metrics is not None:
        suite = Suite([Metric(name) for name in ([metrics] if isinstance(metrics, str) else metrics)])
    elif suite is None:
        looked_at = frame.group_by(version, maintain_order=True).head(LOOKED_AT)
        suggestion = suggest(looked_at)
        suite = suggestion.suite
    scored = suite.score(frame)
    comparison = compare(
        scored, version=version, baseline=before, item=item,
        metrics=[str(metric.name) for metric in suite.metrics],
        aggregates=options.pop("aggregates", None) or suite.aggregates or None, **options,
    )  # fmt: skip
    return Diff(comparison, scored, suite, suggestion, lone, version, item)


def columns_of(by: Any) -> list[str]:
    """Name the columns of an option such as `by`: of a name, an expression, or lists of these."""
    if by is None or isinstance(by, str):
        return [by] if by and by != "auto" else []
    return (
        by.meta.root_names() if isinstance(by, pl.Expr) else [name for one in by for name in columns_of(one)]
    )


def _two_sides(sources: Sequence[Source], reading: Mapping[str, Any]) -> tuple[pl.DataFrame, str, str]:
    if _is_same(*sources):
        both = f": {sources[0]}" if isinstance(sources[0], str | Path) else " frame"
        raise ConfigError(f"both sides are the same{both}; name two files, folders or frames")
    frames = [_read(source, reading) for source in sources]
    names = _names(frames, sources)
    sides = [frame.with_columns(pl.lit(name).alias(SIDE)) for frame, name in zip(frames, names, strict=True)]
    return pl.concat(sides, how="diagonal_relaxed"), SIDE, names[0]


def _one_set(
    source: Source, version: str | None, before: str | None, reading: Mapping[str, Any]
) -> tuple[pl.DataFrame, str, str]:
    if version is None:
        raise ConfigError(
            "name two files, folders or frames; or one with the column of its versions (version) and the "
            "version to compare with (baseline)"
        )
    frame = _read(source, reading)
    if version not in frame.columns:
        raise InputError(f"the answers have no column {version!r}; they have {', '.join(frame.columns)}")
    values = frame[version].cast(pl.String).drop_nulls().unique().sort().to_list()
    if len(values) < 2:
        raise InputError(
            f"column {version!r} has one value ({', '.join(values)}): there is nothing to compare"
        )
    if before is None:
        raise ConfigError(
            f"name the version to compare with (baseline); {version} has {', '.join(values[:10])}"
        )
    if before not in values:
        raise ConfigError(f"the baseline {before!r} is not among the versions {', '.join(values[:10])}")
    return frame.with_columns(pl.col(version).cast(pl.String)), version, before


def _is_same(first: Source, second: Source) -> bool:
    if not isinstance(first, str | Path) or not isinstance(second, str | Path):
        return first is second
    return os.path.exists(first) and os.path.exists(second) and os.path.samefile(first, second)


def _read(source: Source, reading: Mapping[str, Any]) -> pl.DataFrame:
    """Read a side, with the columns that a comparison needs."""
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        frame = source.lazy().collect()
        if "output" not in frame.columns:
            if any(name.endswith("_score") for name in frame.columns):
                raise InputError("the frame holds scores and no answers; compare them with pe.compare")
            found = f"the frame has no column 'output' (it has {', '.join(frame.columns)})"
            raise InputError(f"{found}: rename the column of the answers to 'output'")
    else:
        frame = _read_files(source, reading)
    if frame.is_empty() or frame["output"].null_count() == frame.height:
        where = "a frame" if isinstance(source, pl.DataFrame | pl.LazyFrame) else str(source)
        raise InputError(f"{where} has no answers")
    absent = [name for name in (INPUT, "expected") if name not in frame.columns]
    return frame.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in absent)


def _read_files(source: str | Path | Sequence[str | Path], reading: Mapping[str, Any]) -> pl.DataFrame:
    """Read files as every command does; a file that cannot be read is an error here."""
    if columns := _scores_of(source):
        raise InputError(
            f"{source} holds scores ({', '.join(columns[:3])}) and no answers; "
            f"compare scores with: polars-evals compare {source}"
        )
    options = {"as_is": ("output",), **reading}
    needed = options.pop("needed", ())
    found = read_traces(source, **options)
    columns = [] if found.frame is None else found.frame.collect_schema().names()
    absent = [name for name in needed if columns and name not in columns]
    if absent:
        try:
            found = read_traces(source, **{**options, "keep": [*options.get("keep", ()), *absent]})
        except (ValueError, pl.exceptions.PolarsError) as error:
            hint = did_you_mean(absent[0], columns)
            raise InputError(f"{source} has no column {absent[0]!r}{hint}") from error
    frame = found.require(f"{source} has no answers").drop(SOURCE).collect()
    # Columns that the export does not have say nothing.
    needed = (ITEM, INPUT, "output")
    return frame.select(one for one in frame if one.null_count() < frame.height or one.name in needed)


def _scores_of(source: Source) -> list[str]:
    """Name the score columns of a Parquet file without answers."""
    if not isinstance(source, str | Path) or not str(source).endswith((".parquet", ".pq")):
        return []
    try:
        names = pl.read_parquet_schema(source)
    except (OSError, pl.exceptions.PolarsError):
        return []
    return [] if "output" in names else [name for name in names if name.endswith("_score")]


def _names(frames: Sequence[pl.DataFrame], sources: Sequence[Source]) -> list[str]:
    """Name the versions: by their model where that has one value, else by file or folder."""
    for column in ("model", "version"):
        values = [_only_value(frame, column) for frame in frames]
        if all(values) and values[0] != values[1]:
            return [str(value) for value in values]
    paths = [Path(source) for source in sources if isinstance(source, str | Path)]
    if len(paths) == len(sources):
        parts = [[path.name.split(".")[0] or path.name, *path.resolve().parts[-2::-1]] for path in paths]
        # The file, or the last folder that differs.
        return next(([a, b] for a, b in zip(*parts, strict=False) if a != b), SIDES)
    return SIDES


def _only_value(frame: pl.DataFrame, column: str) -> str | None:
    if column not in frame.columns or frame[column].null_count():
        return None
    values = frame[column].cast(pl.String).unique().to_list()
    return values[0] if len(values) == 1 else None


def _paired_by(frame: pl.DataFrame, version: str, before: str, item: str | None) -> str:
    """Choose the column that pairs the versions."""
    if item is not None:
        if item not in frame.columns:
            raise InputError(f"the answers have no column {item!r}; they have {', '.join(frame.columns)}")
        return item
    is_before = pl.col(version) == before
    sides = [frame.filter(is_before), frame.filter(~is_before)]
    shared = {name: _shared(sides, name) for name in (ITEM, INPUT) if name in frame.columns}
    if shared.get(ITEM, 0) and not _ids_pair_other_questions(sides, shared):
        return ITEM
    if shared.get(INPUT, 0):
        return INPUT
    if not any(side[name].count() for side in sides for name in shared):
        raise InputError("the answers have no item_id and no input: name the column that pairs them (item)")
    sides_found = []
    for name, side in zip((f"the baseline {before}", "the other side"), sides, strict=True):
        column = ITEM if ITEM in side.columns and side[ITEM].null_count() < side.height else INPUT
        values = side[column].cast(pl.String).drop_nulls().unique(maintain_order=True)
        examples = ", ".join(repr(value[:40]) for value in values.head(3))
        sides_found.append(
            f"{name} has {counted(values.len(), 'item')}, such as {examples or 'none with an id or an input'}"
        )
    raise InputError(
        f"the two sides share no item: {'; '.join(sides_found)}; name the column that pairs them (item)"
    )


def _shared(sides: Sequence[pl.DataFrame], column: str) -> int:
    first, second = (side.select(pl.col(column).cast(pl.String)).drop_nulls().unique() for side in sides)
    return first.join(second, on=column, how="semi").height


def _ids_pair_other_questions(sides: Sequence[pl.DataFrame], shared: Mapping[str, int]) -> bool:
    """Whether ids, such as row numbers, pair different questions while equal inputs would pair more."""
    if not shared.get(INPUT, 0):
        return False
    first, second = (
        side.select(ITEM, INPUT).drop_nulls().unique(ITEM, keep="first", maintain_order=True)
        for side in sides
    )
    pairs = first.join(second, on=ITEM, suffix="_other")
    same = (pairs[INPUT].cast(pl.String) == pairs[f"{INPUT}_other"].cast(pl.String)).mean()
    return isinstance(same, float) and same < MOST


def _with_expected_of_others(frame: pl.DataFrame, item: str) -> pl.DataFrame:
    """Let a row without an expected value take that of another version's row of the item."""
    known = frame.select(item, "expected").drop_nulls().unique(item, keep="first", maintain_order=True)
    others = frame.select(item).join(known, on=item, how="left", maintain_order="left")["expected"]
    return frame.with_columns(pl.coalesce("expected", others).alias("expected"))
