"""The job file: read, checked, and with paths that no longer depend on where the command runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import polars as pl

from polars_evals._errors import ConfigError
from polars_evals.drift import ComparisonSpec
from polars_evals.drift.timeline import check_length
from polars_evals.jobs.alerts import Alert, read_alert
from polars_evals.jobs.asked import DAY, names_of, read_compare, read_timeline
from polars_evals.jobs.inputs import Input
from polars_evals.jobs.retention import Retention, read_retention
from polars_evals.jobs.rules import Context, Gate, read_gate
from polars_evals.jobs.section import Section
from polars_evals.storage.objects import Address, is_remote
from polars_evals.storage.paths import is_inside_of
from polars_evals.storage.secrets import Options, keep_secrets
from polars_evals.suite import Suite
from polars_evals.suite.files import parse_toml
from polars_evals.suite.measure import AUTO, KNOWN
from polars_evals.traces.rows import Rows

SECTIONS = (
    *("storage_options", "input", "suite", "store", "compare", "timeline", "gate", "report", "alert"),
)
FILES = ("html", "junit", "summary", "markdown", "items")
# What has its place in another section, whose result the page shows.
TIMELINE = ("version", "by", "cluster", "metrics", "reference", "min_effect", "alpha")


@dataclass(frozen=True)
class StoreConfig:
    """Where the scores are kept."""

    path: str
    key: tuple[str, ...] = ("trace_id",)
    newest: str | None = None
    storage_options: Options | None = None
    retention: Retention | None = None


@dataclass(frozen=True)
class Report:
    """The files to write; the page follows the scores over time if it is told by which column."""

    html: str | None = None
    junit: str | None = None
    summary: str | None = None
    markdown: str | None = None
    items: str | None = None
    time: str | None = None
    every: str = DAY
    storage_options: Options | None = None

    @property
    def files(self) -> dict[str, str]:
        """The files to write, by kind."""
        named = {kind: getattr(self, kind) for kind in FILES}
        return {kind: file for kind, file in named.items() if file is not None}


@dataclass(frozen=True)
class Job:
    """A scheduled job, as `job.toml` describes it."""

    folder: Path
    input: Input
    suite: Suite
    store: StoreConfig
    compare: ComparisonSpec | None = None
    gates: tuple[Gate, ...] = ()
    report: Report = field(default_factory=Report)
    timeline: Mapping[str, Any] | None = None
    alert: Alert | None = None
    # Versions that are not compared, and whether the newest of the others is the only candidate.
    ignore: tuple[str, ...] = ()
    newest: bool = False
    name: str = "job"

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
            config = parse_toml(path.read_text("utf-8-sig"))
        except RecursionError:
            raise ConfigError(f"{path}: it is nested too deeply") from None
        except FileNotFoundError:
            raise ConfigError(f"no such job file: {str(path)!r}") from None
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: {error}") from None
        return read_job(Section(str(path), config), path.parent.resolve())


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
    ignore, newest = tuple[str, ...](), False
    if compare is not None:
        ignore, newest = read_choice(f"{source}: [compare]", compare)
        compare = read_compare(Section(f"{source}: [compare]", compare), suite)
    timeline = tables["timeline"]
    if timeline is not None:
        timeline = read_timeline(Section(f"{source}: [timeline]", timeline), suite)
    followed = None if timeline is None else timeline["measures"]
    names = tuple(KNOWN) if followed == AUTO else tuple(followed or ())
    context = Context(names_of(suite), compare, timeline is not None, names)
    gates = tuple(
        read_gate(Section(f"{source}: [[gate]] {number}", entry), context)
        for number, entry in enumerate(tables["gate"] or [], 1)
    )
    shared = tables["storage_options"] or {}
    options = {
        name: options_of(Section(f"{source}: [{name}]", tables[name] or {}), shared)
        for name in ("input", "store", "report")
    }
    store = read_store(Section(f"{source}: [store]", tables["store"]), folder, options["store"], compare)
    report = read_report(
        Section(f"{source}: [report]", tables["report"] or {}),
        folder,
        compare,
        options["report"],
        has_timeline=timeline is not None,
    )
    own = {str(Path(source).resolve()): "the job file"}
    if isinstance(tables["suite"].get("path"), str):
        own[str((folder / Path(tables["suite"]["path"]).expanduser()).resolve())] = "the suite"
    for kind, file in report.files.items():
        if not is_remote(file) and (taken := own.get(str(Path(file).resolve()))):
            raise ConfigError(f"{source}: [report]: `{kind}` would overwrite {taken}; name another file")
        if is_inside_of(store.path)(file):
            raise ConfigError(f"{source}: [report]: `{kind}` is inside the store; name another folder")
    return Job(
        folder,
        read_input(Section(f"{source}: [input]", tables["input"]), folder, options["input"]),
        suite,
        store,
        compare,
        gates,
        report,
        timeline,
        None
        if tables["alert"] is None
        else read_alert(Section(f"{source}: [alert]", tables["alert"]), folder),
        ignore,
        newest,
        Path(source).stem,
    )


def read_choice(where: str, entries: dict[str, Any]) -> tuple[tuple[str, ...], bool]:
    """Take from `[compare]` which versions are candidates: `ignore`, and `candidate = "newest"`."""
    ignore = Section(where, {"ignore": entries.pop("ignore", None)}).texts(
        "ignore", "a version or a list of versions"
    )
    newest = entries.get("candidate") == "newest"
    if newest:
        del entries["candidate"]
    return ignore or (), newest


def options_of(section: Section, shared: Mapping[str, Any]) -> Options | None:
    """Read the options of a section's object store: its own, and those that stand for all sections."""
    own = section.take("storage_options", dict, "a table of options") or {}
    return read_options(section, {**shared, **own}) or None


