"""Suite files: TOML, YAML and JSON, and the evaluators of other systems."""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from math import inf, isinf
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field, PlainValidator, ValidationInfo

from polars_evals.clean import read_steps
from polars_evals.suite.aggregate import Aggregate, aggregates_of
from polars_evals.suite.config_tables import ConfigTable, Text, mapping, read_table
from polars_evals.suite.measure import Measure, measures_of
from polars_evals.suite.metric import (
    Metric,
    accepts,
    custom_type,
    find_custom,
    is_text,
    metric_names,
    metric_type,
    read_literal,
)
from polars_evals.wording import did_you_mean, shown

# What other systems call our metrics and their options.
EVALUATORS = {"response_evaluator": "response"}
EVALUATOR_OPTIONS = {"response_evaluator": {"similarity_threshold": "threshold"}}

COLUMNS = ("output", "expected")

# A few lines of YAML can stand for more than any memory holds: aliases of aliases of aliases.
LARGEST_REPETITION = 1_000_000


def read_file(path: str | Path) -> object:
    """Read a file by its ending."""
    path = Path(path)
    parse, _ = _format_of(path)
    try:
        return parse(path.read_text("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text: {error}") from None
    except RecursionError:
        raise ValueError(f"{path}: nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _parse_json(text: str) -> object:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if (key := repeated(key for key, _ in items)) is not None:
            raise ValueError(f'the key "{key}" is given twice')
        return dict(items)

    parsed = json.loads(text, object_pairs_hook=pairs)
    _check_text(json.dumps(parsed, ensure_ascii=False))
    return parsed


def _parse_yaml(text: str) -> object:
    """Parse YAML into plain values; a key given twice is an error here too."""
    import yaml

    sizes: dict[int, int] = {}
    written: list[int] = []
    entered: set[int] = set()

    def size(node: yaml.Node) -> int:
        """Count the characters of a node and of all that its aliases stand for."""
        this = id(node)
        if this not in sizes:
            if this in entered:
                raise ValueError(f"line {node.start_mark.line + 1}: an alias refers to itself")
            entered.add(this)
            written.append(1 + len(node.value) if isinstance(node, yaml.ScalarNode) else 1)
            sizes[this] = written[-1] + sum(map(size, parts(node)))
        return sizes[this]

    def parts(node: yaml.Node) -> Iterable[yaml.Node]:
        """Return what a node is made of, checked."""
        if isinstance(node, yaml.ScalarNode):
            _check_text(node.value)
            return ()
        if isinstance(node, yaml.SequenceNode):
            return list[yaml.Node](node.value)
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        key = repeated(key.value for key in keys if key.tag != "tag:yaml.org,2002:merge")
        if key is not None:
            raise ValueError(f'line {node.start_mark.line + 1}: the key "{key}" is given twice')
        return chain.from_iterable(node.value)

    try:
        node = yaml.compose(text, yaml.SafeLoader)
        if node is not None and size(node) - sum(written) > LARGEST_REPETITION:
            raise ValueError(
                f"its aliases repeat more than {LARGEST_REPETITION:,} characters; write the values out"
            )
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None


def parse_toml(text: str) -> dict[str, Any]:
    """Read TOML; a path of Windows in double quotes gets a hint."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        is_escape = re.search(r"Unescaped|hex value", str(error))
        hint = r"; write a path of Windows in single quotes: 'C:\traces'" if is_escape else ""
        raise ValueError(f"{error}{hint}") from None


def repeated(keys: Iterable[str]) -> str | None:
    """Find a key that is given twice."""
    seen: set[str] = set()
    for key in keys:
        _check_text(key)
        if key in seen:
            return key
        seen.add(key)
    return None


def _check_text(text: str) -> None:
    """Refuse what escapes can write in JSON and YAML, but UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"a lone surrogate, {text[error.start]!r}, is not a character") from None


def write_file(contents: Mapping[str, Any], path: str | Path) -> None:
    """Write the contents of a suite file by its ending."""
    path = Path(path)
    _, write = _format_of(path)
    for entry in contents["metric"]:
        for key, value in entry.items():
            try:
                json.dumps(value)
            except TypeError:
                raise ValueError(
                    f'{path}: the metric "{entry["name"]}" cannot be written: `{key}` is {shown(value)}, '
                    "which is not a text, number, list or table"
                ) from None
        if find_custom(entry["type"]) is None and entry["type"] not in metric_names():
            raise ValueError(
                f'{path}: the metric "{entry["name"]}" is a function without a name; name it with '
                "@pe.metric, or install it as an entry point"
            )
    # Columns that are called as usual need not be named.
    entries = [{k: v for k, v in entry.items() if k not in COLUMNS or v != k} for entry in contents["metric"]]
    contents = {**contents, "metric": entries}
    path.write_text(write(_plain(contents)), "utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(below) for key, below in value.items()}
    return [_plain(below) for below in value] if isinstance(value, list | tuple) else value


def _write_yaml(contents: Mapping[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(dict(contents), sort_keys=False, allow_unicode=True)


def to_toml(contents: Mapping[str, Any]) -> str:
    """Write TOML: lists of tables as `[[metric]]`, everything below in line. None is the word "none"."""
    lines: list[str] = []
    for key, value in contents.items():
        if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
            for table in value:
                entries = [f"{_toml_key(name)} = {toml_value(below)}" for name, below in table.items()]
                lines += ["", f"[[{_toml_key(key)}]]", *entries]
        else:
            lines.append(f"{_toml_key(key)} = {toml_value(value)}")
    return "\n".join(lines).lstrip("\n") + "\n"


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def toml_value(value: Any) -> str:
    """Write a value in line."""
    if value is None or isinstance(value, bool):
        return '"none"' if value is None else str(value).lower()
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_toml_key(key)} = {toml_value(below)}' for key, below in value.items())}}}"
    if isinstance(value, list):
        # Only bounds of a measure hold None: there is none, below or above.
        ends = [(-inf if place == 0 else inf) if one is None else one for place, one in enumerate(value)]
        return "[" + ", ".join(map(toml_value, ends)) + "]"
    if isinstance(value, float) and isinf(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, str) and "\\" in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    # JSON's escapes are TOML's; TOML also forbids U+007F as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _write_json(contents: Mapping[str, Any]) -> str:
    return json.dumps(contents, indent=2, ensure_ascii=False) + "\n"


def _format_of(path: Path) -> tuple[Callable[[str], object], Callable[[Mapping[str, Any]], str]]:
    """Return how to read and write a file, by its ending."""
    match path.suffix.lower():
        case ".toml":
            return parse_toml, to_toml
        case ".yaml" | ".yml":
            return _parse_yaml, _write_yaml
        case ".json":
            return _parse_json, _write_json
    raise ValueError(f"{path}: a suite file ends in .toml, .yaml, .yml or .json")


def _as_metric(entry: object) -> Metric:
    options = mapping(entry)
    return _make_metric(options.pop("type", None), options)


def _as_measure(entry: object) -> Measure:
    """Make a measure of the name of a column, or of a table with its options beside it."""
    options = {"name": entry} if isinstance(entry, str) else mapping(entry)
    name = options.pop("name", None)
    if not is_text(name):
        raise ValueError(f"`name` must be the name of a column, got {shown(name)}")
    try:
        return measures_of({name: options})[str(name)]
    except (TypeError, ValueError) as error:
        raise ValueError(str(error).removeprefix(f"measure {name!r}: ")) from None


def _as_aggregate(entry: object) -> Aggregate:
    try:
        return aggregates_of(entry if isinstance(entry, str) else mapping(entry))[0]
    except TypeError as error:
        raise ValueError(error) from None


def _as_evaluator(entry: object) -> Metric | None:
    """Make a metric of an evaluator of another system, or nothing if it is switched off."""
    try:
        evaluator = read_table(Evaluator, entry, "")
    except ValueError as error:
        raise ValueError(str(error).removeprefix(": ")) from None
    return evaluator.metric if evaluator.enabled else None


def _as_list(entries: object, info: ValidationInfo) -> list[Any] | None:
    if not isinstance(entries, list) or not entries:
        toml = f"; in TOML write [[{info.field_name}]]" if isinstance(entries, Mapping) else ""
        raise ValueError(
            f"a suite holds a list of metrics under `{info.field_name}`, got {shown(entries)}{toml}"
        )
    return entries


def _as_steps(steps: object, info: ValidationInfo) -> object:
    """Check the steps of cleaning; `clean_expected` may say that they are those of the output."""
    if not isinstance(steps, bool | None):
        read_steps(str(info.field_name), steps)
    return steps


Metrics = Annotated[list[Annotated[Metric, PlainValidator(_as_metric)]], BeforeValidator(_as_list)]
MeasureList = Annotated[list[Annotated[Measure, PlainValidator(_as_measure)]], BeforeValidator(_as_list)]
Aggregates = Annotated[list[Annotated[Aggregate, PlainValidator(_as_aggregate)]], BeforeValidator(_as_list)]
Evaluated = Annotated[list[Annotated[Any, PlainValidator(_as_evaluator)]], BeforeValidator(_as_list)]
Steps = Annotated[Any, PlainValidator(_as_steps)]


class SuiteTable(ConfigTable):
    """What a suite file holds."""

    keys_are: ClassVar[str] = "a suite has"

    metric: Metrics = Field(default_factory=list)
    measure: MeasureList = Field(default_factory=list)
    aggregate: Aggregates = Field(default_factory=list)
    output: Text | None = Field(None, description="the name of a column")
    expected: Text | dict[str, Any] | None = Field(None, description="the name of a column")
    clean: Steps = None
    clean_expected: Steps = None


class ForeignTable(ConfigTable):
    """A file of another system with its evaluators; the rest is its own: providers, datasets, reports."""

    model_config = ConfigDict(extra="ignore")

    evaluators: Evaluated
    output: Text | None = Field(None, description="the name of a column")
    expected: Text | dict[str, Any] | None = Field(None, description="the name of a column")


class Evaluator(ConfigTable):
    """An evaluator of another system."""

    keys_are: ClassVar[str] = "an evaluator has"

    type: Any = None
    name: Any = None
    enabled: bool = Field(True, description="true or false")
    config: Any = None

    @property
    def metric(self) -> Metric:
        """The metric that it is here."""
        kind = self.type
        names = EVALUATOR_OPTIONS.get(str(kind), {})
        try:
            config = mapping({} if self.config is None else self.config)
        except ValueError as error:
            raise ValueError(f"config: {error}") from None
        if names:
            _check_evaluator_options(str(kind), config)
        options = {names.get(option, option): value for option, value in config.items()}
        if len(options) < len(config):
            raise ValueError(f"an option is given under two names: {', '.join(config)}")
        if self.name is not None:
            options["name"] = self.name
        return _make_metric(EVALUATORS.get(str(kind), kind), options, off="; `enabled: false` leaves it out")


def read_suite(config: object, source: str) -> dict[str, Any]:
    """Read the arguments of `Suite`: its metrics, and what else a file says."""
    if isinstance(config, list) or (
        isinstance(config, Mapping) and "type" in config and "metric" not in config
    ):
        config = {"evaluators": config if isinstance(config, list) else [config]}
    if not isinstance(config, Mapping):
        raise ValueError(f"{source}: a suite holds a list of metrics under `metric`, got {shown(config)}")
    table: SuiteTable | ForeignTable
    if "evaluators" in config and "metric" not in config:
        table = read_table(ForeignTable, config, source)
        found: dict[str, Any] = {"metrics": [metric for metric in table.evaluators if metric is not None]}
    else:
        table = read_table(SuiteTable, config, source)
        if not table.metric and not table.aggregate:
            raise ValueError(f"{source}: a suite holds a list of metrics under `metric`, got None")
        found = {"metrics": table.metric, "clean": table.clean, "clean_expected": table.clean_expected}
        found |= {"measures": table.measure, "aggregates": table.aggregate}
    literal = read_literal(source, table.expected)
    given = {"output": table.output, "expected": table.expected if literal is None else literal}
    return found | {key: value for key, value in given.items() if value is not None}


def _check_evaluator_options(kind: str, config: Mapping[str, Any]) -> None:
    """Refuse an option that neither system knows, in the other system's words."""
    names, options = EVALUATOR_OPTIONS[kind], metric_type(EVALUATORS[kind]).option_names
    known = [*names, *(option for option in options if option not in names.values())]
    for option in config:
        if option not in (*known, *options):
            hint = did_you_mean(option, known) or f"; {kind} takes {', '.join(known)}"
            raise ValueError(f'unknown option "{option}"{hint}')


def _make_metric(kind: object, options: dict[str, Any], off: str = "") -> Metric:
    if kind is None:
        raise ValueError(f"the `type` is missing; use one of {', '.join(metric_names())}")
    try:
        custom = find_custom(str(kind))
        parameters = (metric_type(str(kind)) if custom is None else custom_type(custom)).options
    except ValueError as error:
        raise ValueError(f"{error}{off}") from None
    for option, value in options.items():
        # TOML has no null.
        if value == "none" and option in parameters:
            annotation = parameters[option].annotation
            if accepts(annotation, type(None)) and not accepts(annotation, str):
                options[option] = None
    try:
        return Metric(str(kind), **options)
    except (TypeError, ValueError) as error:
        raise ValueError(str(error).removeprefix(f"{kind}: ")) from None
