"""Help is there at once, looks like help, and has an example for every command."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from typing import Any

import pytest
import typer

from polars_evals.cli.app import app
from polars_evals.cli.console import USAGE_ERROR
from tests.jobs.support import invoke

GROUP: Any = typer.main.get_command(app)
COMMANDS: dict[str, Any] = dict(sorted(GROUP.commands.items()))


def read(name: str, arguments: list[str], **options: Any) -> Any:
    """Read the arguments of a command and run nothing; what is wrong with them is raised."""
    parent = GROUP.make_context("polars-evals", [], resilient_parsing=True)
    return COMMANDS.get(name, GROUP).make_context(name, arguments, parent=parent, **options)


def test_help_loads_no_more_than_it_needs() -> None:
    code = (
        "import sys, contextlib, io\n"
        "from polars_evals.cli.app import app\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    app(['--help'])\n"
        "print(*{name.split('.')[0] for name in sys.modules})\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ended.stdout.split())
    assert not {"numpy", "scipy", "deltalake", "pyarrow", "altair", "markdown_it"} & loaded


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_of_a_command_is_right(name: str) -> None:
    """It can be copied as it is shown, and the command understands it."""
    code, told, _ = invoke(name, "--help")
    assert code == 0
    shown = re.fullmatch(r"`(.+?)`.*", " ".join(told.split("Example: ")[1].split()))
    assert shown is not None
    program, command, *arguments = shlex.split(shown[1])
    assert (program, command) == ("polars-evals", name)
    assert any(read(name, arguments).params.values())


def test_a_wrong_example_would_be_found() -> None:
    with pytest.raises(USAGE_ERROR):
        read("compare", ["scored.parquet", "--versoin", "model"])
    with pytest.raises(USAGE_ERROR):
        read("compare", ["--version", "model"])


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_flags_look_like_flags(name: str) -> None:
    """A flag is one word that is there or not: it takes no value, and there is none of its opposite."""
    lines = [line.strip() for line in invoke(*([name] if name else []), "--help")[1].splitlines()]
    context = read(name, [], resilient_parsing=True)
    options = [one for one in context.command.get_params(context) if one.param_type_name == "option"]
    assert len(options) > 1
    for option in options:
        assert all(re.fullmatch(r"-[a-z]|--[a-z]+(-[a-z]+)*", word) for word in option.opts), option.opts
        assert not option.secondary_opts
        words = ", ".join(sorted(option.opts, key=len))
        shown = next(line for line in lines if re.match(rf"{words}(?![-\w])", line))
        # Two spaces stand between an option and its explanation.
        written, *explained = shown.split("  ", maxsplit=1)
        assert explained or not option.is_flag
        assert (written == words) is option.is_flag, shown
