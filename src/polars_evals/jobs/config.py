"""The job file: read, checked, and with paths that no longer depend on where the command runs."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from polars_evals.drift.columns import require_effect, require_level
from polars_evals.drift.verdict import VERDICTS
from polars_evals.drift.windows import check_length
from polars_evals.jobs.errors import ConfigError
from polars_evals.jobs.inputs import Input
from polars_evals.options import did_you_mean
from polars_evals.suite import Suite

SECTIONS = ("input", "suite", "store", "compare", "gate", "report")
FORMATS = ("delta", "parquet")
RULES = ("min_pass_rate", "fail_on", "must_not_flip")


@dataclass(frozen=True)
class StoreConfig:
    """Where the scores are kept."""

    path: Path
    key: tuple[str, ...] = ("trace_id",)
    format: str = "delta"
    newest: str | None = None


@dataclass(frozen=True)
class Gate:
    """A condition that fails the run."""

    metric: str | None = None
    by: str | None = None
    min_pass_rate: float | None = None
    fail_on: tuple[str, ...] = ()
    must_not_flip: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """The files to write; the page follows the scores over time if it is told by which column."""

    html: Path | None = None
    junit: Path | None = None
    summary: Path | None = None
    markdown: Path | None = None
    time: str | None = None
    every: str = "1d"


@dataclass(frozen=True)
class Job:
    """A scheduled job, as `job.toml` describes it."""

    folder: Path
    input: Input
    suite: Suite
    store: StoreConfig
    compare: Mapping[str, Any] | None = None
    gates: tuple[Gate, ...] = ()
    report: Report = field(default_factory=Report)

    @classmethod
    def load(cls, path: str | Path) -> Job:
        """Read a job file.

        Raises
        ------
        ConfigError
            If something in it is wrong. The error names file, place and the nearest right word.
        """
        path = Path(path)
        try:
            config = tomllib.loads(path.read_text("utf-8-sig"))
        except FileNotFoundError:
            raise ConfigError(f"no such job file: {str(path)!r}") from None
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: {error}") from None
        return read_job(Section(str(path), config), path.parent.resolve())


class Section:
    """A table of the file, whose entries are taken out one by one; what is left over is unknown."""

    def __init__(self, where: str, entries: object) -> None:
        self.where = where
        if not isinstance(entries, Mapping):
            raise ConfigError(f"{self.where} must be a table, got {entries!r}")
        self.entries, self.known = dict(entries), list[str]()

    def take(self, key: str, kinds: type | tuple[type, ...], what: str, *, needed: bool = False) -> Any:
        """Take an entry of a type, or None."""
        self.known.append(key)
        value = self.entries.pop(key, None)
        if value is None:
            if needed:
                for other in self.entries:
                    if hint := did_you_mean(other, [key]):
                        raise ConfigError(f'{self.where}: unknown key "{other}"{hint}')
                raise ConfigError(f"{self.where}: `{key}` is missing; it is {what}")
            return None
        kinds = kinds if isinstance(kinds, tuple) else (kinds,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise ConfigError(f"{self.where}: `{key}` must be {what}, got {value!r}")
        return value

    def texts(self, key: str, what: str, *, needed: bool = False) -> tuple[str, ...] | None:
        """Take a text or a list of texts."""
        value = self.take(key, (str, list), what, needed=needed)
        if value is None:
            return None
        listed = [value] if isinstance(value, str) else value
        if not listed or not all(isinstance(text, str) and text for text in listed):
            raise ConfigError(f"{self.where}: `{key}` must be {what}, got {value!r}")
        return tuple(listed)

    def choice(self, key: str, choices: Sequence[str]) -> str | None:
        """Take one of some words, or None."""
        value: str | None = self.take(key, str, f"one of {', '.join(choices)}")
        if value is not None and value not in choices:
            raise ConfigError(
                f'{self.where}: `{key}` must be one of {", ".join(choices)}, got "{value}"'
                f"{did_you_mean(value, choices)}"
            )
        return value

    def insist(self, check: Callable[..., None], *values: object) -> None:
        """Check values in the way of the library, with its error."""
        try:
            check(*values)
        except ValueError as error:
            raise ConfigError(f"{self.where}: {error}") from None

    def finish(self) -> None:
        """Refuse what is left over."""
        for key in self.entries:
            hint = did_you_mean(key, self.known) or f"; there are {', '.join(self.known)}"
            raise ConfigError(f'{self.where}: unknown key "{key}"{hint}')


def read_job(config: Section, folder: Path) -> Job:
    """Read all sections."""
    source = config.where
    tables = {
        name: config.take(name, list, "written [[gate]], as there may be several")
        if name == "gate"
        else config.take(name, dict, f"a section [{name}]")
        for name in SECTIONS
    }
    config.finish()
    for name in ("input", "suite", "store"):
        if tables[name] is None:
            raise ConfigError(f"{source}: the section [{name}] is missing")
    suite = read_suite(source, tables["suite"], folder)
    compare = tables["compare"]
    if compare is not None:
        compare = read_compare(Section(f"{source}: [compare]", compare), suite)
    gates = tuple(
        read_gate(Section(f"{source}: [[gate]] {number}", entry), suite, compare)
        for number, entry in enumerate(tables["gate"] or [], 1)
    )
    return Job(
        folder,
        read_input(Section(f"{source}: [input]", tables["input"]), folder),
        suite,
        read_store(Section(f"{source}: [store]", tables["store"]), folder),
        compare,
        gates,
        read_report(Section(f"{source}: [report]", tables["report"] or {}), folder, compare),
    )


def read_input(section: Section, folder: Path) -> Input:
    """Read `[input]`."""
    paths = section.texts("path", "a path or a list of paths", needed=True) or ()
    columns = section.take("columns", dict, "a table of canonical column = source column") or {}
    given = {
        "format": section.take("format", str, "a trace format"),
        "keep": section.texts("keep", "a list of columns"),
        "rows": section.choice("rows", ("outputs", "all")),
    }
    section.finish()
    if not all(isinstance(name, str) for name in columns.values()):
        raise ConfigError(f"{section.where}: `columns` maps names to names, got {columns!r}")
    absolute = [path if "://" in path else str(folder / Path(path).expanduser()) for path in paths]
    return Input(absolute, columns=columns, **{key: value for key, value in given.items() if value})


def read_suite(source: str, entries: Mapping[str, Any], folder: Path) -> Suite:
    """Read `[suite]`: the path of a file, or the suite itself."""
    path = entries.get("path")
    try:
        if path is None:
            check_suite_keys(Section(f"{source}: [suite]", entries))
            return Suite.from_dict(entries, source=f"{source}: [suite]")
        if not isinstance(path, str):
            raise ConfigError(f"{source}: [suite]: `path` must be a file, got {path!r}")
        columns = {key: entries[key] for key in ("output", "expected") if key in entries}
        section = Section(f"{source}: [suite]", entries)
        for key in ("path", "output", "expected"):
            section.take(key, str, "a text")
        section.finish()
        return Suite.load(folder / Path(path).expanduser(), **columns)
    except (OSError, TypeError, ValueError) as error:
        raise ConfigError(str(error)) from None


def check_suite_keys(section: Section) -> None:
    """Refuse an unknown key, unless evaluators of another system stand here with what else it needs."""
    if not section.entries.keys() & {"evaluators", "type"}:
        section.known += ["path", "metric", "output", "expected"]
        for key in section.known:
            section.entries.pop(key, None)
        section.finish()


def read_store(section: Section, folder: Path) -> StoreConfig:
    """Read `[store]`."""
    path = section.take("path", str, "a folder", needed=True)
    if "://" in path:
        raise ConfigError(f"{section.where}: `path` must be a folder of this machine, got {path!r}")
    key = section.texts("key", "a column or a list of columns") or ("trace_id",)
    newest = section.take("newest", str, "the column whose greatest value wins")
    form = section.choice("format", FORMATS) or "delta"
    section.finish()
    if len(set(key)) < len(key):
        raise ConfigError(f"{section.where}: `key` must name each column once, got {list(key)!r}")
    return StoreConfig(folder / Path(path).expanduser(), key, form, newest)


def read_compare(section: Section, suite: Suite) -> dict[str, Any]:
    """Read `[compare]`: the arguments of `compare`."""
    given = {
        "version": section.take("version", str, "the column of versions", needed=True),
        "baseline": section.take("baseline", (str, int, float), "the version to compare with", needed=True),
        "candidate": section.texts("candidate", "a version or a list of versions"),
        "item": section.take("item", str, "the column of test cases"),
        "cluster": section.take("cluster", str, "a column"),
        "by": read_by(section),
        "metrics": section.texts("metrics", "a list of metrics"),
        "min_effect": section.take("min_effect", (int, float), "a number"),
        "alpha": section.take("alpha", (int, float), "a number"),
    }
    section.finish()
    for name in given["metrics"] or ():
        require_metric(section, name, suite)
    for key, check in {"alpha": require_level, "min_effect": require_effect}.items():
        if given[key] is not None:
            section.insist(check, given[key])
    if given["candidate"] is not None:
        given["candidate"] = list(given["candidate"])
    return {key: value for key, value in given.items() if value is not None}


def read_by(section: Section) -> str | list[str | list[str]] | None:
    """Read the slices: columns, lists of columns, or `"auto"`."""
    what = 'a column, a list of columns or of lists of them, or "auto"'
    by: str | list[str | list[str]] | None = section.take("by", (str, list), what)
    groups = by if isinstance(by, list) else []
    if not all(
        isinstance(g, str) or (isinstance(g, list) and all(isinstance(n, str) for n in g)) for g in groups
    ):
        raise ConfigError(f"{section.where}: `by` must be {what}, got {by!r}")
    return by


def read_gate(section: Section, suite: Suite, compare: Mapping[str, Any] | None) -> Gate:
    """Read a `[[gate]]`: one rule, about one metric or all."""
    metric = section.take("metric", str, "a metric of the suite")
    by = section.take("by", str, "a column of [compare] by")
    rate = section.take("min_pass_rate", (int, float), "a number from 0 to 1")
    fail_on = section.texts("fail_on", f"one or more of {', '.join(VERDICTS)}") or ()
    items = section.take("must_not_flip", list, "a list of items")
    section.finish()
    if not all(isinstance(item, str | int | float) for item in items or ()):
        raise ConfigError(f"{section.where}: `must_not_flip` must be a list of items, got {items!r}")
    if metric is not None:
        require_metric(section, metric, suite)
    if sum(given is not None and given != () for given in (rate, fail_on, items)) != 1:
        raise ConfigError(f"{section.where}: a gate has one of {', '.join(RULES)}")
    if rate is not None and not 0 <= rate <= 1:
        raise ConfigError(f"{section.where}: `min_pass_rate` must be a number from 0 to 1, got {rate!r}")
    for verdict in fail_on:
        if verdict not in VERDICTS:
            raise ConfigError(
                f'{section.where}: `fail_on` knows {", ".join(VERDICTS)}, not "{verdict}"'
                f"{did_you_mean(verdict, VERDICTS)}"
            )
    if compare is None and (fail_on or items or by):
        raise ConfigError(f"{section.where}: needs a section [compare]")
    if items is not None and "item" not in (compare or {}):
        raise ConfigError(f"{section.where}: `must_not_flip` needs `item` in [compare]")
    if items is not None and by is not None:
        raise ConfigError(f"{section.where}: `must_not_flip` names items; leave out `by`")
    slices = (compare or {}).get("by") or []
    if by is not None and slices != "auto" and by not in ([slices] if isinstance(slices, str) else slices):
        raise ConfigError(f'{section.where}: "{by}" is not in [compare] by')
    return Gate(metric, by, rate, fail_on, tuple(map(str, items or ())))


def require_metric(section: Section, name: str, suite: Suite) -> None:
    """Insist that the suite has a metric."""
    names = [str(one.name) for one in suite.metrics]
    if name not in names:
        hint = did_you_mean(name, names) or f"; the suite has {', '.join(names)}"
        raise ConfigError(f'{section.where}: unknown metric "{name}"{hint}')


def read_report(section: Section, folder: Path, compare: Mapping[str, Any] | None) -> Report:
    """Read `[report]`."""
    paths = {key: section.take(key, str, "a file") for key in ("html", "junit", "summary", "markdown")}
    time = section.take("time", str, "the column of times")
    every = section.take("every", str, "a length of time")
    section.finish()
    if paths["html"] and compare is None:
        raise ConfigError(f"{section.where}: `html` is the page of a comparison: it needs [compare]")
    if time and not paths["html"]:
        raise ConfigError(f"{section.where}: `time` is shown in the page; name it with `html`")
    if every and not time:
        raise ConfigError(f"{section.where}: `every` needs `time`, the column of times")
    if paths["html"]:
        require_pages(section.where)
    if every:
        section.insist(check_length, every, pl.Schema({"time": pl.Datetime("us")}), "time")
    given = {key: folder / Path(path).expanduser() for key, path in paths.items() if path}
    for key, file in given.items():
        if file.is_dir():
            raise ConfigError(f"{section.where}: `{key}` must be a file, but {str(file)!r} is a folder")
    return Report(**given, time=time, every=every or Report.every)


def require_pages(where: str) -> None:
    """Insist on what report pages need, before any work is done for them."""
    try:
        import polars_evals.report  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"{where}: {error}") from None
