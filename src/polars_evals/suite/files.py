"""Suite files: TOML, YAML and JSON, and the evaluators of other systems."""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from math import inf, isinf
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from polars_evals.suite.aggregate import Aggregate, aggregates_of
from polars_evals.suite.declared import Table, Text, read
from polars_evals.suite.measure import Measures, measures_of
from polars_evals.suite.metric import (
    Metric,
    accepts,
    find_own,
    is_text,
    metric_names,
    metric_type,
    own_type,
    read_literal,
)
from polars_evals.wording import did_you_mean, shown

# What other systems call our metrics and their options.
EVALUATORS = {"response_evaluator": "response"}
EVALUATOR_OPTIONS = {"response_evaluator": {"similarity_threshold": "threshold"}}

COLUMNS = ("output", "expected")
CLEANING = ("clean", "clean_expected")

# A few lines of YAML can stand for more than any memory holds: aliases of aliases of aliases.
LARGEST_REPETITION = 1_000_000


def read_file(path: str | Path) -> object:
    """Read a file by its ending."""
    path = Path(path)
    parse = PARSERS.get(path.suffix.lower())
    if parse is None:
        raise ValueError(f"{path}: a suite file ends in .toml, .yaml, .yml or .json")
    try:
        return parse(path.read_text("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text: {error}") from None
    except RecursionError:
        raise ValueError(f"{path}: nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def parse_json(text: str) -> object:
    """Parse JSON; a key given twice is an error, not the last one's victory."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if (key := repeated(key for key, _ in items)) is not None:
            raise ValueError(f'the key "{key}" is given twice')
        return dict(items)

    parsed = json.loads(text, object_pairs_hook=pairs)
    check_text(json.dumps(parsed, ensure_ascii=False))
    return parsed


def parse_yaml(text: str) -> object:
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
                raise ValueError(f"line {node.start_mark.line + 1}: an alias stands inside what it names")
            entered.add(this)
            written.append(1 + len(node.value) if isinstance(node, yaml.ScalarNode) else 1)
            sizes[this] = written[-1] + sum(map(size, parts(node)))
        return sizes[this]

    def parts(node: yaml.Node) -> Iterable[yaml.Node]:
        """Return what a node is made of, checked."""
        if isinstance(node, yaml.ScalarNode):
            check_text(node.value)
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
        check_text(key)
        if key in seen:
            return key
        seen.add(key)
    return None


def check_text(text: str) -> None:
    """Refuse what escapes can write in JSON and YAML, but UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"half of a surrogate pair, {text[error.start]!r}, is no character") from None


PARSERS: dict[str, Callable[[str], object]] = {
    ".toml": parse_toml,
    ".yaml": parse_yaml,
    ".yml": parse_yaml,
    ".json": parse_json,
}


def write_file(contents: Mapping[str, Any], path: str | Path) -> None:
    """Write the contents of a suite file by its ending."""
    path = Path(path)
    write = WRITERS.get(path.suffix.lower())
    if write is None:
        raise ValueError(f"{path}: a suite file ends in .toml, .yaml, .yml or .json")
    for entry in contents["metric"]:
        for key, value in entry.items():
            try:
                json.dumps(value)
            except TypeError:
                raise ValueError(
                    f'{path}: the metric "{entry["name"]}" cannot be written: `{key}` is {shown(value)}, '
                    "which is no text, number, list or table"
                ) from None
        if find_own(entry["type"]) is None and entry["type"] not in metric_names():
            raise ValueError(
                f'{path}: the metric "{entry["name"]}" is a function that no name leads to; name it with '
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


def write_yaml(contents: Mapping[str, Any]) -> str:
    """Write YAML in the order of the contents."""
    import yaml

    return yaml.safe_dump(dict(contents), sort_keys=False, allow_unicode=True)


def to_toml(contents: Mapping[str, Any]) -> str:
    """Write TOML: lists of tables as `[[metric]]`, everything below in line. None is the word "none"."""
    lines: list[str] = []
    for key, value in contents.items():
        if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
            for table in value:
                entries = [f"{toml_key(name)} = {toml_value(below)}" for name, below in table.items()]
                lines += ["", f"[[{toml_key(key)}]]", *entries]
        else:
            lines.append(f"{toml_key(key)} = {toml_value(value)}")
    return "\n".join(lines).lstrip("\n") + "\n"


def toml_key(key: str) -> str:
    """Write a key, in quotes where it needs them."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def toml_value(value: Any) -> str:
    """Write a value in line."""
    if value is None or isinstance(value, bool):
        return '"none"' if value is None else str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(key)} = {toml_value(below)}" for key, below in value.items()) + "}"
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


WRITERS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    ".toml": to_toml,
    ".yaml": write_yaml,
    ".yml": write_yaml,
    ".json": lambda contents: json.dumps(contents, indent=2, ensure_ascii=False) + "\n",
}


class SuiteTable(Table):
    """What a suite file holds."""

    keys_are: ClassVar[str] = "a suite has"

    metric: Any = None
    measure: Any = None
    aggregate: Any = None
    output: Text | None = Field(None, description="the name of a column")
    expected: Text | dict[str, Any] | None = Field(None, description="the name of a column")
    clean: Any = None
    clean_expected: Any = None


class Evaluator(Table):
    """An evaluator of another system."""

    keys_are: ClassVar[str] = "an evaluator has"

    type: Any = None
    name: Any = None
    enabled: bool = Field(True, description="true or false")
    config: Any = None


def read_metrics(config: object, source: str) -> tuple[list[Metric], dict[str, Any]]:
    """Read the metrics, and the columns that the suite names."""
    if isinstance(config, list) or (
        isinstance(config, Mapping) and "type" in config and "metric" not in config
    ):
        config = {"evaluators": config if isinstance(config, list) else [config]}
    if not isinstance(config, Mapping):
        raise ValueError(f"{source}: a suite holds a list of metrics under `metric`, got {shown(config)}")
    foreign = "evaluators" in config and "metric" not in config
    # The rest of a file with evaluators is the other system's: providers, datasets, reports.
    own = {key: config[key] for key in COLUMNS if key in config} if foreign else config
    table = read(SuiteTable, own, source)
    columns = {key: value for key in (*COLUMNS, *CLEANING) if (value := getattr(table, key)) is not None}
    if isinstance(table.expected, dict):
        columns["expected"] = read_literal(source, table.expected)
    if foreign:
        evaluators = read_list(config["evaluators"], "evaluators", source)
        found = [
            read_evaluator(entry, place(source, "evaluators", n, entry))
            for n, entry in enumerate(evaluators, 1)
        ]
        return [metric for metric in found if metric], columns
    if table.measure is not None:
        columns["measures"] = read_measures(read_list(table.measure, "measure", source), source)
    if table.aggregate is not None:
        columns["aggregates"] = read_aggregates(read_list(table.aggregate, "aggregate", source), source)
        if table.metric is None:
            return [], columns
    entries = enumerate(read_list(table.metric, "metric", source), 1)
    return [read_metric(entry, place(source, "metric", n, entry)) for n, entry in entries], columns


def read_aggregates(entries: list[Any], source: str) -> tuple[Aggregate, ...]:
    """Read `[[aggregate]]`: its options stand beside its type."""
    found: list[Aggregate] = []
    for number, entry in enumerate(entries, 1):
        where = place(source, "aggregate", number, entry)
        try:
            found += aggregates_of(entry if isinstance(entry, str) else read_mapping(entry, where))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: {error}") from None
    return tuple(found)


def read_measures(entries: list[Any], source: str) -> Measures:
    """Read `[[measure]]`: the name of a column, and its options beside it."""
    found = Measures()
    for number, entry in enumerate(entries, 1):
        where = place(source, "measure", number, entry)
        options = {"name": entry} if isinstance(entry, str) else read_mapping(entry, where)
        name = options.pop("name", None)
        if not is_text(name):
            raise ValueError(f"{where}: `name` must be the name of a column, got {shown(name)}")
        if name in found:
            raise ValueError(f'{where}: the measure "{name}" is given twice')
        try:
            found.update(measures_of({name: options}))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: {str(error).removeprefix(f'measure {name!r}: ')}") from None
    return found


def read_list(entries: object, key: str, source: str) -> list[Any]:
    """Take a list that is not empty."""
    if not isinstance(entries, list) or not entries:
        toml = f"; in TOML write [[{key}]]" if isinstance(entries, Mapping) else ""
        raise ValueError(
            f"{source}: a suite holds a list of metrics under `{key}`, got {shown(entries)}{toml}"
        )
    return entries


def read_metric(entry: object, where: str) -> Metric:
    """Read a metric of a suite file: its options stand beside its type."""
    options = read_mapping(entry, where)
    return make_metric(options.pop("type", None), where, options)


def read_evaluator(entry: object, where: str) -> Metric | None:
    """Read an evaluator of another system, or nothing if it is switched off."""
    evaluator = read(Evaluator, entry, where)
    if not evaluator.enabled:
        return None
    kind = evaluator.type
    names = EVALUATOR_OPTIONS.get(str(kind), {})
    config = read_mapping({} if evaluator.config is None else evaluator.config, f"{where}: config")
    if names:
        check_evaluator_options(str(kind), config, where)
    options = {names.get(option, option): value for option, value in config.items()}
    if len(options) < len(config):
        raise ValueError(f"{where}: an option is given under two names: {', '.join(config)}")
    if evaluator.name is not None:
        options["name"] = evaluator.name
    return make_metric(
        EVALUATORS.get(str(kind), kind), where, options, off="; `enabled: false` leaves it out"
    )


def check_evaluator_options(kind: str, config: Mapping[str, Any], where: str) -> None:
    """Refuse an option that neither system knows, in the other system's words."""
    names, own = EVALUATOR_OPTIONS[kind], metric_type(EVALUATORS[kind]).option_names
    known = [*names, *(option for option in own if option not in names.values())]
    for option in config:
        if option not in (*known, *own):
            hint = did_you_mean(option, known) or f"; {kind} takes {', '.join(known)}"
            raise ValueError(f'{where}: unknown option "{option}"{hint}')


def make_metric(kind: object, where: str, options: dict[str, Any], off: str = "") -> Metric:
    """Make the metric, and say where it stands if it is wrong."""
    if kind is None:
        raise ValueError(f"{where}: the `type` is missing; there are {', '.join(metric_names())}")
    try:
        own = find_own(str(kind))
        parameters = (metric_type(str(kind)) if own is None else own_type(own)).options
    except ValueError as error:
        raise ValueError(f"{where}: {error}{off}") from None
    for option, value in options.items():
        # TOML has no null.
        if value == "none" and option in parameters:
            annotation = parameters[option].annotation
            if accepts(annotation, type(None)) and not accepts(annotation, str):
                options[option] = None
    try:
        return Metric(str(kind), **options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {str(error).removeprefix(f'{kind}: ')}") from None


def read_mapping(entry: object, where: str) -> dict[str, Any]:
    """Take a mapping whose keys are texts."""
    if not isinstance(entry, Mapping) or not all(isinstance(key, str) for key in entry):
        raise ValueError(f"{where}: must be a table of options, got {shown(entry)}")
    return dict(entry)


def place(source: str, key: str, number: int, entry: object) -> str:
    """Say where an entry stands, counted from 1, and what it is called."""
    name = (entry.get("name") or entry.get("type")) if isinstance(entry, Mapping) else None
    return f"{source}: {key}[{number}]" + (f' "{name}"' if is_text(name) else "")
