"""Which files a path, a folder or a pattern stands for; what cannot be looked into is told, not skipped."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from glob import has_magic
from pathlib import Path

from polars_evals.jobs.errors import one_line
from polars_evals.jobs.folder import Entry
from polars_evals.traces.content import ENDINGS, ending

CHANGED = "it changed while it was read; the next run reads it again"


@dataclass(frozen=True)
class Listing:
    """The files that were found, and what could not be looked into, with the reason."""

    files: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    # What is known of the objects of a store without asking again.
    entries: dict[str, Entry] = field(default_factory=dict)


def list_local(path: str) -> Listing:
    """List the files of this machine that a path stands for; none if there is nothing of that name."""
    local = os.path.expanduser(path)
    if os.path.isfile(local):
        return Listing([local])
    if os.path.isdir(local):
        root, pattern, depth = local, None, None
    elif has_magic(local):
        root, inside = split_pattern(local)
        pattern = re.compile(pattern_regex(inside))
        depth = None if "**" in inside.split("/") else inside.count("/")
    else:
        return Listing()
    found = Listing()
    for file in walk(root, depth, found.unreadable):
        inside = os.path.relpath(file, root).replace(os.sep, "/")
        wanted = pattern.fullmatch(inside) if pattern else not is_hidden(inside)
        if wanted and is_readable(file):
            found.files.append(file)
        elif lost_folder(file) and not is_hidden(inside):
            found.unreadable[file] = no_file(file)
    for file in [file for file in found.files if not os.path.isfile(file)]:
        found.files.remove(file)
        found.unreadable[file] = no_file(file)
    found.files.sort()
    return found


def lost_folder(path: str) -> bool:
    """Whether a link leads nowhere that may have been a folder: it has no ending, as files have."""
    return not os.path.splitext(path)[1] and not os.path.exists(path)


def no_file(path: str) -> str:
    """Say why what has the name of a file is none."""
    if os.path.islink(path) and not os.path.exists(path):
        return f"it is a link to what is not there: {os.readlink(path)!r}"
    return "it is no regular file"


def split_pattern(pattern: str) -> tuple[str, str]:
    """Split a pattern into the folder that all its files are in, and the rest.

    A folder whose own name has the characters of a pattern, such as the one of a job, is that folder.
    """
    pieces = pattern.replace(os.sep, "/").split("/")
    first = next(index for index, piece in enumerate(pieces) if has_magic(piece))
    while first < len(pieces) - 1 and os.path.isdir("/".join(pieces[: first + 1])):
        first += 1
    root = "/".join(pieces[:first])
    # The first folder of all is "/", and that of a drive of Windows "C:/": "C:" is the one that it is in now.
    if first == 1 and (not root or root.endswith(":")):
        root += "/"
    return root, "/".join(pieces[first:])


def pattern_regex(pattern: str) -> str:
    """Write a pattern as a regular expression: `**` is any number of folders, `*` is in one name."""
    *folders, last = pattern.split("/")
    plain = r"[^/.][^/]*"
    told = "".join(rf"(?:{plain}/)*" if piece == "**" else f"{piece_regex(piece)}/" for piece in folders)
    return told + (rf"(?:{plain}/)*{plain}" if last == "**" else piece_regex(last))


def piece_regex(piece: str) -> str:
    """Write a pattern of one name as a regular expression; as in a shell, `*` finds no hidden file."""
    told, place = "" if piece.startswith(".") else r"(?!\.)", 0
    while place < len(piece):
        character = piece[place]
        end = piece.find("]", place + 2) if character == "[" else -1
        if end > 0:
            inside = re.sub(r"([\[\\&~|])", r"\\\1", piece[place + 1 : end])
            told += f"[{'^' + inside[1:] if inside.startswith('!') else inside}]"
            place = end
        else:
            told += {"*": "[^/]*", "?": "[^/]"}.get(character, re.escape(character))
        place += 1
    return told


def is_readable(name: str) -> bool:
    """Whether a file of a folder or pattern can hold traces, by its ending."""
    return ending(name) in ENDINGS


def is_hidden(name: str) -> bool:
    """Whether a file, or a folder on the way to it, is hidden."""
    return any(piece.startswith((".", "_")) for piece in name.split("/"))


def walk(root: str, depth: int | None, unreadable: dict[str, str]) -> Iterator[str]:
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
            if (depth is None or level < depth) and not is_within(inside, real):
                waiting.append((path, level + 1, (*inside, real)))


def is_within(inside: tuple[str, ...], folder: str) -> bool:
    """Whether a folder is one of those on the way here."""
    return any(Path(one) == Path(folder) for one in inside)
