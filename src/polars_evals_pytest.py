"""
Check scores against a committed baseline in pytest.

It stands beside the package and imports it in a check only, so that pytest starts without Polars.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from polars_evals.drift import Comparison

FOLDER = "__evals__"
# The property of a test's report that the summary shows.
LINE = "evals"
# So many items are shown where a check fails, with texts of so many characters.
SHOWN, LONGEST = 5, 70

FailOn = Literal["regressed", "inconclusive"]
VERDICTS = ("regressed", "inconclusive")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("polars-evals")
    group.addoption(
        "--evals-update",
        action="store_true",
        help="Write the baselines of `evals_baseline` instead of checking against them.",
    )
    group.addoption(
        "--evals-report", metavar="DIR", help="Write a page for each check of `evals_baseline` into DIR."
    )


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show a line for each check."""
    lines = sorted(
        f"{report.nodeid}: {text}"
        for kind in ("passed", "failed")
        for report in terminalreporter.stats.get(kind, ())
        if getattr(report, "when", None) == "call"
        for name, text in report.user_properties
        if re.fullmatch(rf"{LINE}(_\d+)?", name)
    )
    if lines:
        terminalreporter.section("polars-evals", sep="-")
        for line in lines:
            terminalreporter.line(line)


@pytest.fixture
def evals_baseline(request: pytest.FixtureRequest) -> EvalsBaseline:
    """Check scored answers against the baseline that is committed beside the test."""
    return EvalsBaseline(request)


class EvalsBaseline:
    """
    The baselines of one test.

    Each call of `check` has a Parquet file in the folder `__evals__` beside the test file.
    """

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._checks = 0

    def check(
        self,
        scored: pl.DataFrame | pl.LazyFrame,
        *,
        item: str = "item_id",
        fail_on: FailOn | Sequence[FailOn] | None = "regressed",
        not_worse_than: float | None = None,
        max_newly_failing: int | None = None,
        max_drop: float | None = None,
        max_relative_drop: float | None = None,
        by: Any = None,
        cluster: str | None = None,
        **options: Any,
    ) -> Comparison:
        """
        Compare scored answers with the baseline, and fail where they got worse.

        Parameters
        ----------
        scored
            The answers with their scores, as `Suite.score` returns them.
        item
            The column that names the items.
        fail_on
            The verdicts that fail the check: `"regressed"`, `"inconclusive"` or both; None for none.
        not_worse_than
            Fail unless the data show that no metric got worse by more than this.
        max_newly_failing
            Fail if more items of a metric passed in the baseline and fail now.
        max_drop, max_relative_drop
            Fail if a mean score or pass rate fell by more than this, or by more than this share.
        by, cluster
            As in `compare`.
        **options
            Other options of `compare`: `metrics`, `measures`, `min_effect`, `alpha`, `seed`.

        Returns
        -------
        Comparison
            The comparison of the baseline with these answers.

        Raises
        ------
        AssertionError
            If the check fails, if there is no baseline, or if it is one of other items or another suite.

        Notes
        -----
        `pytest --evals-update` writes the baseline and passes. Items that the baseline lacks are counted and
        not judged. Items of the baseline that are missing now fail the check.
        """
        __tracebackhide__ = True
        import polars as pl

        from polars_evals import compare
        from polars_evals._diff import columns_of

        verdicts = [fail_on] if isinstance(fail_on, str) else list(fail_on or ())
        for one in verdicts:
            if one not in VERDICTS:
                raise ValueError(
                    f"fail_on must be one of {', '.join(VERDICTS)}, a list of them or None, got {one!r}"
                )
        self._checks += 1
        name = self._name()
        path = self._request.path.parent / FOLDER / f"{name}.parquet"
        rows = _Rows(scored, item, columns_of([by, cluster, options.get("measures")]))
        roles = {"version": VERSION, "baseline": BASELINE, "item": item, "by": by, "cluster": cluster}
        if self._request.config.getoption("--evals-update"):
            self._note(rows.write(path))
            return compare(rows.beside(rows.frame), **roles, **options)
        if not path.exists():
            raise AssertionError(f"There is no baseline in {_shown(path)}.\nWrite it: {self._accept()}")
        before = pl.read_parquet(path, glob=False)
        if problem := rows.differs(before, path):
            raise AssertionError(f"{problem}\nTo accept the change: {self._accept()}")
        comparison = compare(rows.beside(before), margin=not_worse_than, **roles, **options)
        drops = {"max_drop": max_drop, "max_relative_drop": max_relative_drop}
        reasons = [
            *(f"the comparison is {one}" for one in verdicts if comparison.verdict == one),
            *_exceeded(comparison.summary, max_newly_failing, drops, not_worse_than),
        ]
        unchanged = rows.same_scores(before)
        if unchanged:
            # However few items there are: each has the score that was committed.
            reasons = []
        self._note(_line(comparison, len(rows.items - set(before[item].to_list())), unchanged=unchanged))
        self._add_numbers(comparison)
        page = self._write_page(comparison, name, failed=bool(reasons))
        if reasons:
            raise AssertionError(_failure(comparison, reasons, page, self._accept()))
        return comparison

    def _name(self) -> str:
        node = self._request.node
        parts = [self._request.path.stem, *node.nodeid.split("::")[1:-1], node.originalname or node.name]
        name = ".".join(parts)
        _, bracket, parameters = node.name.partition("[")
        if bracket:
            parameters = parameters.removesuffix("]")
            plain = re.sub(r"[^a-z0-9._=-]+", "-", parameters.lower())[:60]
            if plain != parameters:
                plain += f"-{hashlib.sha256(parameters.encode()).hexdigest()[:8]}"
            name += f".{plain}"
        return name if self._checks == 1 else f"{name}-{self._checks}"

    def _accept(self) -> str:
        _, *test = self._request.node.nodeid.split("::")
        return f"pytest --evals-update '{'::'.join([_shown(self._request.path), *test])}'"

    @property
    def _property(self) -> str:
        """The name of a property of the test's report: each check has its own."""
        return LINE if self._checks == 1 else f"{LINE}_{self._checks}"

    def _note(self, line: str) -> None:
        text = line if self._checks == 1 else f"check {self._checks}: {line}"
        self._request.node.user_properties.append((self._property, text))

    def _add_numbers(self, comparison: Comparison) -> None:
        """Give the numbers to JUnit."""
        found = {f"{self._property}_verdict": comparison.verdict}
        for row in comparison.summary.iter_rows(named=True):
            for column in ("n", "baseline_mean", "candidate_mean", "difference", "newly_failing", "verdict"):
                if row[column] is not None:
                    found[f"{self._property}_{row['metric']}_{column}"] = row[column]
        self._request.node.user_properties.extend(found.items())

    def _write_page(self, comparison: Comparison, name: str, *, failed: bool) -> Path | None:
        """Write the page where it is asked for, and where a check failed."""
        given = self._request.config.getoption("--evals-report")
        if given is None and not failed:
            return None
        folder = Path(given) if given else self._request.getfixturevalue("tmp_path_factory").mktemp("evals")
        folder.mkdir(parents=True, exist_ok=True)
        page = folder / f"{name}.html"
        comparison.to_html(page)
        return page


