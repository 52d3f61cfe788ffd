"""The job file: declared, checked, and with paths that no longer depend on where the command runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import polars as pl
from pydantic import AfterValidator, BeforeValidator, Field, InstanceOf, ValidationInfo, model_validator

from polars_evals._errors import ConfigError
from polars_evals.drift import ComparisonSpec
from polars_evals.drift.columns import require_effect, require_level
from polars_evals.drift.timeline import check_length
from polars_evals.jobs.alerts import Alert
from polars_evals.jobs.gates import Context, Gate, require_metric
from polars_evals.jobs.inputs import Input
from polars_evals.jobs.retention import Retention, check_keep
from polars_evals.jobs.rules import read_gate
from polars_evals.storage.objects import Address, is_remote
from polars_evals.storage.paths import is_inside_of
from polars_evals.storage.secrets import Options, from_environment, one_line
from polars_evals.suite import Suite
from polars_evals.suite.aggregate import Aggregate
from polars_evals.suite.config_tables import ConfigTable, Text, Texts, read_table
from polars_evals.suite.files import Aggregates, parse_toml
from polars_evals.suite.measure import AUTO, KNOWN, Measures, measures_of
from polars_evals.traces.dataset import Dataset, scan_dataset
from polars_evals.traces.rows import Rows
from polars_evals.wording import did_you_mean, listed, shown

T = TypeVar("T")
TableT = TypeVar("TableT", bound=ConfigTable)

FILES = ("html", "junit", "summary", "markdown", "items")
# The length of windows, where none is given.
DAY = "1d"


def located(path: str, folder: Path) -> str:
    """Return a path that does not depend on the current folder; an address stays as it is."""
    return path if is_remote(path) else str(folder / Path(path).expanduser())


def _located(path: str, info: ValidationInfo) -> str:
    return located(path, info.context or Path())


def _read_options(entries: object) -> Options:
    """Read the options of an object store: each is a text, or `{env = "NAME"}`."""
    if not isinstance(entries, Mapping):
        raise ValueError(f"`storage_options` must be a table of options, got {shown(entries)}")
    values = dict[str, str]()
    for name, given in entries.items():
        value = from_environment(name, given) if isinstance(given, Mapping) else given
        if not isinstance(value, str | int | bool):
            raise ValueError(f'`{name}` must be a text or {{ env = "NAME" }}')
        values[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return Options(values)


def _by(value: object) -> object:
    groups = value if isinstance(value, list) else [value]
    for group in groups:
        names = group if isinstance(group, list) else [group]
        if not names or not all(isinstance(name, str) for name in names):
            raise ValueError(
                f'`by` must be a column, a list of columns or of lists of them, or "auto", got {shown(value)}'
            )
    return value


def _length(every: str) -> str:
    check_length(every, pl.Schema({"time": pl.Datetime("us")}), "time")
    return every


Place = Annotated[Text, AfterValidator(_located)]
Places = Annotated[Texts, AfterValidator(lambda paths, info: tuple(_located(one, info) for one in paths))]
StorageOptions = Annotated[InstanceOf[Options] | None, BeforeValidator(_read_options)]
Slices = Annotated[Any, BeforeValidator(_by)]
Length = Annotated[str, AfterValidator(_length)]
Column = Field(default=None, description="a column")
Names = Field(default=None, description="a list of metrics")
MEASURES = Field(
    default=None, description="a column, a list of columns, or a table of columns and their options"
)
REPORT_FILE = Field(default=None, description="a file")


class DatasetTable(ConfigTable):
    """`[input.dataset]`: the reference answers."""

    path: Place = Field(description="a file of expected values")
    on: Text = Field(default="item_id", description="the column that the file shares with the traces")
    expected: Text = Field(default="expected", description="the column of expected values")

    def dataset(self) -> Dataset:
        """Return the dataset, which must be there and have the columns."""
        try:
            schema = scan_dataset(self.path).collect_schema()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise ConfigError(f"[input.dataset]: {self.path!r} cannot be read: {one_line(error)}") from None
        for key in ("on", "expected"):
            if (name := getattr(self, key)) not in schema:
                raise ConfigError(
                    f"[input.dataset]: `{key}` names the column {name!r}, which {self.path!r} does not have"
                    f"{did_you_mean(name, schema) or f'; it has {listed(list(schema))}'}"
                )
        return Dataset(self.path, self.on, self.expected)


class InputTable(ConfigTable):
    """`[input]`."""

    path: Places = Field(description="a path or a list of paths")
    format: Text | None = Field(default=None, description="a trace format")
    columns: dict[str, str] | None = Field(
        default=None, description="a table of canonical column = source column"
    )
    keep: Texts | None = Field(default=None, description="a list of columns")
    rows: Rows | None = None
    allow_empty: bool = Field(default=False, description="true or false")
    dataset: DatasetTable | None = Field(default=None, description="a section [input.dataset]")
    storage_options: StorageOptions = None


class SuiteFile(ConfigTable):
    """`[suite]` with the path of a file."""

    path: Place = Field(description="a file")
    output: Text | None = Field(default=None, description="a text")
    expected: Text | None = Field(default=None, description="a text")


class StoreConfig(ConfigTable):
    """`[store]`: where the scores are kept, and how long."""

    path: Annotated[Place, AfterValidator(lambda path: path.rstrip("/") or "/")] = Field(
        description="a folder"
    )
    key: Texts = Field(default=("trace_id",), description="a column or a list of columns")
    newest: Text | None = Field(default=None, description="the column whose greatest value wins")
    format: str | None = Field(default=None, description='"delta"')
    keep: str | None = Field(default=None, description='a length of time, such as "90d"')
    time: Text | None = Field(default=None, description="the column of times by which rows are kept")
    keep_baseline: bool | None = Field(default=None, description="true or false")
    storage_options: StorageOptions = None

    @model_validator(mode="after")
    def check(self) -> Self:
        """Check what belongs together."""
        if is_remote(self.path):
            Address.of(self.path)
        if self.format not in (None, "delta"):
            raise ValueError(
                "a store is a Delta table: leave out `format`; if the folder holds plain Parquet files, "
                "name another folder as `path`, and the next run scores all inputs into it"
            )
        if len(set(self.key)) < len(self.key):
            raise ValueError(f"`key` must name each column once, got {list(self.key)!r}")
        for name in ("time", "keep_baseline"):
            if getattr(self, name) is not None and self.keep is None:
                raise ValueError(f"`{name}` needs `keep`, how long rows stay")
        if self.keep is not None:
            check_keep(self.keep)
        return self


class CompareTable(ConfigTable):
    """`[compare]`: the arguments of `compare`, and which versions are candidates."""

    version: Text = Field(description="the column of versions")
    baseline: str | int | float = Field(description="the version to compare with")
    candidate: Texts | None = Field(default=None, description='a version, a list of versions, or "newest"')
    ignore: Texts = Field(default=(), description="a version or a list of versions")
    item: Text | None = Field(default=None, description="the column of test cases")
    cluster: Text | None = Column
    by: Slices = None
    metrics: Texts | None = Names
    measures: str | list[str] | dict[str, Any] | None = MEASURES
    aggregates: Texts | None = Field(default=None, description="a list of aggregates")
    truth: str | dict[str, str] | None = Field(default=None, description="a column of people's labels")
    adjust: Texts | None = Field(default=None, description="a list of columns")
    unanswered: Literal["auto", "apart", "wrong"] | None = None
    min_effect: float | None = Field(default=None, description="a number")
    alpha: float | None = Field(default=None, description="a number")
    margin: float | None = Field(default=None, description="a number above 0")

    def spec(self, suite: Suite, aggregates: Sequence[Aggregate]) -> ComparisonSpec:
        """Return what to compare: the metrics and aggregates of the suite, and those that the job adds."""
        given = self.model_dump(exclude={"ignore", "aggregates"}, exclude_none=True)
        if self.is_newest:
            del given["candidate"]
        made = [*suite.aggregates, *(self.aggregates or ()), *aggregates]
        return ComparisonSpec(
            **given
            | {
                "metrics": _metrics_of(self.metrics, suite),
                "measures": _measures_in(self.measures, suite),
                "aggregates": made or None,
            }
        )

    @property
    def is_newest(self) -> bool:
        """Whether the newest version is the only candidate."""
        return self.candidate == ("newest",)


class TimelineTable(ConfigTable):
    """`[timeline]`: the arguments of `timeline`."""

    time: Text = Field(description="the column of times")
    every: Length = Field(default=DAY, description="a length of time")
    version: Text | None = Field(default=None, description="the column of versions")
    by: Slices = None
    cluster: Text | None = Column
    metrics: Texts | None = Names
    measures: str | list[str] | dict[str, Any] | None = MEASURES
    reference: int | None = Field(default=None, description="a number of windows")
    min_effect: float | None = Field(default=None, description="a number")
    alpha: float | None = Field(default=None, description="a number")

    def settings(self, suite: Suite) -> dict[str, Any]:
        """Return the arguments of `timeline`, about the metrics of the suite."""
        if self.by == "auto":
            raise ValueError("`by` must name columns; `auto` is for [compare] only")
        for value, check in ((self.alpha, require_level), (self.min_effect, require_effect)):
            if value is not None:
                check(value)
        return self.model_dump(exclude_none=True) | {
            "metrics": list(_metrics_of(self.metrics, suite)),
            "measures": _measures_in(self.measures, suite),
        }


class Report(ConfigTable):
    """`[report]`: the files to write; with `time`, the page also shows scores over time."""

    html: Place | None = REPORT_FILE
    junit: Place | None = REPORT_FILE
    summary: Place | None = REPORT_FILE
    markdown: Place | None = REPORT_FILE
    items: Place | None = REPORT_FILE
    time: Text | None = Field(default=None, description="the column of times")
    every: Length | None = Field(default=None, description="a length of time")
    storage_options: StorageOptions = None

    @model_validator(mode="before")
    @classmethod
    def refuse_timeline(cls, entries: Any) -> Any:
        """Name the section of what has its place elsewhere."""
        for key in ("version", "by", "cluster", "metrics", "reference", "min_effect", "alpha"):
            if key in entries:
                raise ValueError(f"`{key}` belongs to [timeline] or [compare], which the page shows")
        return entries

    @model_validator(mode="after")
    def check(self) -> Self:
        """Insist that every report has a file of its own."""
        if self.items and not self.items.lower().endswith((".parquet", ".csv")):
            raise ValueError(f"`items` must end in .parquet or .csv, got {self.items!r}")
        if self.time and not self.html:
            raise ValueError("`time` is shown in the page; name it with `html`")
        if self.every and not self.time:
            raise ValueError("`every` needs `time`, the column of times")
        for key, file in self.files.items():
            if (first := next(one for one in self.files if self.files[one] == file)) != key:
                raise ValueError(f"`{first}` and `{key}` are the same file, {file!r}")
            if not is_remote(file) and Path(file).is_dir():
                raise ValueError(f"`{key}` must be a file, but {file!r} is a folder")
        return self

    @property
    def files(self) -> dict[str, str]:
        """The files to write, by kind."""
        named = {kind: getattr(self, kind) for kind in FILES}
        return {kind: file for kind, file in named.items() if file is not None}


class JobTable(ConfigTable):
    """What a job file holds."""

    storage_options: StorageOptions = None
    input: dict[str, Any] = Field(description="the section [input]")
    suite: dict[str, Any] = Field(description="the section [suite]")
    store: dict[str, Any] = Field(description="the section [store]")
    compare: dict[str, Any] | None = Field(default=None, description="a section [compare]")
    timeline: dict[str, Any] | None = Field(default=None, description="a section [timeline]")
    aggregate: Aggregates = Field(default=[], description="written [[aggregate]], as there may be several")
    gate: list[Any] = Field(default=[], description="written [[gate]], as there may be several")
    report: dict[str, Any] = Field(default={}, description="a section [report]")
    alert: dict[str, Any] | None = Field(default=None, description="a section [alert]")


@dataclass(frozen=True)
class Job:
    """A scheduled job, as `job.toml` describes it."""

    folder: Path
    input: Input
    suite: Suite
    store: StoreConfig
    retention: Retention | None = None
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
        except UnicodeDecodeError:
            raise ConfigError(f"{path}: a job file is TOML in UTF-8, and this file is not UTF-8") from None
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: {error}") from None
        try:
            return _read_job(config, path)
        except (OSError, TypeError, ValueError) as error:
            raise ConfigError(str(error)) from None


def _read_job(config: Mapping[str, Any], path: Path) -> Job:
    """Read all sections."""
    source, folder = str(path), path.parent.resolve()
    tables = read_table(JobTable, config, source)

    def section(kind: type[TableT], name: str) -> TableT:
        entries = getattr(tables, name)
        found = read_table(kind, entries, f"{source}: [{name}]", folder)
        if "storage_options" in kind.model_fields:
            options = Options({**(tables.storage_options or {}), **(found.storage_options or {})})  # type: ignore[attr-defined]
            found = found.model_copy(update={"storage_options": options or None})
        return found

    def arguments(name: str, make: Callable[[], T]) -> T:
        try:
            return make()
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{source}: [{name}]: {error}") from None

    suite = _read_suite(source, tables.suite, folder)
    compare = spec = line = None
    if tables.compare is not None:
        compare = section(CompareTable, "compare")
        spec = arguments("compare", partial(compare.spec, suite, tables.aggregate))
    if tables.timeline is not None:
        line = arguments("timeline", partial(section(TimelineTable, "timeline").settings, suite))
    followed = None if line is None else tuple(KNOWN if line["measures"] == AUTO else line["measures"])
    context = Context(names_of(suite), spec, followed)
    gates = tuple(
        read_gate(entry, f"{source}: [[gate]] {number}", context)
        for number, entry in enumerate(tables.gate, 1)
    )
    store, report = section(StoreConfig, "store"), section(Report, "report")
    given = section(InputTable, "input")
    if store.keep_baseline and spec is None:
        raise ConfigError(f"{source}: [store]: `keep_baseline` needs a section [compare]")
    spared = (spec.version, spec.baseline) if store.keep_baseline and spec is not None else None
    alert = None if tables.alert is None else section(Alert, "alert")
    needed = {
        "the suite": tables.suite.get("path"),
        "the reference answers": given.dataset and given.dataset.path,
        "the command of [alert]": alert and next(iter(alert.command), None),
    }
    _check_reports(report, source, store, needed, folder)
    if report.html and spec is None and line is None:
        raise ConfigError(
            f"{source}: [report]: `html` is the page of a comparison: it needs [compare], or [timeline] for "
            "a page over time"
        )
    if report.items and (spec is None or spec.item is None):
        raise ConfigError(f"{source}: [report]: `items` holds what newly fails: it needs `item` in [compare]")
    return Job(
        folder=folder,
        input=Input(
            **given.model_dump(exclude_none=True, exclude={"dataset", "storage_options"}),
            dataset=None if given.dataset is None else given.dataset.dataset(),
            storage_options=given.storage_options,
        ),
        suite=suite,
        store=store,
        retention=Retention(store.keep, store.time, spared) if store.keep else None,
        compare=spec,
        gates=gates,
        report=report,
        timeline=line,
        alert=alert,
        ignore=compare.ignore if compare else (),
        newest=compare is not None and compare.is_newest,
        name=path.stem,
    )


def _read_suite(source: str, entries: Mapping[str, Any], folder: Path) -> Suite:
    """Read `[suite]`: the path of a file, or the suite itself."""
    where = f"{source}: [suite]"
    if "path" in entries:
        given = read_table(SuiteFile, entries, where, folder)
        return Suite.load(given.path, **given.model_dump(exclude={"path"}, exclude_none=True))
    try:
        return Suite.from_dict(entries, source=where)
    except ValueError as error:
        has_metrics = entries.keys() & {"metric", "evaluators", "type"}
        raise ValueError(f"{error}{'' if has_metrics else '; `path` names a suite file'}") from None


def _check_reports(
    report: Report, source: str, store: StoreConfig, needed: Mapping[str, Any], folder: Path
) -> None:
    """Insist that no report takes the place of what the job needs."""
    needed_files = {str(Path(source).resolve()): "the job file"}
    for what, path in needed.items():
        if isinstance(path, str):
            needed_files[str(Path(located(path, folder)).resolve())] = what
    for kind, file in report.files.items():
        if not is_remote(file) and (taken := needed_files.get(str(Path(file).resolve()))):
            raise ConfigError(f"{source}: [report]: `{kind}` would overwrite {taken}; name another file")
        if is_inside_of(store.path)(file):
            raise ConfigError(f"{source}: [report]: `{kind}` is inside the store; name another folder")


def names_of(suite: Suite) -> tuple[str, ...]:
    """Name the metrics of a suite."""
    return tuple(str(metric.name) for metric in suite.metrics)


def _metrics_of(given: tuple[str, ...] | None, suite: Suite) -> tuple[str, ...]:
    """Return the metrics that are named, which the suite must have, or all."""
    for name in given or ():
        require_metric(name, names_of(suite))
    return given or names_of(suite)


def _measures_in(given: str | list[str] | dict[str, Any] | None, suite: Suite) -> Measures | str:
    """Return the measures that are named; without any, those of the suite."""
    if given is None or given == AUTO:
        return suite.measures if given is None else AUTO
    return measures_of(given, own=suite.measures)
