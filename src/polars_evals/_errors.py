"""What can go wrong for reasons outside the program, each with the exit code of the command."""

from __future__ import annotations

GATE_FAILED, USAGE, INPUT, INCONCLUSIVE = 1, 2, 3, 4

# What nobody foresaw: no verdict, and nothing that a user can be told to change.
UNEXPECTED = 70


class JobError(Exception):
    """A problem that the user can solve; the message says how."""

    code = USAGE


class ConfigError(JobError):
    """The job file, the suite or an option is wrong, or does not fit the store."""


class InputError(JobError):
    """An input is missing, unreadable or of the wrong shape."""

    code = INPUT


class StoreError(JobError):
    """The store cannot be read or written. Nothing was changed."""

    code = INPUT


def is_failure(error: BaseException) -> bool:
    """Whether something failed, and nobody asked to stop: a panic of a native library is no `Exception`."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"
