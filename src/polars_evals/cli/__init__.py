"""The command `polars-evals`."""

import os
import sys
from signal import SIGINT


def main() -> None:
    """Run the command."""
    # Python has None for a stream that was closed before: what is written to it goes nowhere.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    try:
        from polars_evals.cli.app import app

        app(prog_name="polars-evals")
    except KeyboardInterrupt:
        sys.exit(128 + SIGINT)
    except Exception as error:
        # Errors are explained inside of the commands. What got out is no verdict either.
        print(f"polars-evals: unexpected {type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(70)
