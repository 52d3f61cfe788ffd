"""What every result can do: show itself as text, in Jupyter, and as a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import polars as pl

from polars_evals.wording import to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

LISTED = 1_000
Plots = TypeVar("Plots")


def from_report(name: str) -> Callable[..., str]:
    """Return a function of the layer above, which is imported when a result is first shown this way."""
    module, _, function = name.rpartition(".")
    found: Callable[..., str] = getattr(import_module(module), function)
    return found


@dataclass(frozen=True)
class Shown:
    """HTML that a notebook shows."""

    html: str

    def _repr_html_(self) -> str:
        return self.html


class Result(ABC):
    """A verdict with the frames behind it."""

    notes: tuple[str, ...]
    if TYPE_CHECKING:
        # A field of some results; of others, derived from one.
        @property
        def settings(self) -> dict[str, Any]:
            """How the result was made, as plain values."""

    @property
    @abstractmethod
    def verdict(self) -> str:
        """The verdict in one word."""

    @property
    def badge(self) -> str | None:
        """The word that stands first and gives the colour, if one word can."""
        return self.verdict

    def outcome(self) -> dict[str, Any]:
        """Return the verdict as JSON has it."""
        return {"verdict": self.verdict}

    @property
    def headline(self) -> str:
        """What was found, in a sentence."""
        return from_report("polars_evals.report.sentences.sentence")(self)

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return all frames by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in values.items() if isinstance(value, pl.DataFrame)}

    def __str__(self) -> str:
        return from_report("polars_evals.report.terminal.text")(self)

    def __repr__(self) -> str:
        return from_report("polars_evals.report.terminal.short")(self)

    def explain(self) -> str:
        """Return every row with the reason for its verdict, and every note, as text."""
        return from_report("polars_evals.report.terminal.explain")(self)

    def _repr_html_(self) -> str:
        return from_report("polars_evals.report.page.cell_of")(self)

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """
        Write verdict, settings, notes and frames as JSON.

        Parameters
        ----------
        path
            File to write. None returns the text instead.

        Notes
        -----
        A frame is `{"total": number of rows, "rows": [...]}` with at most 1,000 rows, and a text is cut
        after 10,000 characters, so that the document stays small; the frames themselves hold everything.
        """
        frames = {
            name: {"total": frame.height, "rows": frame.head(LISTED).to_dicts()}
            for name, frame in self.frames().items()
        }
        document = {**self.outcome(), "settings": self.settings, "notes": list(self.notes), **frames}
        return write_or_return(to_json(document), path)

    def to_markdown(self, path: str | PathLike[str] | None = None) -> str:
        """
        Write the verdict and its tables as Markdown, for a pull request or a chat message.

        Parameters
        ----------
        path
            File to write. None returns the text instead.
        """
        return write_or_return(from_report("polars_evals.report.markdown.markdown")(self), path)

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        *,
        source: str | None = None,
        gates: Sequence[Mapping[str, Any]] = (),
    ) -> str:
        """
        Write a self-contained HTML page, which opens offline.

        Parameters
        ----------
        path
            File to write. None returns the text instead.
        source
            Where the scores come from, to say in the page.
        gates
            What became of a job's gates, to say in the page: mappings with `gate`, `status` and
            `lines`.
        """
        return write_or_return(
            from_report("polars_evals.report.page.page_of")(self, source=source, gates=gates), path
        )


@dataclass(frozen=True, eq=False, repr=False)
class Plotted(Result, Generic[Plots]):
    """A result with a main frame, and charts of its own."""

    summary: pl.DataFrame
    notes: tuple[str, ...]
    settings: dict[str, Any]

    @property
    def plot(self) -> Plots:
        """The charts of this result, as methods."""
        return cast("Plots", from_report("polars_evals.report.charts.plots_of")(self))


def write_or_return(text: str, path: str | PathLike[str] | None) -> str:
    """Return the text, or write it as UTF-8 and return the path."""
    if path is None:
        return text
    Path(path).write_text(text, encoding="utf-8", newline="\n")
    return str(path)
