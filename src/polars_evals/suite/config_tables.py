"""Declared configuration: each table of a suite or job file is a pydantic model, and errors are one line."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from polars_evals.wording import did_you_mean, shown

T = TypeVar("T", bound="ConfigTable")


class ConfigTable(BaseModel):
    """A table of a file. The description of a field completes "must be …" and "is missing; it is …"."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)

    # How the list of all keys begins, where an unknown one resembles none of them.
    keys_are: ClassVar[str] = "there are"


def as_tuple(value: object) -> object:
    """Take a text for a list of one."""
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(as_tuple), Field(min_length=1)]
Fraction = Annotated[float, Field(ge=0, le=1)]


def read_table(kind: type[T], entries: object, where: str, context: object = None) -> T:
    """Read a table; an error names the place, the key, and the nearest right word.

    Validators find `context` in their information.
    """
    try:
        entries = mapping(entries)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    try:
        return kind.model_validate(entries, context=context)
    except ValidationError as refused:
        # What is wrong with the table itself comes before what is wrong inside of an entry.
        errors = sorted(refused.errors(include_url=False), key=lambda error: len(error["loc"]))
    # A misspelt key says more than the one that is missing for it.
    problems = [_explain(kind, dict(error), entries, where) for error in errors]
    raise ValueError(next((text for text in problems if "; did you mean" in text), problems[0]))


def _explain(kind: type[ConfigTable], error: dict[str, Any], entries: Mapping[str, Any], where: str) -> str:
    if not error["loc"]:
        return f"{where}: {error['ctx']['error']}"
    key, *inner = error["loc"]
    keys = {field.alias or name: field for name, field in kind.model_fields.items()}
    if error["type"] == "extra_forbidden" and not inner:
        hint = did_you_mean(key, keys) or f"; {kind.keys_are} {', '.join(keys)}"
        return f'{where}: unknown key "{key}"{hint}'
    field, value = keys[key], entries.get(key)
    nested = _table_of(field.annotation)
    if nested is not None and inner and isinstance(value, Mapping):
        return _explain(nested, error | {"loc": inner}, value, f"{where}: {key}")
    if error["type"] == "missing":
        return f"{where}: `{key}` is missing; it is {_expectation(field)}"
    if error["type"] == "value_error":
        place = f"{key}{_entry_of(value, inner[0])}: " if inner and isinstance(value, list) else ""
        return f"{where}: {place}{error['ctx']['error']}"
    return f"{where}: `{key}` must be {_expectation(field)}, got {shown(value)}{_nearest(field, value)}"


def _entry_of(entries: list[Any], place: int) -> str:
    """Say which entry of a list is meant, counted from 1, and what it is called."""
    entry = entries[place]
    name = (entry.get("name") or entry.get("type")) if isinstance(entry, Mapping) else None
    # A name that UTF-8 cannot write is for the error to show.
    is_name = isinstance(name, str) and not any("\ud800" <= c <= "\udfff" for c in name)
    return f"[{place + 1}]" + (f' "{name}"' if is_name else "")


def mapping(entry: object) -> dict[str, Any]:
    """Take a table of options."""
    if not isinstance(entry, Mapping) or not all(isinstance(key, str) for key in entry):
        raise ValueError(f"must be a table of options, got {shown(entry)}")
    return dict(entry)


def _table_of(annotation: Any) -> type[ConfigTable] | None:
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, ConfigTable):
            return kind
    return None


def _words_of(annotation: Any) -> tuple[str, ...]:
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return tuple(word for part in get_args(annotation) for word in _words_of(part))


def _expectation(field: FieldInfo) -> str:
    return field.description or f"one of {', '.join(_words_of(field.annotation))}"


def _nearest(field: FieldInfo, value: object) -> str:
    """Name the nearest word for the first one that is unknown."""
    words = _words_of(field.annotation)
    unknown = [word for word in (value if isinstance(value, list) else [value]) if word not in words]
    return did_you_mean(unknown[0], words) if words and unknown else ""
