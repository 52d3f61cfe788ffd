"""Where files are kept: a folder of this machine, or a prefix of an object store, with one set of verbs."""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from polars_evals.jobs import system

# The folders on this machine that this process is writing to.
staged: set[Path] = set()


@dataclass(frozen=True)
class Entry:
    """A file that a folder holds: its size, when it was written, and an object's mark of its content."""

    size: int
    time_ns: int
    etag: str = ""


class Folder(ABC):
    """A place for files, which are named by paths relative to it."""

    # What Polars and Delta Lake need to get there.
    options: Mapping[str, str] | None = None

    @property
    @abstractmethod
    def address(self) -> str:
        """What people call it."""

    @property
    @abstractmethod
    def url(self) -> str:
        """What Delta Lake calls it."""

    @abstractmethod
    def path(self, name: str) -> str:
        """Return what Polars calls a file."""

    @abstractmethod
    def files(self, folder: str = "") -> dict[str, Entry]:
        """List the files right in a folder of it, by name; none if there is no such folder."""

    @abstractmethod
    def folders(self) -> list[str]:
        """List the folders right in it."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Read a file."""

    @abstractmethod
    def create(self, name: str, content: bytes) -> None:
        """Write a file at once and for good; if the name is taken, nothing happens but FileExistsError."""

    @abstractmethod
    def take(self, file: str, name: str) -> None:
        """Take in a file that was written to the staging folder."""

    @abstractmethod
    def remove(self, names: Iterable[str]) -> None:
        """Remove files; one that is not there is no matter."""

    @abstractmethod
    def check(self) -> None:
        """Insist that files can be kept here."""

    @contextmanager
    def locked(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold it for one run, where there are locks; the commit is what keeps runs apart."""
        yield

    @contextmanager
    @abstractmethod
    def staging(self) -> Iterator[Path]:
        """Give a folder on this machine to write to, from which `take` is cheap."""


class LocalFolder(Folder):
    """A folder of this machine."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def address(self) -> str:
        """The path."""
        return str(self.root)

    @property
    def url(self) -> str:
        """The path as a URL."""
        return self.root.resolve().as_uri()

    def path(self, name: str) -> str:
        """Return the path of a file."""
        return str(self.root / name)

    def files(self, folder: str = "") -> dict[str, Entry]:
        """List a folder."""
        try:
            with os.scandir(self.root / folder) as entries:
                held = {entry.name: entry.stat() for entry in entries if entry.is_file()}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        return {name: Entry(about.st_size, about.st_mtime_ns) for name, about in sorted(held.items())}

    def folders(self) -> list[str]:
        """List the folders."""
        if not self.root.is_dir():
            return []
        return sorted(entry.name for entry in self.root.iterdir() if entry.is_dir())

    def read(self, name: str) -> bytes:
        """Read a file."""
        return (self.root / name).read_bytes()

    def create(self, name: str, content: bytes) -> None:
        """Write a file under another name and give it its own once it is complete on disk."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{uuid4().hex}")
        try:
            with open(temporary, "xb") as file:
                file.write(content)
                file.flush()
                system.sync(file.fileno())
            system.place(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)

    def take(self, file: str, name: str) -> None:
        """Rename a file, which is complete on disk."""
        os.rename(file, self.root / name)
        system.sync_folder(self.root)

    def remove(self, names: Iterable[str]) -> None:
        """Remove files."""
        for name in names:
            (self.root / name).unlink(missing_ok=True)

    def check(self) -> None:
        """Make the folder."""
        (self.root / "_evals").mkdir(parents=True, exist_ok=True)

    @contextmanager
    def locked(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold the folder for one run; another that comes meanwhile waits."""
        own = self.root / "_evals"
        with system.locked(own / "lock", waiting):
            for abandoned in own.glob("staging-*"):
                shutil.rmtree(abandoned, ignore_errors=True)
            yield

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """Give a folder inside: on the same file system, and unread."""
        folder = self.root / "_evals" / f"staging-{uuid4().hex}"
        folder.mkdir()
        with clearing(folder):
            yield folder


@contextmanager
def clearing(folder: Path) -> Iterator[None]:
    """Remove a folder in the end, also when the program is stopped."""
    staged.add(folder)
    try:
        yield
    finally:
        clear_staging()


def clear_staging() -> None:
    """Remove what this process was writing; what it cannot, the next run does."""
    while staged:
        shutil.rmtree(staged.pop(), ignore_errors=True)