VERSION, BASELINE, NOW = "evals_version", "baseline", "now"


class _Rows:
    """What a check keeps of scored answers."""

    def __init__(self, scored: pl.DataFrame | pl.LazyFrame, item: str, columns: Sequence[str]) -> None:
        __tracebackhide__ = True
        import polars as pl

        from polars_evals.suite.signature import signatures_of

        if not isinstance(scored, pl.DataFrame | pl.LazyFrame):
            raise TypeError(f"check takes a scored DataFrame or LazyFrame, got {type(scored).__name__}")
        names = scored.collect_schema().names()
        if item not in names:
            raise AssertionError(
                f"The answers have no column {item!r} that names the items: name it with item="
            )
        metrics = [name.removesuffix("_score") for name in names if name.endswith("_score")]
        if not metrics:
            raise AssertionError(
                "The answers have no <name>_score column: score them first, as in suite.score(answers)"
            )
        chosen = [f"{metric}_{end}" for metric in metrics for end in ("score", "label")]
        chosen = [item, *chosen, "output", "expected", "error", "finish_reason", *columns]
        self.signatures = signatures_of(scored)
        self.frame = scored.lazy().select(name for name in dict.fromkeys(chosen) if name in names).collect()
        self.item, self.metrics = item, metrics
        self.items = set(self.frame[item].to_list())
        if self.frame.is_empty():
            raise AssertionError("The frame has no rows: there is nothing to check.")

    def write(self, path: Path) -> str:
        """Write the baseline as a whole or not at all, and say what changed in it."""
        import polars as pl

        from polars_evals.suite.signature import to_metadata

        items = self.items
        old = set(pl.read_parquet(path, glob=False)[self.item].to_list()) if path.exists() else items
        path.parent.mkdir(exist_ok=True)
        part = path.with_name(f".{os.getpid()}.part")
        self.frame.write_parquet(part, metadata=to_metadata(self.signatures))
        part.replace(path)
        changes = {"removed": len(old - items), "added": len(items - old)}
        changed = "".join(f", {count} {what}" for what, count in changes.items() if count)
        return f"baseline of {len(items)} items{changed} written to {_shown(path)}"

    def _of_items(self, before: pl.DataFrame) -> pl.DataFrame:
        return self.frame.filter(self.frame[self.item].is_in(before[self.item].unique().implode()))

    def beside(self, before: pl.DataFrame) -> pl.DataFrame:
        """Put the baseline and the answers of its items into one frame."""
        import polars as pl

        sides = {BASELINE: before, NOW: self._of_items(before)}
        named = [frame.with_columns(pl.lit(name).alias(VERSION)) for name, frame in sides.items()]
        return pl.concat(named, how="diagonal_relaxed")

    def same_scores(self, before: pl.DataFrame) -> bool:
        """Whether every item of the baseline has the scores that it had."""
        columns = [self.item, *(f"{metric}_score" for metric in self.metrics)]
        now = self._of_items(before)
        return now.select(columns).sort(columns).equals(before.select(columns).sort(columns))

    def differs(self, before: pl.DataFrame, path: Path) -> str | None:
        """Say why these answers cannot be compared with the baseline, if so."""
        from polars_evals.suite.signature import from_metadata

        if self.item not in before.columns:
            return f"The baseline in {_shown(path)} has no column {self.item!r}."
        known = [name.removesuffix("_score") for name in before.columns if name.endswith("_score")]
        if set(known) != set(self.metrics):
            return (
                f"The baseline was scored by another suite: it has the metrics {', '.join(known)}, "
                f"and the answers have {', '.join(self.metrics)}."
            )
        made = from_metadata(str(path))
        for name, text in self.signatures.items():
            if name in made and made[name] != text:
                both = f"  {name}: {made[name]}  (baseline)\n  {name}: {text}  (now)"
                return f"The baseline was scored by another suite:\n{both}"
        old = before[self.item].unique(maintain_order=True).to_list()
        missing = [one for one in old if one not in self.items]
        if missing:
            listed = ", ".join(map(str, missing[:SHOWN])) + (", …" if len(missing) > SHOWN else "")
            return f"{len(missing)} of {len(old)} items of the baseline are missing: {listed}."
        return None


