"""Score what language models say, and catch regressions between model versions, as Polars expressions.

>>> import polars as pl
>>> import polars_evals as pe
>>> df = pl.DataFrame({"output": ["Hello World!"], "expected": ["Hello World"]})
>>> df.select(pl.col("output").evals.levenshtein(pl.col("expected"))).unnest("levenshtein")
shape: (1, 2)
┌───────┬───────┐
│ score ┆ label │
│ ---   ┆ ---   │
│ f64   ┆ enum  │
╞═══════╪═══════╡
│ 0.92  ┆ pass  │
└───────┴───────┘

Start with `Suite`, `Metric`, `metric`, `scan_traces`, `with_expected`, `compare`, `timeline`, `rank`,
`calibrate` and `plan`. The metrics are functions beside them.
"""

from polars_evals._lazy import import_lazily

__all__, __getattr__, __dir__ = import_lazily(__name__, __file__)
