"""Signals that ask the program to stop, and readers that go away."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EINVAL
from threading import Thread

from polars_evals.storage import atomic

# The signals that ask a program to stop; a console of Windows has one more.
STOPS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
)
# The exit code of a program whose reader went away, as shells tell it.
UNREAD = 128 + 13


def reader_left(error: OSError) -> bool:
    """Whether whoever reads an output went away; Windows tells it as a wrong argument."""
    return isinstance(error, BrokenPipeError) or (atomic.is_windows and error.errno == EINVAL)


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
