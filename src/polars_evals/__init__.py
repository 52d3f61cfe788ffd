"""Score what language models say, and catch regressions between model versions, as Polars expressions."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from polars_evals._version import __version__

if TYPE_CHECKING:
    from polars_evals.traces import (
        check_traces,
        conversations,
        detect_traces,
        scan_traces,
        unmatched_items,
        with_expected,
    )

# Imported when first used, so that `import polars_evals` stays cheap.
_LAZY = dict.fromkeys(
    ("check_traces", "conversations", "detect_traces", "scan_traces", "unmatched_items", "with_expected"),
    "polars_evals.traces",
)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "__version__",
    "check_traces",
    "conversations",
    "detect_traces",
    "scan_traces",
    "unmatched_items",
    "with_expected",
]
