"""A table of a job file, read entry by entry: what is wrong is told with its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from polars_evals._errors import ConfigError
from polars_evals.wording import did_you_mean, shown

T = TypeVar("T")


class Section:
    """A table of the file, whose entries are taken out one by one; what is left over is unknown."""

    def __init__(self, where: str, entries: object) -> None:
        self.where = where
        if not isinstance(entries, Mapping):
            raise ConfigError(f"{self.where} must be a table, got {shown(entries)}")
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
            raise self.wrong(key, what, value)
        return value

    def wrong(self, key: str, what: str, value: object) -> ConfigError:
        """Say what an entry must be."""
        return ConfigError(f"{self.where}: `{key}` must be {what}, got {shown(value)}")

    def texts(self, key: str, what: str, *, needed: bool = False) -> tuple[str, ...] | None:
        """Take a text or a list of texts."""
        value = self.take(key, (str, list), what, needed=needed)
        if value is None:
            return None
        listed = [value] if isinstance(value, str) else value
        if not listed or not all(isinstance(text, str) and text for text in listed):
            raise self.wrong(key, what, value)
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

    def fraction(self, key: str, *, needed: bool = False) -> float | None:
        """Take a number from 0 to 1, or None."""
        what = "a number from 0 to 1"
        value: float | None = self.take(key, (int, float), what, needed=needed)
        if value is not None and not 0 <= value <= 1:
            raise self.wrong(key, what, value)
        return value

    def insist(self, check: Callable[..., T], *values: object) -> T:
        """Check or make something in the way of the library, with its error."""
        try:
            return check(*values)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{self.where}: {error}") from None

    def finish(self) -> None:
        """Refuse what is left over."""
        for key in self.entries:
            hint = did_you_mean(key, self.known) or f"; there are {', '.join(self.known)}"
            raise ConfigError(f'{self.where}: unknown key "{key}"{hint}')
