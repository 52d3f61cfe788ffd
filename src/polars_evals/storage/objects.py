"""Folders and files, of this machine or of an object store, with one interface.

Object stores are Amazon S3 and what speaks like it, Google Cloud Storage and Azure, by obstore.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from uuid import uuid4

from polars_evals._errors import ConfigError, InputError, JobError, StoreError
from polars_evals.storage import atomic
from polars_evals.storage.secrets import Options, keep_secrets, one_line

SCHEMES = ("s3", "gs", "az", "abfss")
# How variables begin that are about them.
VARIABLES = ("AWS_", "AZURE_", "GOOGLE_", "GCP_")
# Options of the connection rather than of a kind of store; some tools write a kind before them.
CLIENT = re.compile(
    r"(?:aws_|azure_|google_)?(allow_http|allow_invalid_certificates|connect_timeout|timeout|proxy_url)"
)
# What other readers of the same options understand, and this one need not.
OTHERS = re.compile(r"(aws_)?(max_retries|retry_.*|file_cache_ttl|s3_locking_provider)")
UNSAFE = "s3_allow_unsafe_rename"
RETRIES = {"max_retries": 4, "retry_timeout": timedelta(seconds=60)}
ATTEMPTS, STREAMS, CHUNK = 5, 8, 8 << 20

# What a server says, and what that means.
MEANINGS = {
    r"BadScheme": (
        'addresses with http:// need `aws_allow_http = "true"` (or azure_, google_) in storage_options'
    ),
    r"PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint|without LOCATION|301 ": (
        "the region is wrong"
    ),
    r"RequestTimeTooSkewed": "the clock of this machine is wrong",
    r"NoSuchBucket|ContainerNotFound|bucket does not exist|notFound.*bucket": "there is no such bucket",
    r"InvalidAccessKeyId|SignatureDoesNotMatch|AccessDenied|AuthenticationFailed|AuthorizationFailure"
    r"|InvalidToken|ExpiredToken|40[13] |Unauthenticated|PermissionDenied|Unauthorized|Forbidden"
    r"|credential": "the credentials are not accepted, or may not do this",
    r"error sending request|[Cc]onnection|dns error|timed? ?out": "it cannot be reached",
}


# After so many seconds what a run was writing is abandoned.
ABANDONED = 24 * 3600
CHANGED = "it changed while it was read; the next run reads it again"


@dataclass(frozen=True)
class Entry:
    """A file that a folder holds: its size, when it was written, and an object's mark of its content."""

    size: int
    time_ns: int
    etag: str = ""

    @classmethod
    def of(cls, about: os.stat_result) -> Entry:
        """Take what the system says about a file."""
        return cls(about.st_size, about.st_mtime_ns)


