"""The entry of the command: it stands beside the package, so that Ctrl-C is heeded while that is imported."""

import os
import signal


def main() -> None:
    """Import the command and run it; Ctrl-C before that leaves at once, without a traceback."""
    before = signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
    from polars_evals.cli import main as command
    from polars_evals.cli.app import app  # noqa: F401

    signal.signal(signal.SIGINT, before)
    command()
