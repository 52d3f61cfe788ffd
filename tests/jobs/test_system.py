"""What differs between systems, with Windows' calls in the place of this system's."""

import importlib.util
import ntpath
import os
import signal
import threading
from errno import EACCES, EINVAL, ENOLCK
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace

import pytest

from polars_evals._errors import ConfigError
from polars_evals.cli import console
from polars_evals.jobs import config, run
from polars_evals.jobs.ingest import relative
from polars_evals.storage import atomic
from polars_evals.storage.objects import Folder, is_remote
from polars_evals.storage.paths import local_path, split_pattern
from tests.jobs.support import deliver, invoke, make_job, traces


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
    monkeypatch.setattr(atomic, "fcntl", None)
    monkeypatch.setattr(atomic, "msvcrt", console)
    monkeypatch.setattr(atomic, "is_windows", True)
    return console


def test_a_job_on_windows(tmp_path: Path, windows: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def no_folders(path: object, *arguments: int, **options: int | None) -> int:
        # With options it is `shutil`, which opens folders to remove them, though not on Windows.
        assert options or not os.path.isdir(str(path)), "Windows opens no folders"
        return opened(path, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", no_folders)
    job = make_job(tmp_path)
    for number in range(3):
        deliver(traces(range(number * 3, number * 3 + 3)), tmp_path / f"traces/{number}.parquet", number)
        assert run(job).rows == number * 3 + 3
    assert windows.held == set()


def test_a_lock_of_windows_is_waited_for(tmp_path: Path, windows: Console) -> None:
    waited = []
    with atomic.locked(tmp_path / "lock", lambda: None) as first:
        assert first
        ended = threading.Event()

        def second() -> None:
            with atomic.locked(tmp_path / "lock", lambda: waited.append(True)) as held:
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

    monkeypatch.setattr(atomic, "fcntl", SimpleNamespace(flock=refuse, LOCK_EX=2, LOCK_NB=4))
    with atomic.locked(tmp_path / "lock", lambda: None) as held:
        assert held is False


def test_a_name_that_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(tmp_path)
    folder.create("a", b"1")
    with pytest.raises(FileExistsError):
        folder.create("a", b"2")
    renamed = os.rename

    def like_windows(source: Path, target: Path) -> None:
        if target.exists():
            raise FileExistsError(target)
        renamed(source, target)

    monkeypatch.setattr(atomic, "is_windows", True)
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
        atomic.replace(tmp_path / "new", tmp_path / "old")
    monkeypatch.setattr(atomic, "is_windows", True)
    atomic.replace(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old").read_text() == "new"


def test_the_content_of_a_file_lasts_on_macos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    mac = SimpleNamespace(F_FULLFSYNC=51, fcntl=lambda handle, what: asked.append(what))
    monkeypatch.setattr(atomic, "fcntl", mac)
    with open(tmp_path / "a", "wb") as file:
        atomic.sync(file.fileno())
    assert asked == [51]


def test_being_asked_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = threading.Event()
    before = signal.getsignal(signal.SIGTERM)
    with console.on_stop(lambda number: stopped.set() if number == signal.SIGTERM else None):
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopped.wait(5)
    assert signal.getsignal(signal.SIGTERM) is before


def test_signals_that_a_system_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A console of Windows has another one, for Ctrl-Break."""
    monkeypatch.delattr(signal, "SIGTERM")
    monkeypatch.setattr(signal, "SIGBREAK", signal.SIGUSR1, raising=False)
    spec = importlib.util.spec_from_file_location("system_of_windows", str(console.__file__))
    assert spec is not None
    assert spec.loader is not None
    other = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(other)
    assert other.STOPS == (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)
    stopped = threading.Event()
    with other.on_stop(lambda number: stopped.set()):
        os.kill(os.getpid(), signal.SIGUSR1)
        assert stopped.wait(5)


def test_whoever_reads_may_leave_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """There it is told as a wrong argument."""

    def left(*_: object, **__: object) -> None:
        raise OSError(EINVAL, "Invalid argument")

    monkeypatch.setattr(console, "write", left)
    with pytest.raises(OSError, match="Invalid argument"):
        console.show("text")
    monkeypatch.setattr(atomic, "is_windows", True)
    with pytest.raises(BrokenPipeError):
        console.show("text")


class Windows(PureWindowsPath):
    """A path of Windows, as far as a job file needs it."""

    def expanduser(self) -> PureWindowsPath:
        return self


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (r"C:\data\x.parquet", r"C:\data\x.parquet"),
        ("C:/data/x.parquet", r"C:\data\x.parquet"),
        ("C://data//x.parquet", r"C:\data\x.parquet"),
        (r"traces\*.parquet", r"D:\jobs\traces\*.parquet"),
        (r"\\server\share\x.parquet", r"\\server\share\x.parquet"),
        ("s3://bucket/x.parquet", "s3://bucket/x.parquet"),
    ],
)
def test_a_drive_is_no_address(path: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_remote(path) is path.startswith("s3:")
    monkeypatch.setattr(config, "Path", Windows)
    assert config.located(path, PureWindowsPath("D:/jobs")) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [
        (r"C:\data\*.parquet", "C:/data"),
        (r"C:\*.parquet", "C:/"),
        (r"\\server\share\*.parquet", "//server/share"),
        (r"*.parquet", ""),
    ],
)
def test_the_folder_of_a_pattern(pattern: str, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sep", "\\")
    assert split_pattern(pattern) == (folder, "*.parquet")


def test_a_file_on_another_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "relpath", ntpath.relpath)
    assert relative("D:/traces/a.parquet", Path("C:/jobs")) == "D:/traces/a.parquet"


def test_the_drive_of_a_file_address(monkeypatch: pytest.MonkeyPatch) -> None:
    assert local_path("file:///traces/a%20b.jsonl") == "/traces/a b.jsonl"
    monkeypatch.setattr(os.path, "splitdrive", ntpath.splitdrive)
    assert local_path("file:///C:/traces/a%20b.jsonl") == "C:/traces/a b.jsonl"


@pytest.mark.parametrize("path", [r"C:\data\x.parquet", r"C:\Users\me\x.parquet"])
def test_backslashes_in_double_quotes(path: str, tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    text = make_job(tmp_path).read_text()
    job.write_text(text.replace('"traces/**/*.*"', f'"{path}"'))
    code, _, error = invoke("run", job)
    assert code == ConfigError.code
    assert error.count("\n") == 1
    assert r"in single quotes: 'C:\traces'" in error
    job.write_text(text.replace('"traces/**/*.*"', f"'{path}'"))
    assert "single quotes" not in invoke("run", job)[2]
