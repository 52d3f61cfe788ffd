"""Folders and files of object stores: Amazon S3 and what speaks like it, Google Cloud Storage, Azure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from glob import has_magic
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from uuid import uuid4

from polars_evals.jobs.errors import ConfigError, InputError, JobError, StoreError, one_line
from polars_evals.jobs.folder import Entry, Folder, clearing
from polars_evals.jobs.listing import CHANGED, Listing, is_hidden, is_readable, pattern_regex
from polars_evals.jobs.secrets import Options, keep_environment_secret

SCHEMES = ("s3", "gs", "az", "abfss")
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
                f"{address!r}: {scheme}:// is no object store that is known; there are "
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
        keep_environment_secret()
        # The library takes from the environment what is about a kind of store, but not about the connection.
        around = {name: value for name, value in os.environ.items() if CLIENT.fullmatch(name.lower())}
        config, client = split_options({**prefixed(around), **(options or {})})
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


def prefixed(variables: Mapping[str, str]) -> dict[str, str]:
    """Keep the variables that name a kind of store: others may be meant for anything."""
    return {
        name: value for name, value in variables.items() if name.startswith(("AWS_", "AZURE_", "GOOGLE_"))
    }


def split_options(options: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tell the options of a kind of store from those of the connection."""
    config, client = dict[str, Any](), dict[str, Any]()
    for name, value in options.items():
        key = name.lower()
        if UNSAFE in key and value.lower() in ("true", "1"):
            raise ConfigError(
                f"storage_options: `{name}` gives up that rows are added exactly once; leave it out"
            )
        found = CLIENT.fullmatch(key)
        if found:
            flag = {"true": True, "false": False}.get(value.lower())
            client[found[1]] = value if flag is None else flag
        elif not OTHERS.fullmatch(key) and UNSAFE not in key:
            config[key] = value
    return config, client


@contextmanager
def told(address: object, problem: type[JobError]) -> Iterator[None]:
    """Say in a line what is wrong with an object store."""
    try:
        yield
    except (JobError, OSError):
        raise
    except Exception as error:
        if not isinstance(error, obstore().exceptions.BaseError):
            raise
        text = str(error)
        meaning = next((told for words, told in MEANINGS.items() if re.search(words, text)), None)
        code = re.search(r"<Code>(\w+)</Code>", text)
        detail = code[1] if code else one_line(error)
        raise problem(f"{address}: {meaning} ({detail})" if meaning else f"{address}: {detail}") from None


