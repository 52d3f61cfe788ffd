"""What is wrong with a JSON value, said in time that does not explode where schemas offer alternatives."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema_rs import Registry, Validator

ADDRESS = "urn:polars-evals:schema"

ALTERNATIVES = ("anyOf", "oneOf")

# Keywords that hold further schemas; the others judge a value by itself.
NESTED = {
    *("$defs", "$ref", "additionalProperties", "allOf", "anyOf", "contains", "definitions", "dependencies"),
    *("dependentSchemas", "else", "if", "items", "not", "oneOf", "patternProperties", "prefixItems"),
    *("properties", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
}
MOST_STEPS = 1000


class Explainer:
    """Finds the first thing that is wrong, by asking of each part whether it is valid.

    The validator's own errors hold those of every alternative, and of the alternatives below them: with
    recursion, more than any time allows. Whether a value is valid takes it no such time.
    """

    def __init__(self, text: str) -> None:
        self.root = json.loads(text)
        self.registry: Registry | None = None

    def __call__(self, validator: Validator, value: object) -> str:
        """Say what is wrong, and where as a JSON pointer; not with which value, which may be long."""
        if not any(f'"{word}"' in json.dumps(self.root) for word in ALTERNATIVES):
            error = next(iter(validator.iter_errors(value)))
            return located(error.instance_path, error.message)
        path: list[str | int] = []
        pointer = ""
        for _ in range(MOST_STEPS):
            found = next(self.wrong_parts(pointer, value), None)
            if found is None:
                break
            pointer, step, value = found
            if step is not None:
                path.append(step)
        return located(path, self.message(pointer, value))

    def wrong_parts(self, pointer: str, value: Any) -> Iterator[tuple[str, str | int | None, Any]]:
        """List the parts of a value that are wrong, with the place of their schemas."""
        schema = self.at(pointer)
        if isinstance(schema, dict):
            for place, step, part in parts(schema, pointer, value):
                if not self.validator(place).is_valid(part):
                    yield place, step, part

    def message(self, pointer: str, value: object) -> str:
        """Say what is wrong with a value whose parts are all well."""
        from jsonschema_rs import validator_for

        schema = self.at(pointer)
        if not isinstance(schema, dict):
            return "nothing is valid here"
        shallow = {key: below for key, below in schema.items() if key not in NESTED}
        error = next(iter(validator_for(shallow, mask="value", offline=True).iter_errors(value)), None)
        if error is not None:
            return str(error.message)
        keyword = next((key for key in ALTERNATIVES if key in schema), None)
        return f"value is not valid under '{keyword}'" if keyword else "value is not valid"

    def at(self, pointer: str) -> Any:
        """Return the schema at a place."""
        here = self.root
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            here = here[int(name)] if isinstance(here, list) else here[name]
        return here

    def validator(self, pointer: str) -> Validator:
        """Compile the schema at a place."""
        return compiled_part(self, pointer)


@lru_cache(maxsize=1024)
def compiled_part(explainer: Explainer, pointer: str) -> Validator:
    """Compile a part of a schema, once."""
    from jsonschema_rs import Registry, validator_for

    if explainer.registry is None:
        explainer.registry = Registry([(ADDRESS, explainer.root)])
    schema = {"$ref": f"{ADDRESS}#{pointer}"}
    return validator_for(schema, registry=explainer.registry, mask="value", offline=True)


def parts(schema: dict[str, Any], pointer: str, value: Any) -> Iterator[tuple[str, str | int | None, Any]]:
    """List the schemas that a value or its parts must meet, but for alternatives."""
    reference = schema.get("$ref")
    if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
        yield reference[1:], None, value
    for number in range(len(schema.get("allOf", ()))):
        yield f"{pointer}/allOf/{number}", None, value
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for key in value:
            if key in properties:
                yield f"{pointer}/properties/{escaped(key)}", key, value[key]
            elif "additionalProperties" in schema and "patternProperties" not in schema:
                yield f"{pointer}/additionalProperties", key, value[key]
    elif isinstance(value, list):
        first = schema.get("prefixItems", ())
        for number, item in enumerate(value):
            if number < len(first):
                yield f"{pointer}/prefixItems/{number}", number, item
            elif isinstance(schema.get("items"), dict):
                yield f"{pointer}/items", number, item


def escaped(key: str) -> str:
    """Write a key in a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def located(path: Any, message: str) -> str:
    """Say where something is wrong."""
    where = "".join(f"/{step}" for step in path)
    return f"{where}: {message}" if where else message
