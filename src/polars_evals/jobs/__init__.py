"""Scheduled jobs: a store of scores that grows exactly once for each input, gates and reports."""

from polars_evals._lazy import import_lazily

__all__, __getattr__, __dir__ = import_lazily(__name__, __file__)