class RemoteFolder(Folder):
    """A prefix of an object store."""

    def __init__(self, address: str, options: Mapping[str, str] | None = None) -> None:
        self.place = Address.of(address)
        self.options = Options(options) if options else None
        self.store = self.place.open(options, prefix=self.place.path)
        self.library = obstore()

    @property
    def address(self) -> str:
        """The address."""
        return str(self.place)

    @property
    def url(self) -> str:
        """The address."""
        return str(self.place)

    def path(self, name: str) -> str:
        """Return the address of a file."""
        return f"{self.place}/{name}"

    def files(self, folder: str = "") -> dict[str, Entry]:
        """List a folder."""
        with told(self.place, StoreError):
            found = self.library.list_with_delimiter(self.store, prefix=folder or None)["objects"]
        start = len(folder) + 1 if folder else 0
        return {one["path"][start:]: entry_of(one) for one in sorted(found, key=lambda one: one["path"])}

    def folders(self) -> list[str]:
        """List the folders."""
        with told(self.place, StoreError):
            return sorted(self.library.list_with_delimiter(self.store)["common_prefixes"])

    def read(self, name: str) -> bytes:
        """Read a file."""
        with told(self.place, StoreError):
            try:
                return bytes(self.library.get(self.store, name).bytes())
            except (FileNotFoundError, self.library.exceptions.NotFoundError):
                raise FileNotFoundError(f"{self.path(name)} is not there") from None

    def create(self, name: str, content: bytes) -> None:
        """Put an object, if there is none of that name: the store itself sees to that."""
        with told(self.place, StoreError):
            try:
                self.library.put(self.store, name, content, mode="create")
            except self.library.exceptions.AlreadyExistsError:
                # An answer that got lost on its way is asked for again, and finds what it wrote.
                if not content or self.read(name) != content:
                    raise FileExistsError(f"{self.path(name)} is there already") from None

    def write(self, name: str, content: bytes) -> None:
        """Put an object, whatever was there."""
        with told(self.place, StoreError):
            self.library.put(self.store, name, content)

    def take(self, file: str, name: str) -> None:
        """Upload a file; it is there as a whole or not at all."""
        with told(self.place, StoreError):
            self.library.put(self.store, name, Path(file))

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects."""
        with told(self.place, StoreError):
            for name in names:
                try:
                    self.library.delete(self.store, name)
                except (FileNotFoundError, self.library.exceptions.NotFoundError):
                    continue

    def check(self) -> None:
        """Insist that the store refuses to overwrite when asked to: commits depend on nothing else."""
        name = f"_evals/probe-{uuid4().hex}"
        self.create(name, b"1")
        try:
            with told(self.place, StoreError):
                self.library.put(self.store, name, b"2", mode="create")
        except StoreError as error:
            if "already" not in str(error).lower() and "precondition" not in str(error).lower():
                raise self.unsafe(one_line(error)) from None
        else:
            raise self.unsafe("a second object of one name took the place of the first")
        finally:
            self.remove([name])

    def unsafe(self, why: str) -> StoreError:
        """Say that this store cannot keep rows exactly once."""
        return StoreError(
            f"{self.place}: the object store has no conditional put, without which runs could overwrite each "
            f"other: {why}; name another store"
        )

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """Give a folder of this machine, from which files are uploaded."""
        folder = Path(mkdtemp(prefix="polars-evals-"))
        with clearing(folder):
            yield folder


def entry_of(found: Mapping[str, Any]) -> Entry:
    """Read what a listing says of an object."""
    return Entry(found["size"], int(found["last_modified"].timestamp() * 1e6) * 1000, found["e_tag"] or "")


def list_remote(path: str, options: Mapping[str, str] | None) -> Listing:
    """List the objects that an address, a folder or a pattern stands for."""
    address = Address.of(path)
    pieces = address.path.split("/")
    fixed = next((at for at, piece in enumerate(pieces) if has_magic(piece)), None)
    root = "/".join(pieces if fixed is None else pieces[:fixed])
    pattern = None if fixed is None else re.compile(pattern_regex("/".join(pieces[fixed:])))
    bucket = f"{address.scheme}://{address.host}"
    store, listing = address.open(options, prefix=""), Listing()
    with told(path, InputError):
        if fixed is None and root and (single := head(store, root)) is not None:
            found = [single]
            pattern = re.compile(".*")
            root = root.rpartition("/")[0]
        else:
            found = [
                one for page in obstore().list(store, prefix=root or None, chunk_size=1000) for one in page
            ]
    for one in found:
        inside = one["path"][len(root) + 1 :] if root else one["path"]
        wanted = pattern.fullmatch(inside) if pattern else not is_hidden(inside)
        if wanted and (is_readable(inside) or len(found) == 1):
            listing.entries[f"{bucket}/{one['path']}"] = entry_of(one)
    listing.files.extend(sorted(listing.entries))
    if not listing.files:
        listing.unreadable[path] = f"{path!r} matches no file of traces"
    return listing


def head(store: Any, key: str) -> Mapping[str, Any] | None:
    """Look at an object; None if there is none of that name."""
    try:
        found: Mapping[str, Any] = obstore().head(store, key)
    except (FileNotFoundError, obstore().exceptions.NotFoundError):
        return None
    return found


def download(
    files: Mapping[str, Entry], folder: Path, options: Mapping[str, str] | None
) -> tuple[dict[str, str], dict[str, str]]:
    """Copy objects to a folder, as they were when they were listed; returns the copies and the failures."""
    stores = dict[str, Any]()
    for file in files:
        address = Address.of(file)
        if address.host not in stores:
            stores[address.host] = address.open(options, prefix="")
    copies, failures = dict[str, str](), dict[str, str]()

    def fetch(file: str) -> None:
        address = Address.of(file)
        # The folders keep their names, for some formats say with them what is inside.
        copy = folder / uuid4().hex / address.path
        copy.parent.mkdir(parents=True)
        try:
            with told(file, InputError):
                fetch_one(stores[address.host], address.path, files[file], copy)
            copies[file] = str(copy)
        except (InputError, OSError) as error:
            failures[file] = one_line(error)

    with ThreadPoolExecutor(STREAMS) as pool:
        list(pool.map(fetch, files))
    return copies, failures


def fetch_one(store: Any, key: str, entry: Entry, copy: Path) -> None:
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
                raise InputError("it is no longer there") from None
            except library.exceptions.PreconditionError:
                raise InputError(CHANGED) from None
            except library.exceptions.BaseError:
                attempt += 1
                if attempt == ATTEMPTS:
                    raise
    if done != entry.size:
        raise InputError(CHANGED)
