"""Run a job again and again, each time in a fork that is killed before or after its n-th step on the disk.

Reads the numbers from stdin, a line each, and answers with the exit code of the fork, negative for a signal.
Forks are taken before any query has run, when Polars has no threads yet; they save the time of the imports.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import deltalake
import deltalake.transaction
import polars as pl

from polars_evals.cli import main as command
from polars_evals.cli.app import app
from polars_evals.jobs import run

STEPS: list[tuple[Any, str]] = [
    (os, "rename"),
    (os, "link"),
    (os, "fsync"),
    (os, "mkdir"),
    (os, "unlink"),
    (pl.LazyFrame, "sink_parquet"),
    (deltalake.DeltaTable, "create_write_transaction"),
    (deltalake.transaction, "create_table_with_add_actions"),
]


def run_until(limit: int) -> None:
    """Run the command, and end this process without a chance to tidy up."""
    count = 0

    def reached() -> None:
        nonlocal count
        count += 1
        if count == limit:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            reached()
            result = function(*arguments, **options)
            reached()
            return result

        return step

    for owner, name in STEPS:
        setattr(owner, name, counted(getattr(owner, name)))
    try:
        command()
    except SystemExit as ended:
        os._exit(int(ended.code or 0))


def main() -> None:
    assert callable(app)  # imported before the first fork, like the job
    assert callable(run)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            run_until(int(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
