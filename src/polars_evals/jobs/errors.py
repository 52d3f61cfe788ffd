"""What can go wrong for reasons outside the program, each with the exit code of the command."""

GATE_FAILED, USAGE, INPUT, INCONCLUSIVE = 1, 2, 3, 4


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
