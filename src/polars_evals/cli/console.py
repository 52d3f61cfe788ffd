"""How the command speaks: results on stdout, all else on stderr, errors in a line with an exit code."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from signal import SIGINT, SIGPIPE, SIGTERM, Signals, set_wakeup_fd, signal
from typing import NoReturn

import typer

from polars_evals.drift.text import clean, line
from polars_evals.jobs.errors import INPUT, USAGE

debug = False

# The exit code of a program that the closed pipe stopped, as shells tell it.
UNREAD = 128 + SIGPIPE


def tell(text: str) -> None:
    """Write a line to stderr."""
    print(line(text, 2_000), file=sys.stderr, flush=True)


def show(text: str) -> None:
    """Write a text of several lines to stdout, whatever the terminal's encoding can hold."""
    encoding = sys.stdout.encoding or "utf-8"
    safe = clean(text).encode(encoding, "replace").decode(encoding)
    print(safe, flush=True)


@contextmanager
def explained() -> Iterator[None]:
    """Turn what users can solve into a message and an exit code; anything else is a bug, with its trace."""
    import polars as pl

    from polars_evals.jobs.errors import JobError

    try:
        yield
    except BrokenPipeError:
        # Whoever reads has enough. The rest goes nowhere, or Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(UNREAD) from None
    except (JobError, pl.exceptions.PolarsError, OSError, ValueError, TypeError) as error:
        if debug:
            raise
        fail(str(error) or type(error).__name__, exit_code_of(error))


def exit_code_of(error: Exception) -> int:
    """Tell whose fault it is: the input's, or that of what was asked."""
    import polars as pl

    from polars_evals.jobs.errors import JobError

    if isinstance(error, JobError):
        return error.code
    return INPUT if isinstance(error, pl.exceptions.PolarsError | OSError) else USAGE


def fail(message: str, code: int) -> NoReturn:
    """Say what is wrong and leave."""
    # Polars appends the query plan, which helps nobody here.
    told = re.split(r"\n\n(?:Resolved plan until failure|This error occurred)", message, maxsplit=1)[
        0
    ].strip()
    for one in told.splitlines():
        print(f"polars-evals: {clean(one, 2_000)}", file=sys.stderr, flush=True)
    raise typer.Exit(code)


@contextmanager
def progress(description: str) -> Iterator[tuple[Callable[[int], None], Callable[[int], None]]]:
    """Show a bar on a terminal, and nothing elsewhere; gives functions that set the total and advance."""
    if not sys.stderr.isatty():
        yield lambda _: None, lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda total: bar.update(task, total=total), lambda by: bar.advance(task, by)


@contextmanager
def stoppable() -> Iterator[None]:
    """Stop at once when asked to, also in the middle of a query, with the exit code of the signal.

    A query keeps Python from running signal handlers until it ends, so a thread waits for the signal instead.
    Leaving at any point is safe: nothing counts before its commit.
    """
    from polars_evals.jobs.store import clear_staging

    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = {number: signal(number, lambda *_: None) for number in (SIGTERM, SIGINT)}
    previous = set_wakeup_fd(writer)

    def wait() -> None:
        received = os.read(reader, 1)
        if received and received[0]:
            clear_staging()
            tell(f"stopped by {Signals(received[0]).name}; nothing was half done")
            os._exit(128 + received[0])

    threading.Thread(target=wait, daemon=True).start()
    try:
        yield
    finally:
        set_wakeup_fd(previous)
        os.write(writer, b"\0")
        for number, handler in before.items():
            signal(number, handler)
