"""Which files a path, a folder or a pattern stands for; what cannot be looked into is named, not skipped."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from glob import has_magic
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlparse

from polars_evals.storage.objects import SCHEMES, Address, Entry, is_remote, list_objects
from polars_evals.storage.secrets import one_line
from polars_evals.wording import listed

Paths: TypeAlias = str | Path | Sequence[str | Path]

_PACKED = re.compile(r"\.(gz|zst)$", re.IGNORECASE)


@dataclass(frozen=True)
class Listing:
    """The files that were found, and what could not be looked into, with the reason."""

    files: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    # What is known of the objects of a store without asking again.
    entries: dict[str, Entry] = field(default_factory=dict)
    # The files that are no traces, with the reason.
    left_out: dict[str, str] = field(default_factory=dict)


def expand(
    paths: Paths, endings: Collection[str], storage_options: Mapping[str, str] | None = None
) -> list[str]:
    """List the files that paths, folders, patterns and URLs stand for; FileNotFoundError if one has none."""
    files = list[str]()
    for path in [paths] if isinstance(paths, str | Path) else paths:
        named = local_path(os.fspath(path)) or os.fspath(path)
        # A URL of a single file, and one that only Polars knows, is taken as it is.
        if is_remote(named) and (
            named.partition("://")[0] not in SCHEMES or (not has_magic(named) and ending(named) in endings)
        ):
            files.append(named)
            continue
        found = list_files(named, endings, storage_options)
        for name, reason in found.unreadable.items():
            raise FileNotFoundError(reason if name in reason else f"{name!r}: {reason}")
        files += found.files
    if not files:
        raise FileNotFoundError("no path to scan: the list of paths is empty")
    return unique_files(files)


def unique_files(files: Sequence[str]) -> list[str]:
    """Name each file once, as it was named first."""
    places = {file if is_remote(file) else os.path.abspath(file): file for file in reversed(files)}
    return list(places.values())[::-1]


def list_files(
    path: str, endings: Collection[str], storage_options: Mapping[str, str] | None = None
) -> Listing:
    """List the files that a path stands for; of folders and patterns, those with one of some endings."""
    return _list_remote(path, endings, storage_options) if is_remote(path) else _list_local(path, endings)


def ending(file: str) -> str:
    """Return the ending that says what a file is, without that of its packing."""
    return Path(_PACKED.sub("", file.lower())).suffix


def local_path(file: str) -> str | None:
    """Return the path of a file on this machine, also of a `file://` URL; None for another URL."""
    if file.startswith("file://"):
        path = unquote(urlparse(file).path)
        # With Windows, the drive comes behind a slash: file:///C:/traces.
        return path[1:] if os.path.splitdrive(path[1:])[0] else path
    return None if "://" in file else file


def _list_local(path: str, endings: Collection[str]) -> Listing:
    local = os.path.expanduser(path)
    if os.path.isfile(local):
        return Listing([local])
    if os.path.isdir(local):
        root, pattern, depth, what = local, None, None, f"the folder {path!r} holds"
    elif has_magic(local):
        root, inside = split_pattern(local)
        pattern = _pieces(inside)
        depth = None if "**" in pattern else len(pattern) - 1
        what = f"the pattern {path!r} matches"
    elif os.path.exists(local):
        return Listing(unreadable={path: f"{path!r} is a pipe or a device; write what it gives to a file"})
    else:
        return Listing(unreadable={path: f"no such file or folder: {path!r}"})
    found, others = Listing(), list[str]()
    for file in _walk(root, depth, found.unreadable):
        inside = os.path.relpath(file, root).replace(os.sep, "/")
        if _is_wanted(inside, pattern):
            if ending(file) not in endings:
                others.append(file)
            elif os.path.isfile(file):
                found.files.append(file)
            else:
                found.unreadable[file] = _no_file(file)
        if _may_be_lost_folder(file) and not _is_hidden(inside):
            found.unreadable[file] = _no_file(file)
    found.files.sort()
    if not found.files and not found.unreadable:
        only = f" (only {listed(sorted(others), 3)})" if others else ""
        found.unreadable[path] = f"{what} no file of traces: {', '.join(endings)}{only}"
    return found


def _list_remote(path: str, endings: Collection[str], options: Mapping[str, str] | None) -> Listing:
    address = Address.of(path)
    pieces = address.path.split("/")
    first = next((at for at, piece in enumerate(pieces) if has_magic(piece)), len(pieces))
    pattern = _pieces("/".join(pieces[first:])) if first < len(pieces) else None
    root = Address(address.scheme, address.host, "/".join(pieces[:first]))
    objects, listing = list_objects(root, options, is_folder=pattern is not None), Listing()
    for name, entry in objects.items():
        is_itself = name == root.path
        inside = name[len(root.path) + 1 :] if root.path else name
        if (is_itself and pattern is None) or (_is_wanted(inside, pattern) and ending(inside) in endings):
            listing.entries[f"{address.scheme}://{address.host}/{name}"] = entry
    listing.files.extend(sorted(listing.entries))
    if not listing.files:
        listing.unreadable[path] = f"{path!r} matches no file of traces"
    return listing


def _is_wanted(inside: str, pattern: Sequence[str] | None) -> bool:
    return not _is_hidden(inside) if pattern is None else _matches(inside.split("/"), pattern)


def _is_hidden(name: str) -> bool:
    return any(piece.startswith((".", "_")) for piece in name.split("/"))


def _pieces(pattern: str) -> list[str]:
    """Split a pattern by its folders; the last `**` stands for all files below."""
    pieces = pattern.split("/")
    return [*pieces, "*"] if pieces[-1] == "**" else pieces


def _matches(names: Sequence[str], pattern: Sequence[str]) -> bool:
    """Match names of folders and a file: `**` is any number of folders; as in a shell, none is hidden."""
    # How many names the pieces so far can match: a set, as trying every split takes for ever.
    matched = {0}
    for piece in pattern:
        if piece == "**":
            for at in range(min(matched, default=len(names)), len(names)):
                if at in matched and not names[at].startswith("."):
                    matched.add(at + 1)
        else:
            shows_hidden = piece.startswith(".")
            matched = {
                at + 1
                for at in matched
                if at < len(names)
                and (shows_hidden or not names[at].startswith("."))
                and fnmatchcase(names[at], piece)
            }
    return len(names) in matched


def split_pattern(pattern: str) -> tuple[str, str]:
    """Split a pattern into the folder of all its files, which may be named like a pattern, and the rest."""
    pieces = pattern.replace(os.sep, "/").split("/")
    first = next(index for index, piece in enumerate(pieces) if has_magic(piece))
    while first < len(pieces) - 1 and os.path.isdir("/".join(pieces[: first + 1])):
        first += 1
    root = "/".join(pieces[:first])
    # The first folder of all is "/", and that of a drive of Windows "C:/": "C:" is the one that it is in now.
    if first == 1 and (not root or root.endswith(":")):
        root += "/"
    return root, "/".join(pieces[first:])


def _may_be_lost_folder(path: str) -> bool:
    """Whether a link leads nowhere that may have been a folder: it has no ending, as files have."""
    return not os.path.splitext(path)[1] and not os.path.exists(path)


def _no_file(path: str) -> str:
    if os.path.islink(path) and not os.path.exists(path):
        return f"it is a broken link to {os.readlink(path)!r}"
    return "it is not a regular file"


def _walk(root: str, depth: int | None, unreadable: dict[str, str]) -> Iterator[str]:
    """Give all but the folders below one; a link to a folder that one is in already is not followed."""
    waiting: list[tuple[str, int, tuple[str, ...]]] = [(root, 0, (os.path.realpath(root),))]
    while waiting:
        folder, level, inside = waiting.pop()
        try:
            with os.scandir(folder or ".") as scanned:
                entries = list(scanned)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            unreadable[folder] = f"the folder cannot be read: {error.strerror or one_line(error)}"
            continue
        for entry in entries:
            path = os.path.join(folder, entry.name)
            try:
                is_folder = entry.is_dir()
            except OSError as error:
                unreadable[path] = one_line(error)
                continue
            if not is_folder:
                yield path
                continue
            real = os.path.realpath(path)
            if (depth is None or level < depth) and not any(Path(one) == Path(real) for one in inside):
                waiting.append((path, level + 1, (*inside, real)))


def is_inside_of(folder: str) -> Callable[[str], bool]:
    """Return a function that says whether a file is below a folder, by whatever links."""
    root = folder.rstrip("/") if is_remote(folder) else str(Path(folder).resolve())

    @cache
    def is_below(parent: str) -> bool:
        return Path(parent).resolve().is_relative_to(root)

    def is_inside(file: str) -> bool:
        if is_remote(file) or is_remote(folder):
            return file.startswith(f"{root}/")
        return is_below(os.path.dirname(file)) or (os.path.islink(file) and is_below(os.path.realpath(file)))

    return is_inside
