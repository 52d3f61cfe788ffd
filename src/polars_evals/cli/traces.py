"""The command that says what files of traces hold."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from polars_evals.cli.console import explained, show
from polars_evals.cli.options import AsJson

# A file that cannot be read, or holds no answers.
_BAD_INPUT = 3


def add_to(app: typer.Typer) -> None:
    """Add this command to the others."""
    app.command(epilog="Example: `polars-evals traces export.jsonl`")(traces)


def traces(
    inputs: Annotated[list[str], typer.Argument(help="Files, folders or patterns.")],
    *,
    format_name: Annotated[
        str, typer.Option("--format", help="The platform; auto tells by what the files hold.")
    ] = "auto",
    as_json: AsJson = False,
) -> None:
    """Say what files are, how many records became rows, and why the others did not."""
    with explained():
        from polars_evals.traces import check_traces

        checked = check_traces(inputs, format_name)
        show(json.dumps(checked.to_dict(), indent=2) if as_json else str(checked))
    if not checked.ok:
        raise typer.Exit(_BAD_INPUT)