class Folder:
    """A folder of this machine for files, which are named by paths relative to it."""

    # How Polars and Delta Lake get to an object store.
    options: Mapping[str, str] | None = None

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def address(self) -> str:
        """What people call it."""
        return str(self.root)

    @property
    def url(self) -> str:
        """What Delta Lake calls it."""
        return self.root.resolve().as_uri()

    def path(self, name: str) -> str:
        """Return what Polars calls a file."""
        return str(self.root / name)

    def files(self, folder: str = "") -> dict[str, Entry]:
        """List the files right in a folder of it, by name; none if there is no such folder."""
        held = dict[str, Entry]()
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            os.scandir(self.root / folder) as entries,
        ):
            for entry in entries:
                # One that another process removes meanwhile is not there.
                with suppress(FileNotFoundError):
                    if entry.is_file():
                        held[entry.name] = Entry.of(entry.stat())
        return dict(sorted(held.items()))

    def folders(self) -> list[str]:
        """List the folders right in it."""
        if not self.root.is_dir():
            return []
        return sorted(entry.name for entry in self.root.iterdir() if entry.is_dir())

    def read(self, name: str) -> bytes:
        """Read a file."""
        return (self.root / name).read_bytes()

    def create(self, name: str, content: bytes) -> None:
        """Write a file at once and for good; if the name is taken, nothing happens but FileExistsError."""
        atomic.create_file(self.root / name, content)

    def write(self, name: str, content: bytes) -> None:
        """Write a file at once, in the place of what was there."""
        atomic.replace_file(self.root / name, content)

    def take(self, file: str, name: str) -> None:
        """Take in a file that was written to the staging folder and is complete on disk."""
        os.rename(file, self.root / name)
        atomic.sync_folder(self.root)

    def remove(self, names: Iterable[str]) -> None:
        """Remove files; one that is not there is no matter."""
        for name in names:
            (self.root / name).unlink(missing_ok=True)

    def check(self) -> None:
        """Insist that files can be kept here."""
        (self.root / "_evals").mkdir(parents=True, exist_ok=True)

    def sync(self, names: Iterable[str]) -> None:
        """Make files and their names last that another library wrote; an object store does so by itself."""
        folders = {self.root}
        for name in names:
            with suppress(FileNotFoundError), open(self.root / name, "rb") as file:
                atomic.sync(file.fileno())
            folders.add((self.root / name).parent)
        for folder in folders:
            atomic.sync_folder(folder)

    @contextmanager
    def locked(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold it for one run, where there are locks; the commit is what keeps runs apart."""
        run_files = self.root / "_evals"
        with atomic.locked(run_files / "lock", waiting) as held:
            for abandoned in run_files.glob("staging-*"):
                # Where there are no locks, another run may be at work in it, or just be removing it.
                with suppress(FileNotFoundError):
                    if held or time.time() - abandoned.stat().st_mtime > ABANDONED:
                        shutil.rmtree(abandoned, ignore_errors=True)
            yield

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """Give a folder on this machine to write to, from which `take` is cheap."""
        with atomic.temporary_folder(self.root / "_evals" / f"staging-{uuid4().hex}") as folder:
            yield folder


def obstore() -> Any:
    """Import the library, or say how to install it."""
    try:
        import obstore
        import obstore.exceptions
        import obstore.store
    except ModuleNotFoundError:
        raise ConfigError(
            "object stores need the package obstore: pip install 'polars-evals[cloud]'"
        ) from None
    return obstore


def is_remote(path: str) -> bool:
    """Whether a path is an address of an object store."""
    # A single letter before the colon is a drive of Windows.
    return "://" in path[2:]


@dataclass(frozen=True)
class Address:
    """A bucket or container, and a path in it."""

    scheme: str
    host: str
    path: str

    @classmethod
    def of(cls, address: str) -> Address:
        """Read an address."""
        scheme, _, rest = address.partition("://")
        if scheme not in SCHEMES:
            raise ConfigError(
                f"{address!r}: unknown object store {scheme}://; use one of "
                f"{', '.join(f'{one}://' for one in SCHEMES)}"
            )
        host, _, path = rest.partition("/")
        if not host:
            raise ConfigError(f"{address!r} names no bucket: {scheme}://bucket/path")
        return cls(scheme, host, path.strip("/"))

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}" + (f"/{self.path}" if self.path else "")

    def open(self, options: Mapping[str, str] | None, *, prefix: str) -> Any:
        """Connect."""
        stores = obstore().store
        around = {name: value for name, value in os.environ.items() if name.startswith(VARIABLES)}
        keep_secrets(around)
        # The library takes from the environment what is about a kind of store, but not about the connection.
        around = {name: value for name, value in around.items() if CLIENT.fullmatch(name.lower())}
        config, client = split_options({**around, **(options or {})})
        kind = {"s3": stores.S3Store, "gs": stores.GCSStore}.get(self.scheme, stores.AzureStore)
        container, _, account = self.host.partition("@")
        if account:
            config.setdefault("azure_storage_account_name", account.split(".")[0])
        try:
            return kind(
                container, prefix=prefix or None, config=config, client_options=client, retry_config=RETRIES
            )
        except Exception as error:
            raise ConfigError(f"{self}: storage_options: {one_line(error)}") from None


def split_options(options: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tell the options of a kind of store from those of the connection."""
    config, client = dict[str, Any](), dict[str, Any]()
    for name, value in options.items():
        key = name.lower()
        if UNSAFE in key and value.lower() in ("true", "1"):
            raise ConfigError(f"storage_options: `{name}` could add rows twice; leave it out")
        found = CLIENT.fullmatch(key)
        if found:
            flag = {"true": True, "false": False}.get(value.lower())
            client[found[1]] = value if flag is None else flag
        elif not OTHERS.fullmatch(key) and UNSAFE not in key:
            config[key] = value
    return config, client


@contextmanager
def _explained(address: object, problem: type[JobError]) -> Iterator[None]:
    """Say in a line what is wrong with an object store."""
    try:
        yield
    except (JobError, OSError):
        raise
    except Exception as error:
        if not isinstance(error, obstore().exceptions.BaseError):
            raise
        text = str(error)
        meaning = next((meant for words, meant in MEANINGS.items() if re.search(words, text)), None)
        code = re.search(r"<Code>(\w+)</Code>", text)
        detail = code[1] if code else one_line(error)
        raise problem(f"{address}: {meaning} ({detail})" if meaning else f"{address}: {detail}") from None


class _RemoteFolder(Folder):
    """A prefix of an object store."""

    def __init__(self, address: str, options: Mapping[str, str] | None = None) -> None:
        self.place = Address.of(address)
        self.options = Options(options) if options else None
        self.store = self.place.open(options, prefix=self.place.path)
        self.library = obstore()

    @property
    def address(self) -> str:
        return str(self.place)

    url = address

    def path(self, name: str) -> str:
        return f"{self.place}/{name}"

    def _ask(self, what: str, *arguments: Any, **options: Any) -> Any:
        """Call a function of the library."""
        with _explained(self.place, StoreError):
            return getattr(self.library, what)(self.store, *arguments, **options)

    def files(self, folder: str = "") -> dict[str, Entry]:
        found = self._ask("list_with_delimiter", prefix=folder or None)["objects"]
        start = len(folder) + 1 if folder else 0
        return {one["path"][start:]: _entry_of(one) for one in sorted(found, key=lambda one: one["path"])}

    def folders(self) -> list[str]:
        return sorted(self._ask("list_with_delimiter")["common_prefixes"])

    def read(self, name: str) -> bytes:
        with _explained(self.place, StoreError):
            try:
                return bytes(self.library.get(self.store, name).bytes())
            except (FileNotFoundError, self.library.exceptions.NotFoundError):
                raise FileNotFoundError(f"{self.path(name)} does not exist") from None

    def create(self, name: str, content: bytes) -> None:
        with _explained(self.place, StoreError):
            try:
                self.library.put(self.store, name, content, mode="create")
            except self.library.exceptions.AlreadyExistsError:
                # An answer that got lost on its way is asked for again, and finds what it wrote.
                if not content or self.read(name) != content:
                    raise FileExistsError(f"{self.path(name)} already exists") from None

    def write(self, name: str, content: bytes) -> None:
        self._ask("put", name, content)

    def take(self, file: str, name: str) -> None:
        self._ask("put", name, Path(file))

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            with (
                _explained(self.place, StoreError),
                suppress(FileNotFoundError, self.library.exceptions.NotFoundError),
            ):
                self.library.delete(self.store, name)

    def check(self) -> None:
        """Insist that the store refuses to overwrite when asked to: commits depend on nothing else."""
        name = f"_evals/probe-{uuid4().hex}"
        self.create(name, b"1")
        try:
            self._ask("put", name, b"2", mode="create")
            why = "a second object of the same name replaced the first"
        except StoreError as error:
            is_refusal = re.search("already|precondition", str(error), re.IGNORECASE)
            why = "" if is_refusal else one_line(error)
        finally:
            self.remove([name])
        if why:
            raise StoreError(
                f"{self.place}: the object store has no conditional put, without which runs could overwrite "
                f"each other: {why}; name another store"
            )

    def sync(self, names: Iterable[str]) -> None:
        pass

    @contextmanager
    def locked(self, waiting: Callable[[], None]) -> Iterator[None]:
        yield

    @contextmanager
    def staging(self) -> Iterator[Path]:
        with atomic.temporary_folder(Path(mkdtemp(prefix="polars-evals-"))) as folder:
            yield folder


def _entry_of(found: Mapping[str, Any]) -> Entry:
    return Entry(found["size"], int(found["last_modified"].timestamp() * 1e6) * 1000, found["e_tag"] or "")


def list_objects(address: Address, options: Mapping[str, str] | None, *, is_folder: bool) -> dict[str, Entry]:
    """List all objects below a folder, or an object of that name, by their paths in the bucket."""
    library, store = obstore(), address.open(options, prefix="")
    with _explained(address, InputError):
        if address.path and not is_folder:
            with suppress(FileNotFoundError, library.exceptions.NotFoundError):
                return {address.path: _entry_of(library.head(store, address.path))}
        pages = library.list(store, prefix=address.path or None, chunk_size=1000)
        return {one["path"]: _entry_of(one) for page in pages for one in page}


def download(
    files: Mapping[str, Entry], folder: Path, options: Mapping[str, str] | None
) -> tuple[dict[str, str], dict[str, str]]:
    """Copy objects to a folder, as they were when they were listed; returns the copies and the failures."""
    places = {file: Address.of(file) for file in files}
    stores = {one.host: one.open(options, prefix="") for one in {p.host: p for p in places.values()}.values()}
    copies, failures = dict[str, str](), dict[str, str]()

    def fetch(file: str) -> None:
        address = places[file]
        # The folders keep their names, for some formats say with them what is inside.
        copy = folder / uuid4().hex / address.path
        copy.parent.mkdir(parents=True)
        try:
            with _explained(file, InputError):
                _fetch_one(stores[address.host], address.path, files[file], copy)
            copies[file] = str(copy)
        except (InputError, OSError) as error:
            failures[file] = one_line(error)

    with ThreadPoolExecutor(STREAMS) as pool:
        list(pool.map(fetch, files))
    return copies, failures


def _fetch_one(store: Any, key: str, entry: Entry, copy: Path) -> None:
    """Copy an object; where the connection breaks, the rest is asked for."""
    library = obstore()
    done, attempt = 0, 0
    with open(copy, "wb") as target:
        while done < entry.size or entry.size == 0:
            options: dict[str, Any] = {"if_match": entry.etag} if entry.etag else {}
            if done:
                options["range"] = {"offset": done}
            try:
                for chunk in library.get(store, key, options=options).stream(min_chunk_size=CHUNK):
                    done += target.write(chunk)
                break
            except (FileNotFoundError, library.exceptions.NotFoundError):
                raise InputError("it no longer exists") from None
            except library.exceptions.PreconditionError:
                raise InputError(CHANGED) from None
            except library.exceptions.BaseError:
                attempt += 1
                if attempt == ATTEMPTS:
                    raise
    if done != entry.size:
        raise InputError(CHANGED)


def open_folder(path: str | Path, storage_options: Mapping[str, str] | None = None) -> Folder:
    """Open a folder of this machine or of an object store, which need not exist yet."""
    if is_remote(str(path)):
        return _RemoteFolder(str(path), storage_options)
    return Folder(Path(path))


def write_file(
    path: str | Path, content: str | bytes, storage_options: Mapping[str, str] | None = None
) -> None:
    """Write a file at once: a reader finds the old one or the new one."""
    folder, name = os.path.split(str(path))
    content = content.encode() if isinstance(content, str) else content
    open_folder(folder or ".", storage_options).write(name, content)
