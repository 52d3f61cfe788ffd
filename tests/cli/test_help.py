"""Help is there at once, looks like help, and has an example for every command."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from polars_evals.cli.app import app
from tests.jobs.support import invoke

COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


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
def test_every_command_has_an_example(name: str) -> None:
    code, told, _ = invoke(name, "--help")
    assert code == 0
    assert f"polars-evals {name}" in told.split("Example")[1]


def test_flags_look_like_flags() -> None:
    told = invoke("compare", "--help")[1]
    flag = next(line for line in told.splitlines() if line.strip().startswith("--json"))
    assert flag.split()[1] == "Print"