def read_options(section: Section, entries: Mapping[str, Any] | None) -> Options:
    """Read options: each is a text, or `{env = "NAME"}` for a variable of the environment."""
    values = dict[str, str]()
    for name, given in (entries or {}).items():
        if isinstance(given, Mapping):
            variable = given.get("env")
            if list(given) != ["env"] or not isinstance(variable, str):
                raise ConfigError(f'{section.where}: `{name}` must be a text or {{ env = "NAME" }}')
            if variable not in os.environ:
                raise ConfigError(
                    f"{section.where}: `{name}` names the variable {variable}, which is not set"
                )
            # Whoever takes a value from the environment means it to be a secret.
            values[name] = os.environ[variable]
            keep_secrets({"secret": values[name]})
        elif isinstance(given, str | int | bool):
            values[name] = str(given).lower() if isinstance(given, bool) else str(given)
        else:
            raise ConfigError(f'{section.where}: `{name}` must be a text or {{ env = "NAME" }}')
    return Options(values)


def located(path: str, folder: Path) -> str:
    """Return a path that no longer depends on where the command runs; an address stays as it is."""
    return path if is_remote(path) else str(folder / Path(path).expanduser())


def read_input(section: Section, folder: Path, options: Options | None) -> Input:
    """Read `[input]`."""
    section.take("storage_options", dict, "a table of options")
    paths = section.texts("path", "a path or a list of paths", needed=True) or ()
    columns = section.take("columns", dict, "a table of canonical column = source column") or {}
    given = {
        "format": section.take("format", str, "a trace format"),
        "keep": section.texts("keep", "a list of columns"),
        "rows": section.choice("rows", get_args(Rows)),
        "allow_empty": section.take("allow_empty", bool, "true or false"),
    }
    section.finish()
    if not all(isinstance(name, str) for name in columns.values()):
        raise ConfigError(f"{section.where}: `columns` maps names to names, got {columns!r}")
    absolute = [located(path, folder) for path in paths]
    return Input(
        absolute,
        columns=columns,
        storage_options=options,
        **{key: value for key, value in given.items() if value},
    )


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
        section.known += ["path", "metric", "measure", "output", "expected"]
        for key in section.known:
            section.entries.pop(key, None)
        section.finish()


def read_store(
    section: Section, folder: Path, options: Options | None, compare: ComparisonSpec | None
) -> StoreConfig:
    """Read `[store]`."""
    section.take("storage_options", dict, "a table of options")
    path = section.take("path", str, "a folder", needed=True)
    if is_remote(path):
        section.insist(Address.of, path)
    key = section.texts("key", "a column or a list of columns") or ("trace_id",)
    newest = section.take("newest", str, "the column whose greatest value wins")
    if section.take("format", str, '"delta"') not in (None, "delta"):
        raise ConfigError(
            f"{section.where}: a store is a Delta table: leave out `format`, and another folder as `path` "
            "if this one holds plain Parquet files; the next run scores all inputs into it"
        )
    retention = read_retention(section, compare)
    section.finish()
    if len(set(key)) < len(key):
        raise ConfigError(f"{section.where}: `key` must name each column once, got {list(key)!r}")
    return StoreConfig(located(path, folder).rstrip("/") or "/", key, newest, options, retention)


def read_report(
    section: Section,
    folder: Path,
    compare: ComparisonSpec | None,
    options: Options | None,
    *,
    has_timeline: bool = False,
) -> Report:
    """Read `[report]`."""
    section.take("storage_options", dict, "a table of options")
    paths = {key: section.take(key, str, "a file") for key in FILES}
    time = section.take("time", str, "the column of times")
    every = section.take("every", str, "a length of time")
    for key in section.entries:
        if key in TIMELINE:
            raise ConfigError(
                f"{section.where}: `{key}` belongs to [timeline] or [compare], which the page shows"
            )
    section.finish()
    if paths["html"] and compare is None and not has_timeline:
        raise ConfigError(
            f"{section.where}: `html` is the page of a comparison: it needs [compare], or [timeline] for a "
            "page over time"
        )
    if paths["items"] and (compare is None or compare.item is None):
        raise ConfigError(f"{section.where}: `items` holds what newly fails: it needs `item` in [compare]")
    if paths["items"] and not paths["items"].lower().endswith((".parquet", ".csv")):
        raise ConfigError(f"{section.where}: `items` must end in .parquet or .csv, got {paths['items']!r}")
    if time and not paths["html"]:
        raise ConfigError(f"{section.where}: `time` is shown in the page; name it with `html`")
    if every and not time:
        raise ConfigError(f"{section.where}: `every` needs `time`, the column of times")
    if every:
        section.insist(check_length, every, pl.Schema({"time": pl.Datetime("us")}), "time")
    given = {key: located(path, folder) for key, path in paths.items() if path}
    check_files(section, given)
    return Report(**given, time=time, every=every or Report.every, storage_options=options)


def check_files(section: Section, files: Mapping[str, str]) -> None:
    """Insist that every report has a file of its own."""
    for key, file in files.items():
        if (first := next(one for one in files if files[one] == file)) != key:
            raise ConfigError(f"{section.where}: `{first}` and `{key}` are the same file, {file!r}")
        if not is_remote(file) and Path(file).is_dir():
            raise ConfigError(f"{section.where}: `{key}` must be a file, but {file!r} is a folder")


def require_pages(where: str) -> None:
    """Insist on what report pages need, before any work is done for them."""
    try:
        import polars_evals.report  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"{where}: {error}") from None