def _exceeded(
    summary: pl.DataFrame, most: int | None, drops: Mapping[str, float | None], margin: float | None
) -> Iterator[str]:
    """Say which rows exceed a limit."""
    from polars_evals.drift.comparison import falls

    for row in summary.iter_rows(named=True):
        if most is not None and (row["newly_failing"] or 0) > most:
            yield f"{row['metric']}: {row['newly_failing']} items newly fail, more than {most:g}"
        for option, bound in drops.items():
            if bound is None:
                continue
            for value, before, after, _ in falls(row, bound, relative=option == "max_relative_drop"):
                what = "mean score" if value == "mean" else "pass rate"
                fell = f"the {what} fell {before:.4g} → {after:.4g}"
                yield f"{row['metric']}: {fell}, more than {option} = {bound:g} allows"
        if margin is not None and row["not_worse"] != "yes":
            yield f"{row['metric']}: a loss of more than {margin:g} is not ruled out"


def _line(comparison: Comparison, new: int, *, unchanged: bool) -> str:
    verdict = "no score changed" if unchanged else comparison.verdict.replace("_", " ")
    rows = comparison.summary.iter_rows(named=True)
    scores = ", ".join(
        f"{row['metric']} {row['baseline_mean']:.3f} → {row['candidate_mean']:.3f}"
        for row in rows
        if row["baseline_mean"] is not None and row["candidate_mean"] is not None
    )
    more = f"; {new} new items are not judged" if new else ""
    better = "; --evals-update makes it the baseline" if comparison.verdict == "improved" else ""
    return f"{verdict}: {scores}{more}{better}"


def _failure(comparison: Comparison, reasons: Sequence[str], page: Path | None, accept: str) -> str:
    """Say what a developer wants to know of a failed check."""
    lines = [repr(comparison).rstrip(), ""]
    if reasons != ["the comparison is regressed"]:
        lines += ["Failed because", *(f"  {reason}" for reason in reasons), ""]
    lines += _newly_failing(comparison)
    lines += [f"Page: {page}"] if page else []
    return "\n".join([*lines, f"To accept the change: {accept}"])


def _newly_failing(comparison: Comparison) -> list[str]:
    """Show the first items that passed and fail now."""
    import polars as pl

    flips = comparison.flips.filter(pl.col("baseline_score") > pl.col("candidate_score"))
    if flips.is_empty():
        return []
    items = flips.unique("item", keep="first", maintain_order=True)
    lines = [f"{items.height} items newly fail" + (f", the first {SHOWN}:" if items.height > SHOWN else ":")]
    for row in items.head(SHOWN).iter_rows(named=True):
        scores = f"{row['baseline_score']:.2f} → {row['candidate_score']:.2f}"
        lines.append(f"  {row['item']}  ({row['metric']} {scores})")
        for what, column in (("expected", "expected"), ("got", "candidate_output")):
            if (value := row.get(column)) is not None:
                text = " ".join(str(value).split())
                lines.append(f"    {what:9}{text if len(text) <= LONGEST else text[: LONGEST - 1] + '…'}")
    return [*lines, ""]


def _shown(path: Path) -> str:
    """Return a path as the user sees it from where pytest runs."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
