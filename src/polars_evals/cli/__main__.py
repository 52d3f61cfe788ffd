"""`python -m polars_evals.cli` is the command."""

from polars_evals.cli import main

main()
