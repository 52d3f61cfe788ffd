"""Values that are never shown: not in a log, not in an error, not in a report."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from polars_evals.wording import line

# Names of options and variables whose values are secret. An account's name and a region are not.
SECRET = re.compile(r"secret|token|password|credential|(access|account|storage|encryption)_key$|sas|_key$")
# What a signed address carries in its query.
SIGNED = re.compile(r"(?i)\b(sig|signature|x-amz-[a-z-]+|x-goog-[a-z-]+)=[^&\s\"'>]+")
# What a library could not read, byte by byte: it may be a key.
BYTES = re.compile(r"\[\s*(?:\d{1,3},\s*){7,}[\d,\s]*\]?")
HIDDEN = "***"
SHORTEST = 4
# Shorter secrets are words that paths may have in them: they are hidden where they stand alone.
LONG = 16
# Who logs in, in an address: user:password@host.
LOGIN = re.compile(r"(?<=://)[^/\s:@'\"]+:[^/\s@'\"]+(?=@)")

_known: set[str] = set()


class Options(dict[str, str]):
    """Options of an object store, which show their names only."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        keep_secrets(values)

    def __repr__(self) -> str:
        return f"Options({', '.join(self)})"

    __str__ = __repr__


def keep_secrets(values: Mapping[str, str]) -> None:
    """Keep the secret ones of some values out of all that is shown from now on."""
    _known.update(
        value for name, value in values.items() if SECRET.search(name.lower()) and len(value) >= SHORTEST
    )


def from_environment(name: str, given: Mapping[str, object]) -> str:
    """Return the value of a variable that a setting names as `{env = "NAME"}`; it is a secret from now on."""
    variable = given.get("env")
    if list(given) != ["env"] or not isinstance(variable, str):
        raise ValueError(f'`{name}` must be a text or {{ env = "NAME" }}')
    if variable not in os.environ:
        raise ValueError(f"`{name}` names the variable {variable}, which is not set")
    keep_secrets({"secret": os.environ[variable]})
    return os.environ[variable]


def redacted(text: str) -> str:
    """Return a text without the secrets that are known."""
    for secret in sorted(_known, key=len, reverse=True):
        alone = re.escape(secret) if len(secret) >= LONG else rf"(?<![\w./-]){re.escape(secret)}(?![\w./-])"
        text = re.sub(alone, HIDDEN, text)
    return BYTES.sub(HIDDEN, SIGNED.sub(rf"\1={HIDDEN}", LOGIN.sub(HIDDEN, text)))


def one_line(error: BaseException) -> str:
    """Return the first line of an error, made safe to show."""
    return line(redacted(str(error).strip().split("\n")[0]) or type(error).__name__)
