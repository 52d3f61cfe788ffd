"""The published drift of GPT-4 and GPT-3.5 on prime numbers (arXiv 2307.09009)."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

import polars_evals as pe

PRIMES = Path("shared", "data", "llmdrift_prime.parquet")


@pytest.fixture(name="scored", scope="module")
def _scored() -> pl.DataFrame:
    found = [folder / PRIMES for folder in Path(__file__).parents if (folder / PRIMES).exists()]
    if not found:
        pytest.skip("the data of the paper are not here")
    answers = pl.read_parquet(found[0]).with_columns(
        output=pl.col("output").str.extract(r"(?i)\[\s*(yes|no)\s*\.?\s*\]")
    )
    return answers.with_columns(pe.exact_match("output", "expected")).unnest("exact_match", separator="_")


def test_gpt_4_fell(scored: pl.DataFrame) -> None:
    comparison = pe.compare(
        scored, version="model", baseline="gpt-4-0314", candidate="gpt-4-0613", item="item_id"
    )
    row = comparison.summary.row(0, named=True)
    assert comparison.verdict == "regressed"
    assert row["n"] == 1000
    assert row["baseline_pass_rate"] == pytest.approx(0.84, abs=0.01)
    assert row["candidate_pass_rate"] == pytest.approx(0.51, abs=0.01)
    assert row["newly_failing"] > 3 * row["newly_passing"]
    assert max(row["p_value"], row["p_mcnemar"]) < 1e-30
    assert row["p_permutation"] == pytest.approx(1 / 4000)


def test_gpt_3_5_rose(scored: pl.DataFrame) -> None:
    comparison = pe.compare(
        scored, version="model", baseline="gpt-3.5-turbo-0301", candidate="gpt-3.5-turbo-0613", item="item_id"
    )
    assert comparison.verdict == "improved"
    flips = comparison.flips.filter(pl.col("flip") == "newly_passing")
    assert flips["input"].str.contains("prime").all()


def test_a_timeline_finds_the_day_on_which_gpt_4_was_exchanged(scored: pl.DataFrame) -> None:
    """A service answers 40 questions a day: first by one version, from day 20 on by the next."""
    for before, after, verdict in (
        ("gpt-4-0314", "gpt-4-0613", "regressed"),
        ("gpt-3.5-turbo-0301", "gpt-3.5-turbo-0613", "improved"),
    ):
        pieces = [
            scored.filter(pl.col("model") == model)
            .sample(800, shuffle=True, seed=1)
            .with_row_index("row", offset=800 * place)
            for place, model in enumerate((before, after))
        ]
        days = pl.concat(pieces).with_columns(
            ts=pl.datetime(2023, 6, 1) + pl.duration(days=pl.col("row") // 40)
        )
        [row] = pe.timeline(days, time="ts", metrics=["exact_match"]).summary.to_dicts()
        assert row["verdict"] == verdict
        assert abs((row["began"] - datetime(2023, 6, 21)).days) <= 1


def test_the_leaderboard_of_the_paper(scored: pl.DataFrame) -> None:
    table = pe.rank(scored, version="model", item="item_id").summary
    assert table["version"][0] == "gpt-4-0314"
    assert table.select("rank_low", "rank_high").row(0) == (1, 1)
    assert table["p_best"][0] > 0.999
