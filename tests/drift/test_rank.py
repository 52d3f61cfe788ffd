"""Leaderboards: against formulas, on planted orders, and by simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import polars_evals as pe

OUTPUTS = Path(__file__).parents[2].parent / "shared/data/outputs.parquet"


def scored(values: dict[str, np.ndarray], **more: object) -> pl.DataFrame:
    """Return one row an item and version."""
    return pl.concat(
        pl.DataFrame({"item": np.arange(len(scores)), "v": version, "m_score": scores, **more})
        for version, scores in values.items()
    )


def draw(rng: np.random.Generator, n: int, shifts: list[float]) -> pl.DataFrame:
    shared = rng.normal(0.5, 0.1, n)
    return scored({f"v{i}": shared + shift + rng.normal(0, 0.1, n) for i, shift in enumerate(shifts)})


def test_two_versions_are_the_paired_t_test() -> None:
    rng = np.random.default_rng(1)
    frame = draw(rng, 60, [0.0, 0.03])
    pair = pe.rank(frame, version="v", item="item").pairs.row(0, named=True)
    a, b = (frame.filter(pl.col("v") == name)["m_score"].to_numpy() for name in ("v0", "v1"))
    wanted = stats.ttest_rel(b, a)
    assert pair["difference"] == pytest.approx(float(np.mean(b - a)), abs=1e-12)
    assert pair["p_value"] == pytest.approx(wanted.pvalue, rel=1e-9)
    interval = wanted.confidence_interval(0.95)
    # One pair: nothing to correct but the error of the draws.
    assert pair["ci_low"] == pytest.approx(interval.low, abs=0.001)
    assert pair["ci_high"] == pytest.approx(interval.high, abs=0.001)


def test_clusters_are_cluster_robust() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(12), 5)
    effect = rng.normal(0, 0.2, 12)[groups]
    a, b = rng.normal(0.5, 0.1, 60), rng.normal(0.55, 0.1, 60) + effect
    frame = scored({"a": a, "b": b}, conversation=groups)
    pair = pe.rank(frame, version="v", item="item", cluster="conversation").pairs.row(0, named=True)
    fit = sm.OLS(b - a, np.ones(60)).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}, use_t=True
    )
    # statsmodels leaves the G / (G − 1) to its correction, which has another factor too.
    t = fit.params[0] / (fit.bse[0] * np.sqrt(12 / 11))
    assert pair["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), 11), rel=1e-6)


def test_a_clear_order_is_found_and_a_tie_is_not_decided() -> None:
    rng = np.random.default_rng(3)
    table = pe.rank(draw(rng, 400, [0.0, 0.2, 0.2, 0.4]), version="v", item="item").summary
    assert table["version"].to_list()[0] == "v3"
    assert table["version"].to_list()[-1] == "v0"
    first, *tied, last = table.select("rank_low", "rank_high").rows()
    assert first == (1, 1)
    assert last == (4, 4)
    assert set(tied) == {(2, 3)}
    assert table["p_best"][0] > 0.999
    assert table["p_best"].sum() == pytest.approx(1)


def test_a_baseline_is_compared_with_each_and_more_sharply() -> None:
    frame = draw(np.random.default_rng(4), 100, [0.0, 0.02, 0.05, 0.1, 0.1, 0.2])
    every = pe.rank(frame, version="v", item="item")
    against = pe.rank(frame, version="v", item="item", baseline="v0")
    assert against.pairs["a"].unique().to_list() == ["v0"]
    assert against.pairs.height == 5
    assert every.pairs.height == 15
    wide = every.pairs.filter(pl.col("a") == "v0", pl.col("b") == "v1").row(0, named=True)
    narrow = against.pairs.filter(pl.col("b") == "v1").row(0, named=True)
    assert narrow["difference"] == pytest.approx(wide["difference"])
    assert narrow["ci_high"] - narrow["ci_low"] < wide["ci_high"] - wide["ci_low"]
    assert every.summary.equals(against.summary)


def test_repeats_are_averaged_and_gaps_are_counted() -> None:
    frame = pl.DataFrame(
        {
            "item": [1, 1, 2, 3, 1, 2, 3, 4],
            "v": ["a"] * 4 + ["b"] * 4,
            "m_score": [0.0, 1.0, 1.0, None, 1.0, 0.5, 1.0, 1.0],
        }
    )
    ranking = pe.rank(frame, version="v", item="item")
    scores, answered = ranking.summary.partition_by("metric", maintain_order=True)
    assert dict(scores.select("version", "mean").rows()) == {"a": 0.75, "b": 0.75}
    assert scores["n"].to_list() == [2, 2]
    assert scores["rank"].to_list() == [1, 1]
    # Item 4 has no row of "a"; of its four rows, one has no score.
    assert answered.select("metric", "version", "rank").rows() == [("answered", "b", 1), ("answered", "a", 2)]
    assert any("2 items without a score in every version" in note for note in ranking.notes)


def test_constant_differences_are_not_certain() -> None:
    frame = scored({"a": np.zeros(3), "b": np.ones(3)})
    pair = pe.rank(frame, version="v", item="item").pairs.row(0, named=True)
    assert pair["p_value"] > 0.001
    assert pair["ci_low"] < 1 < pair["ci_high"]
    table = pe.rank(scored({"a": np.ones(30), "b": np.ones(30)}), version="v", item="item").summary
    assert (table["ci_low"] < 1).all()
    assert table["rank_high"].to_list() == [2, 2]


@pytest.mark.parametrize("versions", [3, 8])
def test_intervals_of_differences_and_ranks_hold_all_at_once(versions: int) -> None:
    rng, hits, ranked, means = np.random.default_rng(versions), 0, 0, 0
    shifts = np.linspace(0, 0.06, versions)
    true_rank = versions - np.arange(versions)
    times = 300
    for _ in range(times):
        ranking = pe.rank(draw(rng, 60, list(shifts)), version="v", item="item")
        pairs = ranking.pairs
        true = shifts[[int(b[1:]) for b in pairs["b"]]] - shifts[[int(a[1:]) for a in pairs["a"]]]
        hits += bool(((pairs["ci_low"].to_numpy() <= true) & (true <= pairs["ci_high"].to_numpy())).all())
        table = ranking.summary.with_columns(at=pl.col("version").str.slice(1).cast(pl.Int64))
        wanted = true_rank[table["at"].to_numpy()]
        low, high = table["rank_low"].to_numpy(), table["rank_high"].to_numpy()
        ranked += bool(((low <= wanted) & (wanted <= high)).all())
        true_means = 0.5 + shifts[table["at"].to_numpy()]
        means += bool(
            ((table["ci_low"].to_numpy() <= true_means) & (true_means <= table["ci_high"].to_numpy())).all()
        )
    # 95% and three standard errors of 300 trials.
    assert hits / times > 0.912
    assert ranked / times > 0.912
    assert means / times > 0.912


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"baseline": "w"}, "baseline 'w' is not in column"),
        ({"version": "w"}, "there is no column 'w'"),
        ({"alpha": 2}, "alpha"),
        ({"metrics": ["n"]}, "no numeric column 'n_score'"),
    ],
)
def test_mistakes_are_named(change: dict[str, object], message: str) -> None:
    frame = scored({"a": np.zeros(3), "b": np.ones(3)})
    with pytest.raises((ValueError, pl.exceptions.PolarsError), match=message):
        pe.rank(frame, **({"version": "v", "item": "item"} | change))  # type: ignore[arg-type]


def test_one_version_cannot_be_ranked() -> None:
    with pytest.raises(ValueError, match="nothing to rank"):
        pe.rank(scored({"a": np.zeros(3)}), version="v", item="item")


def test_it_shows_itself(tmp_path: Path) -> None:
    ranking = pe.rank(draw(np.random.default_rng(5), 50, [0, 0.1, 0.2]), version="v", item="item")
    assert "leads with" in repr(ranking)
    assert "v2" in ranking._repr_html_()
    assert ranking.to_html(tmp_path / "rank.html").endswith("rank.html")
    assert "<svg" in (tmp_path / "rank.html").read_text()
    assert '"summary"' in ranking.to_json()
    ranking.plot.means().save(tmp_path / "rank.svg")


@pytest.mark.skipif(not OUTPUTS.exists(), reason="needs the shared outputs of ten real models")
def test_ten_real_models_stand_in_their_known_order() -> None:
    frame = pe.Suite([pe.Metric("rouge")]).score(pl.read_parquet(OUTPUTS))
    table = pe.rank(frame, version="model", item="input").summary
    assert table.height == 10
    assert table["version"][0] == "Qwen2-72B-Instruct"
    place = dict(table.select("version", "rank").rows())
    assert place["wizardlm-13b-v1.2"] < place["wizardlm-13b-v1.1"] < place["wizardlm-13b"]
    assert place["vicuna-7b-v1.5"] < place["vicuna-7b-v1.3"] < place["vicuna-7b"]


def test_errors_are_set_apart_and_fewer_are_better() -> None:
    rng = np.random.default_rng(6)
    frame = draw(rng, 400, [0.0, 0.1]).with_columns(
        error=pl.when((pl.col("v") == "v0") & (pl.col("item") % 40 < 11)).then(pl.lit("timeout"))
    )
    frame = frame.with_columns(
        m_score=pl.when(pl.col("error").is_null()).then("m_score").otherwise(0.0),
        latency_ms=pl.when(pl.col("v") == "v0").then(900.0).otherwise(400.0)
        + pl.Series(rng.normal(0, 50, 800)),
    )
    ranking = pe.rank(frame, version="v", item="item", measures="latency_ms")
    # v0 fails 27.5% of its calls: it leads in nothing.
    leaders = ranking.summary.filter(pl.col("rank") == 1)
    assert dict(leaders.select("metric", "version").rows()) == dict.fromkeys(
        ["m", "latency_ms", "answered", "error"], "v1"
    )
    assert (leaders["p_best"] > 0.999).all()
    means = {(m, v): mean for m, v, mean in ranking.summary.select("metric", "version", "mean").rows()}
    assert means["error", "v0"] == pytest.approx(0.275)
    assert means["m", "v1"] - means["m", "v0"] == pytest.approx(0.1, abs=0.03)
    wrong = pe.rank(frame, version="v", item="item", unanswered="wrong").summary
    assert wrong.filter(pl.col("metric") == "m", pl.col("version") == "v0")["mean"].item() < 0.4
    with pytest.raises(ValueError, match="unanswered must be"):
        pe.rank(frame, version="v", item="item", unanswered="later")  # type: ignore[arg-type]
