"""How the command speaks: results on stdout, all else on stderr, errors in a line with an exit code."""

from __future__ import annotations

import codecs
import json
import os
import re
import signal
import socket
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from errno import EINVAL
from pathlib import Path
from threading import Thread
from traceback import format_exception
from typing import Any, NoReturn, TextIO

import typer

from polars_evals._errors import GATE_FAILED, INCONCLUSIVE, INPUT, UNEXPECTED, USAGE, JobError, is_failure
from polars_evals.storage import atomic
from polars_evals.storage.secrets import one_line, redacted
from polars_evals.wording import clean, line, without_query

# What Typer raises for wrong usage: click's, or its own where it brings click along.
USAGE_ERROR: type[BaseException] = typer.BadParameter.__mro__[2]

# The signals that ask a program to stop; a console of Windows has one more.
STOPS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
)
# The exit code of a program whose reader went away, as shells tell it.
UNREAD = 128 + 13

# What stands for characters that an encoding lacks: most consoles of Windows have no tables and no arrows.
PLAIN = (
    {"→": "->", "≤": "<=", "≥": ">=", "…": "...", "▲": "^", "▼": "v", "●": "o", "◇": "?", "✓": "+"}
    | dict.fromkeys("─═−–", "-")
    | dict.fromkeys("│┆", "|")
    | dict.fromkeys("┌┐└┘┬┴┼╞╪╡├┤", "+")
)

debug = False
as_json = False
log: Path | None = None


def expect_json(wanted: bool) -> bool:
    """Remember that the result is wanted as JSON, so that an error is written in it too."""
    global as_json  # noqa: PLW0603
    as_json = wanted
    return wanted


def tell(text: str) -> None:
    """Write a line to stderr."""
    write(line(text, 2_000), sys.stderr)


def show(text: str, *, as_json: bool = False) -> None:
    """Write a text of several lines to stdout, or a JSON document, which nothing may get lost of."""
    try:
        if as_json:
            write(clean(text), sys.stdout, errors="strict")
        else:
            from polars_evals.report.terminal import coloured, wants_colour

            write(coloured(clean(text)) if wants_colour(sys.stdout) else clean(text), sys.stdout)
    except UnicodeEncodeError:
        write(json.dumps(json.loads(clean(text)), indent=2), sys.stdout)
    except OSError as error:
        # Windows tells of a reader that went away as a wrong argument.
        if isinstance(error, BrokenPipeError) or (atomic.is_windows and error.errno == EINVAL):
            raise BrokenPipeError from None
        raise


def write(text: str, stream: TextIO, errors: str = "polars-evals-plain") -> None:
    """Write a text to a stream, whatever its encoding can hold."""
    encoding = stream.encoding or "utf-8"
    # A line that begins so is a command to GitHub's runners, whoever named a model like that.
    text = re.sub(r"(?m)^(\s*)(?=::|##\[)", r"\1\\", text)
    print(text.encode(encoding, errors).decode(encoding), file=stream, flush=True)


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Write characters that an encoding lacks in others."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(PLAIN.get(one, "?") for one in error.object[error.start : error.end]), error.end


codecs.register_error("polars-evals-plain", _plain)


@contextmanager
def explained() -> Iterator[None]:
    """Turn what users can solve into a message and an exit code; anything else is a bug, and no verdict."""
    try:
        yield
    except BrokenPipeError:
        # Whoever reads has enough. The rest goes nowhere, or Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(UNREAD) from None
    except KeyboardInterrupt:
        raise typer.Exit(128 + signal.SIGINT) from None
    except BaseException as error:
        if not is_failure(error) or isinstance(error, (USAGE_ERROR, typer.Exit, typer.Abort)):
            raise
        _explain(error)


def _explain(error: BaseException) -> NoReturn:
    """Say what went wrong, keep the trace where it is asked for, and leave."""
    import polars as pl

    # Whose fault it is: the input's, that of what was asked, or the program's.
    if isinstance(error, JobError):
        code = error.code
    elif isinstance(error, pl.exceptions.PolarsError | OSError):
        code = INPUT
    else:
        code = USAGE if isinstance(error, ValueError | ModuleNotFoundError) else UNEXPECTED
    message = str(error) or type(error).__name__
    if code == UNEXPECTED:
        message = (
            f"unexpected {type(error).__name__}: {one_line(error)}; --debug shows the trace, --log keeps it"
        )
    trace = redacted("".join(format_exception(error)))
    if debug:
        print(trace, file=sys.stderr, flush=True)
    if log is not None:
        try:
            with open(log, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} exit code {code}\n{trace}\n")
        except OSError as unwritten:
            tell(f"--log cannot be written: {one_line(unwritten)}")
    if as_json:
        show(json.dumps({"error": clean(redacted(message)), "exit_code": code}, indent=2))
    for one in without_query(message).splitlines():
        write(f"polars-evals: {clean(redacted(one), 2_000)}", sys.stderr)
    raise typer.Exit(code)


@contextmanager
def progress(description: str) -> Iterator[tuple[Callable[[int], None], Callable[[int], None]]]:
    """Show a bar on a terminal, and nothing elsewhere; gives functions that set the total and advance."""
    if not sys.stderr.isatty():
        yield lambda _: None, lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    shown = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda total: bar.update(task, total=total), lambda by: bar.advance(task, by)


@contextmanager
def stoppable() -> Iterator[None]:
    """Stop at once when asked to, also in a query, which is safe: nothing counts before its commit."""

    def stop(number: signal.Signals) -> None:
        atomic.remove_temporary_folders()
        tell(f"stopped by {number.name}; no output was left incomplete")
        os._exit(128 + number)

    with on_stop(stop):
        yield


@contextmanager
def on_stop(stop: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Call a function, in a thread of its own, when the program is asked to stop.

    A query keeps Python from running signal handlers until it ends, so a thread waits for the signal instead.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = {number: signal.signal(number, lambda *_: None) for number in STOPS}
    previous = signal.set_wakeup_fd(writer.fileno())

    def wait() -> None:
        received = reader.recv(1)
        if received and received[0]:
            stop(signal.Signals(received[0]))

    thread = Thread(target=wait, daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(previous)
        writer.send(b"\0")
        thread.join()
        reader.close()
        writer.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def deliver(result: Any, given: Any, **page: Any) -> dict[str, str]:
    """Write the files that the options name, each at once; the page, which is what to open, is last."""
    from polars_evals.storage.objects import write_file

    written = {}
    for kind, name in (("junit", "junit"), ("markdown", "markdown"), ("html", "report")):
        path = getattr(given, kind, None)
        if path is not None:
            write_file(path, getattr(result, f"to_{kind}")(**(page if kind == "html" else {})))
            written[name] = str(path)
    return written


def show_result(result: Any, paths: Mapping[str, str], given: Any) -> None:
    """Show a result: for a person in lines that fit the terminal, with the files that were written last."""
    from polars_evals.report.terminal import text, width_of

    if given.as_json:
        show(result.to_json(), as_json=True)
        return
    width = width_of(sys.stdout)
    show(text(result, width=width, more="--all", everything=given.everything, paths=paths))


def leave(verdicts: Collection[str], given: Any) -> None:
    """Leave with the exit code of the worst verdict, or with 0 where `--exit-zero` asks for it."""
    if getattr(given, "exit_zero", False):
        raise typer.Exit(0)
    is_unclear = given.fail_on_inconclusive and "inconclusive" in verdicts
    raise typer.Exit(GATE_FAILED if "regressed" in verdicts else INCONCLUSIVE if is_unclear else 0)
