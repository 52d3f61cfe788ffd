"""The command `polars-evals`."""

import os
import sys


def main() -> None:
    """Run the command, or say how to install what it needs."""
    # Python has None for a stream that was closed before: what is written to it goes nowhere.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    try:
        from polars_evals.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(missing_extra(error.name))
    app(prog_name="polars-evals")


def missing_extra(package: str) -> int:
    """Say how to install the command's own dependencies."""
    print(
        f"polars-evals: the command needs the package {package}: pip install 'polars-evals[jobs]'",
        file=sys.stderr,
    )
    return 2
