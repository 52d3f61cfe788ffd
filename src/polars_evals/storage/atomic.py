"""Writes that happen as a whole and last, and locks, on Linux, macOS and Windows."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EACCES, EAGAIN, EDEADLK, ENOLCK, ENOSYS, ENOTSUP
from importlib import import_module
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

is_windows = sys.platform == "win32"
fcntl: Any = None if is_windows else import_module("fcntl")
msvcrt: Any = import_module("msvcrt") if is_windows else None

# The error numbers of a lock that another process holds.
HELD = (EACCES, EAGAIN, EDEADLK)
# The error numbers of a file system without locks.
NO_LOCKS = (ENOLCK, ENOSYS, ENOTSUP)

# The folders on this machine that this process is writing to.
_temporary: set[Path] = set()


@contextmanager
def locked(path: Path, waiting: Callable[[], None]) -> Iterator[bool]:
    """Hold a lock that ends with the process, waiting for it; gives False where there are no locks."""
    with open(path, "a") as file:
        yield _lock(file, waiting)
        if fcntl is None:
            _windows_lock(file, msvcrt.LK_UNLCK)


def _lock(file: IO[Any], waiting: Callable[[], None]) -> bool:
    try:
        if not _try_lock(file):
            waiting()
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


def create_file(path: Path, content: bytes) -> None:
    """Write a file that gets its name once it is complete on disk; FileExistsError if the name is taken."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid4().hex}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            sync(file.fileno())
        place(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file at once: a reader finds the old one or the new one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Such as /dev/stdout, a link to whatever the output is: nothing may take its place.
        if path.is_symlink() or (path.exists() and not path.is_file()):
            _write_through(path, content)
            return
        temporary = path.with_name(f".{uuid4().hex}")
        try:
            temporary.write_bytes(content)
            replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"cannot write {str(path)!r}: {error.strerror}") from None


def _write_through(path: Path, content: bytes) -> None:
    if path.exists() and stat.S_ISFIFO(path.stat().st_mode):
        # Fails where nobody reads the pipe; opened in the usual way, it would wait for ever.
        os.set_blocking(handle := os.open(path, os.O_WRONLY | os.O_NONBLOCK), True)
        with open(handle, "wb") as pipe:
            pipe.write(content)
        return
    path.write_bytes(content)


@contextmanager
def temporary_folder(folder: Path) -> Iterator[Path]:
    """Make a folder for a while; it is removed in the end, also when the program is stopped."""
    _temporary.add(folder)
    try:
        folder.mkdir(exist_ok=True)
        yield folder
    finally:
        remove_temporary_folders()


def remove_temporary_folders() -> None:
    """Remove what this process was writing; what it cannot, the next run does."""
    while _temporary:
        shutil.rmtree(_temporary.pop(), ignore_errors=True)
