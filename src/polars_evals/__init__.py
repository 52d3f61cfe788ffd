"""Score what language models say, and catch regressions between model versions, as Polars expressions."""

from polars_evals._version import __version__

__all__ = ["__version__"]
