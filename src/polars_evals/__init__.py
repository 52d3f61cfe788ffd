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
"""

from polars_evals import metrics
from polars_evals import namespace as namespace
from polars_evals._version import __version__
from polars_evals.metrics import *  # noqa: F403

__all__ = ["__version__"]
__all__ += metrics.__all__
