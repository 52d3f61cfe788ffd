"""The command that says what files of traces hold."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from polars_evals.cli.console import explained, show
from polars_evals.cli.options import AsJson, Columns, Format, Keep, Rows

# A file that cannot be read, or holds no answers.
_BAD_INPUT = 3


def add_to(app: typer.Typer) -> None:
    """Add this command to the others."""
    app.command(epilog="Example: `polars-evals traces export.jsonl --column output=response`")(traces)


def traces(
    inputs: Annotated[list[str], typer.Argument(help="Files, folders or patterns.")],
    *,
    format_name: Format = "auto",
    columns: Columns = None,
    keep: Keep = None,
    rows: Rows = None,
    as_json: AsJson = False,
) -> None:
    """Show the format of files, how many records became rows, and why others did not."""
    with explained():
        from polars_evals.cli.score import choose_input, in_options, in_words_of_the_command
        from polars_evals.report.terminal import fold_of, traces_text, width_of
        from polars_evals.traces import check_traces

        source = choose_input(inputs, format_name, columns or [], keep=keep or [], rows=rows)
        with in_options():
            checked = check_traces(
                inputs, format_name, columns=source.columns, keep=source.keep, rows=source.rows
            )
        told = traces_text(checked, in_words_of_the_command, width_of(sys.stdout), fold_of(sys.stdout))
        show(json.dumps(checked.to_dict(), indent=2) if as_json else told)
    if not checked.ok:
        raise typer.Exit(_BAD_INPUT)
