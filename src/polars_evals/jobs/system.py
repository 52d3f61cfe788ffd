"""What differs between Linux, macOS and Windows: locks, names and contents that last, signals."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EACCES, EAGAIN, EDEADLK, EINVAL, ENOLCK, ENOSYS, ENOTSUP
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import IO, Any


def _system_module(name: str) -> Any:
    """Import a module that only some systems have."""
    return import_module(name) if find_spec(name) else None


fcntl = _system_module("fcntl")
msvcrt = _system_module("msvcrt")
is_windows = sys.platform == "win32"

# How a lock that another process holds is told.
HELD = (EACCES, EAGAIN, EDEADLK)
# How a file system tells that it has no locks.
NO_LOCKS = (ENOLCK, ENOSYS, ENOTSUP)

# The signals that ask a program to stop; a console of Windows has one more.
STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name))
# The exit code of a program whose reader went away, as shells tell it.
UNREAD = 128 + 13


@contextmanager
def locked(path: Path, waiting: Callable[[], None]) -> Iterator[bool]:
    """Hold a lock that ends with the process; `waiting` is called if another has it.

    Gives False where the file system has no locks. Nothing may depend on them alone.
    """
    with open(path, "a") as file:
        yield _lock(file, waiting)
        if fcntl is None and msvcrt is not None:
            _windows_lock(file, msvcrt.LK_UNLCK)


def _lock(file: IO[Any], waiting: Callable[[], None]) -> bool:
    try:
        if _try_lock(file):
            return True
        waiting()
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
            return True
        while not _try_lock(file):
            time.sleep(0.2)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        return False
    return True


def _try_lock(file: IO[Any]) -> bool:
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            _windows_lock(file, msvcrt.LK_NBLCK)
    except OSError as error:
        if error.errno in HELD:
            return False
        raise
    return True


def _windows_lock(file: IO[Any], mode: int) -> None:
    """Lock or unlock the first byte, which need not be there."""
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    msvcrt.locking(file.fileno(), mode, 1)


def sync(handle: int) -> None:
    """Make the content of an open file last. macOS only means it when asked in its own way."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        fcntl.fcntl(handle, full)
    else:
        os.fsync(handle)


def sync_folder(path: Path) -> None:
    """Make new names in a folder last; Windows does so by itself, and opens no folders."""
    if is_windows:
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def place(temporary: Path, path: Path) -> None:
    """Give a complete file its name, unless the name is taken: of two, one gets a FileExistsError."""
    if is_windows:
        # Unlike elsewhere, a rename does not replace here.
        os.rename(temporary, path)
    else:
        os.link(temporary, path)
        temporary.unlink()
    sync_folder(path.parent)


def replace(temporary: Path, path: Path, *, attempts: int = 20) -> None:
    """Put a file in the place of another; Windows refuses for as long as somebody reads it."""
    for attempt in range(attempts):
        try:
            os.replace(temporary, path)
        except PermissionError:
            if not is_windows or attempt == attempts - 1:
                raise
            time.sleep(0.1)
        else:
            return


def reader_left(error: OSError) -> bool:
    """Whether whoever reads an output went away; Windows tells it as a wrong argument."""
    return isinstance(error, BrokenPipeError) or (is_windows and error.errno == EINVAL)


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
