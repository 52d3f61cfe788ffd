"""What differs between systems, with Windows' calls in the place of this system's."""

import os
import signal
import threading
from errno import EACCES, ENOLCK
from pathlib import Path
from types import SimpleNamespace

import pytest

from polars_evals.jobs import run, system
from polars_evals.jobs.folder import LocalFolder
from tests.jobs.support import deliver, make_job, traces


class Console:
    """The locks of Windows: of the bytes of a file, told by an error, and of this process too."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self) -> None:
        self.held: set[int] = set()
        self.refusals = 0

    def locking(self, handle: int, mode: int, length: int) -> None:
        assert os.lseek(handle, 0, os.SEEK_CUR) == 0
        inode = os.fstat(handle).st_ino
        if mode == self.LK_UNLCK:
            self.held.discard(inode)
        elif inode in self.held:
            self.refusals += 1
            raise PermissionError(EACCES, "Permission denied")
        else:
            self.held.add(inode)


@pytest.fixture(name="windows")
def _windows(monkeypatch: pytest.MonkeyPatch) -> Console:
    console = Console()
    monkeypatch.setattr(system, "fcntl", None)
    monkeypatch.setattr(system, "msvcrt", console)
    monkeypatch.setattr(system, "is_windows", True)
    return console


def test_a_job_on_windows(tmp_path: Path, windows: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def no_folders(path: object, *arguments: int) -> int:
        assert not os.path.isdir(str(path)), "Windows opens no folders"
        return opened(path, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", no_folders)
    job = make_job(tmp_path)
    for number in range(3):
        deliver(traces(range(number * 3, number * 3 + 3)), tmp_path / f"traces/{number}.parquet", number)
        assert run(job).rows == number * 3 + 3
    assert windows.held == set()


def test_a_lock_of_windows_is_waited_for(tmp_path: Path, windows: Console) -> None:
    waited = []
    with system.locked(tmp_path / "lock", lambda: None) as first:
        assert first
        ended = threading.Event()

        def second() -> None:
            with system.locked(tmp_path / "lock", lambda: waited.append(True)) as held:
                assert held
            ended.set()

        thread = threading.Thread(target=second)
        thread.start()
        assert not ended.wait(0.5)
    thread.join()
    assert (ended.is_set(), waited, windows.refusals > 0) == (True, [True], True)


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(ENOLCK, "No locks available")

    monkeypatch.setattr(system, "fcntl", SimpleNamespace(flock=refuse, LOCK_EX=2, LOCK_NB=4))
    with system.locked(tmp_path / "lock", lambda: None) as held:
        assert held is False


def test_a_name_that_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = LocalFolder(tmp_path)
    folder.create("a", b"1")
    with pytest.raises(FileExistsError):
        folder.create("a", b"2")
    renamed = os.rename

    def like_windows(source: Path, target: Path) -> None:
        if target.exists():
            raise FileExistsError(target)
        renamed(source, target)

    monkeypatch.setattr(system, "is_windows", True)
    monkeypatch.setattr(os, "rename", like_windows)
    folder.create("b", b"1")
    with pytest.raises(FileExistsError):
        folder.create("b", b"2")
    assert folder.read("b") == b"1"
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_a_file_that_somebody_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows refuses to replace it for as long."""
    (tmp_path / "new").write_text("new")
    (tmp_path / "old").write_text("old")
    replaced, refused = os.replace, list[bool]()

    def busy(source: Path, target: Path) -> None:
        if len(refused) < 2:
            refused.append(True)
            raise PermissionError(EACCES, "used by another process")
        replaced(source, target)

    monkeypatch.setattr(os, "replace", busy)
    with pytest.raises(PermissionError):
        system.replace(tmp_path / "new", tmp_path / "old")
    monkeypatch.setattr(system, "is_windows", True)
    system.replace(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old").read_text() == "new"


def test_the_content_of_a_file_lasts_on_macos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    mac = SimpleNamespace(F_FULLFSYNC=51, fcntl=lambda handle, what: asked.append(what))
    monkeypatch.setattr(system, "fcntl", mac)
    with open(tmp_path / "a", "wb") as file:
        system.sync(file.fileno())
    assert asked == [51]


def test_being_asked_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = threading.Event()
    before = signal.getsignal(signal.SIGTERM)
    with system.on_stop(lambda number: stopped.set() if number == signal.SIGTERM else None):
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopped.wait(5)
    assert signal.getsignal(signal.SIGTERM) is before
