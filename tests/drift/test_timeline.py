"""Timelines: windows, limits, always-valid p-values, segments, and the verdict about now."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from polars.testing import assert_frame_equal
from scipy import stats
from scipy.special import betaln
from statsmodels.stats.proportion import proportion_confint

import polars_evals as pe
from polars_evals.drift.inference.sequential import log_evidence
from polars_evals.drift.segments import Monitor, Windows, reference_of

from .frames import THRESHOLD, label

START = datetime(2025, 1, 1)
DATA = Path(__file__).parents[2] / "data/traces.parquet"


def traffic(days: int, rows: int, *, drop: float = 0.0, since: int = 10**6, seed: int = 0) -> pl.DataFrame:
    """`rows` scores a day, lower by `drop` from day `since` on."""
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(days), rows)
    score = np.clip(rng.beta(5, 2, days * rows) - drop * (day >= since), 0, 1)
    times = [
        START + timedelta(days=int(d), seconds=int(s))
        for d, s in zip(day, rng.integers(0, 86400, len(day)), strict=True)
    ]
    return pl.DataFrame({"ts": times, "m_score": score}).with_columns(label("m_score"))


def test_windows_equal_scipy_and_statsmodels() -> None:
    frame = traffic(20, 30)
    windows = pe.timeline(frame, time="ts").windows
    assert windows.height == 20
    for row in windows.iter_rows(named=True):
        mine = frame.filter(pl.col("ts").dt.truncate("1d") == row["window"])
        scores, passed = mine["m_score"].to_numpy(), (mine["m_label"] == "pass").sum()
        interval = stats.ttest_1samp(scores, 0).confidence_interval(0.95)
        low, high = proportion_confint(passed, 30, method="wilson")
        found = [row[c] for c in ("mean", "ci_low", "ci_high", "pass_rate", "pass_ci_low", "pass_ci_high")]
        expected = [scores.mean(), interval.low, interval.high, passed / 30, low, high]
        assert found == pytest.approx(expected, rel=1e-9)
        assert row["window_end"] - row["window"] == timedelta(days=1)


def test_clustered_windows_equal_statsmodels() -> None:
    frame = traffic(16, 40).with_columns(session=pl.int_range(pl.len()) // 4)
    first = pe.timeline(frame, time="ts", cluster="session").windows.row(0, named=True)
    mine = frame.filter(pl.col("ts").dt.truncate("1d") == first["window"])
    fit = sm.OLS(mine["m_score"].to_numpy(), np.ones(40)).fit(
        cov_type="cluster", cov_kwds={"groups": mine["session"].to_numpy()}, use_t=True
    )
    assert [first["ci_low"], first["ci_high"]] == pytest.approx(fit.conf_int(0.05)[0].tolist(), rel=1e-9)


def test_the_same_frame_gives_the_same_result() -> None:
    frame = traffic(10, 1_000).with_columns(session=pl.int_range(pl.len()) // 4)
    frame = pl.concat(frame.sample(fraction=1, shuffle=True, seed=1).iter_slices(500), rechunk=False)
    for cluster in (None, "session"):
        results = {pe.timeline(frame, time="ts", cluster=cluster).to_json() for _ in range(20)}
        assert len(results) == 1, cluster


def test_a_drop_is_found_with_its_date() -> None:
    line = pe.timeline(traffic(60, 40, drop=0.12, since=40), time="ts")
    change = line.summary.row(0, named=True)
    assert line.verdict == change["verdict"] == "regressed"
    assert abs(change["began"] - (START + timedelta(days=40))) <= timedelta(days=1)
    assert change["detected"] >= change["began"]
    assert change["difference"] == pytest.approx(-0.12, abs=0.03)
    assert change["p_change"] < 1e-6
    assert "since 2025-02" in change["reason"]
    recovered = pe.timeline(traffic(60, 40, drop=-0.12, since=40), time="ts")
    assert recovered.verdict == "improved"


def test_no_change_is_said_only_with_enough_rows() -> None:
    assert pe.timeline(traffic(40, 20), time="ts").verdict == "inconclusive"
    assert pe.timeline(traffic(40, 900), time="ts", min_effect=0.015).verdict == "no_change"


def test_empty_late_and_undated_windows_are_shown() -> None:
    frame = traffic(20, 10)
    gone = [START + timedelta(days=d) for d in (5, 6, 16)]
    holes = frame.filter(~pl.col("ts").dt.truncate("1d").is_in(gone))
    line = pe.timeline(holes.reverse(), time="ts", reference=5)
    assert line.windows.height == 20
    empty = line.windows.filter(pl.col("n") == 0)
    assert empty["window"].to_list() == gone
    assert (
        empty.select("mean", "ci_low", "limit_low", "outside", "pass_rate")
        .null_count()
        .sum_horizontal()
        .item()
        == 15
    )
    assert line.summary["empty_windows"].item() == 3
    undated = pl.concat([holes, frame.head(2).with_columns(ts=pl.lit(None, dtype=pl.Datetime))])
    again = pe.timeline(undated.sample(fraction=1, shuffle=True, seed=0), time="ts", reference=5)
    assert again.notes == ("2 rows have no time (ts) and were left out",)
    assert_frame_equal(again.windows, line.windows, abs_tol=1e-12)


def test_the_reason_agrees_with_its_interval() -> None:
    scored = pe.Suite([pe.Metric("levenshtein")]).score(pl.read_parquet(DATA))
    changes = pe.timeline(scored, time="ts", every="1d", version="model", by=["topic"]).summary
    around_zero = (pl.col("ci_low") <= 0) & (pl.col("ci_high") >= 0)
    possible = pl.col("reason").str.contains("no change and a change")
    assert changes.filter(possible).select(around_zero.all()).item()
    assert changes.filter(~around_zero).height >= 1
    assert changes.filter(~around_zero)["reason"].str.contains("likely").all()


def test_versions_and_slices_are_series_of_their_own() -> None:
    frame = traffic(30, 20).with_columns(
        model=pl.when(pl.col("ts") < START + timedelta(days=20)).then(pl.lit("v1")).otherwise(pl.lit("v2")),
        topic=pl.Series(["x", "y"] * 300),
    )
    line = pe.timeline(frame, time="ts", version="model", by=["topic"], reference=3)
    assert set(line.summary.select("version", "slice").rows()) == {
        (v, s) for s in (None, "topic=x", "topic=y") for v in ("v1", "v2")
    }
    assert line.windows.height == 6 * 30
    second = line.windows.filter(pl.col("version") == "v2", pl.col("slice").is_null())
    assert second.filter("reference")["n"].sum() == 60
    nameless = pe.timeline(
        frame.with_columns(model=pl.lit(None, dtype=pl.String)).vstack(frame), time="ts", version="model"
    )
    assert nameless.notes == ("600 rows have no version (model) and were left out",)


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("every", ["1h", "1d", "1w", "1mo"])
def test_windows_follow_the_calendar(zone: str | None, every: str) -> None:
    times = pl.datetime_range(datetime(2025, 3, 20), datetime(2025, 4, 10), "3h", eager=True, time_zone=zone)
    frame = pl.DataFrame({"ts": times, "m_score": [0.5, 0.6] * (len(times) // 2) + [0.5] * (len(times) % 2)})
    windows = pe.timeline(frame, time="ts", every=every, reference=2).windows
    assert windows["n"].sum() == frame.height
    assert windows["window"].is_sorted()
    assert windows["window"].n_unique() == windows.height
    assert windows["window"].dtype == times.dtype


def opening(start: datetime, time: datetime) -> datetime:
    """Return the moment at which a clock showed a start, for the last time before another moment."""
    for fold in (1, 0):
        moment = start.replace(tzinfo=time.tzinfo, fold=fold).astimezone(UTC)
        if moment <= time and moment.astimezone(time.tzinfo).replace(tzinfo=None) == start:
            return moment
    # No clock showed it; without a fold, that is when it would have.
    return start.replace(tzinfo=time.tzinfo).astimezone(UTC)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Havana", "Australia/Lord_Howe"])
@pytest.mark.parametrize("every", ["1h", "2h", "6h", "8h", "36h", "1d", "1w", "1mo"])
@pytest.mark.parametrize("start", [datetime(2025, 2, 20), datetime(2025, 9, 25)])
def test_a_change_of_clocks_invents_and_loses_no_window(zone: str, every: str, start: datetime) -> None:
    times = pl.datetime_range(start, start + timedelta(days=50), "30m", eager=True, time_zone="UTC")
    local = times.dt.convert_time_zone(zone)
    frame = pl.DataFrame({"ts": local, "m_score": 0.5})
    windows = pe.timeline(frame, time="ts", every=every, reference=2).windows
    starts = local.dt.replace_time_zone(None).dt.truncate(every)
    expected = {opening(start, time) for start, time in zip(starts, local, strict=True)}
    assert windows["window"].dt.convert_time_zone("UTC").to_list() == sorted(expected)
    assert windows["window_end"][:-1].to_list() == windows["window"][1:].to_list()
    # Without the rows in between, the same windows are there, empty.
    ends = pe.timeline(frame[[0, -1]], time="ts", every=every, reference=2).windows
    assert ends["window"].to_list() == windows["window"].to_list()
    assert ends["n"].sum() == 2


def test_dates_and_lazy_frames() -> None:
    frame = traffic(20, 5).with_columns(pl.col("ts").dt.date())
    line = pe.timeline(frame.lazy(), time="ts")
    assert line.windows["window"].to_list() == [date(2025, 1, 1) + timedelta(days=d) for d in range(20)]
    assert line.windows.equals(pe.timeline(frame, time="ts", every="24h").windows)


def test_the_difference_is_that_of_the_means_beside_it() -> None:
    """Also where some days have many rows, and days differ more than their rows do."""
    rng = np.random.default_rng(3)
    days = [START + timedelta(days=day) for day in range(40)]
    sizes = rng.integers(2, 80, 40)
    level = np.repeat(rng.normal(0.7, 0.05, 40), sizes)
    score = np.clip(level + rng.normal(0, 0.1, len(level)), 0, 1)
    frame = pl.DataFrame({"ts": np.repeat(np.array(days), sizes).tolist(), "m_score": score})
    [change] = pe.timeline(frame, time="ts").summary.to_dicts()
    assert change["difference"] == pytest.approx(change["current_mean"] - change["reference_mean"], abs=1e-12)


def test_reference_as_a_period() -> None:
    frame = traffic(30, 30, drop=0.2, since=15)
    period = (START + timedelta(days=15), START + timedelta(days=25))
    line = pe.timeline(frame, time="ts", reference=period)
    assert line.windows.filter("reference")["window"].to_list() == [
        START + timedelta(days=d) for d in range(15, 25)
    ]
    assert line.verdict in {"no_change", "inconclusive"}
    zoned = frame.with_columns(pl.col("ts").dt.replace_time_zone("UTC"))
    aware = pe.timeline(
        zoned, time="ts", reference=(datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 1, 11, tzinfo=UTC))
    )
    assert aware.verdict == "regressed"


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_reference_times_without_a_zone_are_in_the_columns_zone(zone: str) -> None:
    frame = traffic(30, 5).with_columns(pl.col("ts").dt.replace_time_zone(zone))
    naive = (START, START + timedelta(days=10))
    local = tuple(one.replace(tzinfo=ZoneInfo(zone)) for one in naive)
    elsewhere = tuple(one.astimezone(ZoneInfo("Asia/Tokyo")) for one in local)
    for period in (naive, local, elsewhere, tuple(one.date() for one in naive)):
        windows = pe.timeline(frame, time="ts", reference=period).windows  # type: ignore[arg-type]
        inside = windows.filter("reference")["window"].to_list()
        assert [inside[0], inside[-1], len(inside)] == [local[0], local[0] + timedelta(days=9), 10], period


def test_reference_times_with_a_zone_need_a_column_with_one() -> None:
    period = (datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 1, 11, tzinfo=UTC))
    with pytest.raises(ValueError, match="reference has a time zone, but column 'ts' has none"):
        pe.timeline(traffic(30, 5), time="ts", reference=period)


@pytest.mark.parametrize("score", [1.0, 0.0, 0.1, None])
def test_constant_and_missing_scores_have_no_nan(score: float | None) -> None:
    frame = (
        traffic(20, 3)
        .sample(55, seed=0)
        .with_columns(m_score=pl.lit(score, dtype=pl.Float64))
        .with_columns(label("m_score"))
    )
    line = pe.timeline(frame, time="ts")
    for series in [*line.windows.select(pl.selectors.float()), *line.summary.select(pl.selectors.float())]:
        assert series.is_finite().all(), series.name
    # So few rows say little, even if all are alike.
    assert line.verdict == "inconclusive"
    assert line.windows["n_null"].sum() == (55 if score is None else 0)


def test_a_constant_score_that_drops_is_seen() -> None:
    frame = traffic(40, 5).with_columns(
        m_score=pl.when(pl.col("ts") < START + timedelta(days=20)).then(1.0).otherwise(0.0)
    )
    line = pe.timeline(frame, time="ts")
    assert line.verdict == "regressed"
    assert line.summary["began"].item() == START + timedelta(days=20)


def test_too_few_windows_say_so() -> None:
    assert "fewer than 2 windows" in pe.timeline(traffic(1, 9), time="ts").summary["reason"].item()
    assert pe.timeline(traffic(9, 9), time="ts").summary["reason"].item() == (
        "the reference of 14 windows takes all 9 windows with scores; "
        "give a smaller one, such as reference=4, or shorter windows"
    )
    assert pe.timeline(traffic(2, 9), time="ts", reference=2).summary["reason"].item() == (
        "the reference of 2 windows takes all 2 windows with scores; give shorter windows"
    )
    period = (START, START + timedelta(days=9))
    assert pe.timeline(traffic(9, 9), time="ts", reference=period).summary["reason"].item() == (
        "there are no scores after the reference period"
    )


def test_the_reference_it_asks_for_works() -> None:
    frame = traffic(6, 9)
    reason = pe.timeline(frame, time="ts").summary["reason"].item()
    wanted = int(reason.split("reference=")[1].split(",")[0])
    assert pe.timeline(frame, time="ts", reference=wanted).summary["current_n"].item() > 0


@pytest.mark.parametrize(
    "every", ["daily", "", "d", "1 day", "1x", "0d", "-1d", "1i", "1ns", timedelta(days=1)]
)
@pytest.mark.parametrize("kind", [pl.Datetime("us"), pl.Datetime("ms", "UTC"), pl.Date])
def test_a_window_needs_a_length(every: Any, kind: Any) -> None:
    frame = traffic(3, 3).with_columns(pl.col("ts").dt.replace_time_zone("UTC").cast(kind))
    with pytest.raises(ValueError, match=r'every must be a length of time, such as "1d", "1w" or "1h", got'):
        pe.timeline(frame, time="ts", every=every)


def test_windows_of_dates_are_days_or_longer() -> None:
    frame = traffic(3, 3).with_columns(pl.col("ts").dt.date())
    with pytest.raises(ValueError, match=r'every="1h" is shorter than a day, but column \'ts\' holds dates'):
        pe.timeline(frame, time="ts", every="1h")


def test_the_headline_ends_where_the_data_end() -> None:
    frame = traffic(20, 3)
    weekly = pe.timeline(frame, time="ts", every="1w", reference=2)
    assert "from 1 Jan 2025 to 20 Jan 2025, every 1w" in weekly.headline
    hourly = pe.timeline(frame.filter(pl.col("ts") < START + timedelta(days=2)), time="ts", every="1h")
    assert f"to {hourly.period[1].day} Jan 2025, {hourly.period[1]:%H:%M}, every 1h" in hourly.headline
    dates = pe.timeline(frame.with_columns(pl.col("ts").dt.date()), time="ts", every="1w", reference=2)
    assert "from 1 Jan 2025 to 20 Jan 2025, every 1w" in dates.headline


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"time": "when"}, pl.exceptions.ColumnNotFoundError, "time: there is no column 'when'"),
        ({"time": "text"}, pl.exceptions.InvalidOperationError, "str.to_datetime"),
        ({"by": "auto"}, ValueError, "name the columns"),
        ({"reference": 1}, ValueError, "at least 2 windows"),
        ({"every": "1s"}, ValueError, "take longer ones"),
        ({"tau": 0.0}, ValueError, "tau must lie"),
        ({"alpha": 0.0}, ValueError, "alpha must lie between 0 and 1"),
        ({"alpha": 1e-300}, ValueError, "alpha must be at least 1e-12"),
        ({"min_effect": -0.01}, ValueError, "min_effect must be at least 0"),
        ({"min_effect": float("nan")}, ValueError, "min_effect must be at least 0"),
    ],
)
def test_what_cannot_be_followed_is_refused(options: Any, error: type[Exception], message: str) -> None:
    frame = traffic(3, 3).with_columns(text=pl.lit("2025"))
    with pytest.raises(error, match=message):
        pe.timeline(frame, **{"time": "ts"} | options)


def of_days(x: Any) -> Windows:
    """Days with the same number of rows each."""
    return Windows(np.full(len(x), float(x.shape[1])), x.mean(axis=1), x.var(axis=1, ddof=1))


def watched(windows: Windows, reference: int = 14) -> tuple[Any, Any, Any, Any]:
    known = reference_of(windows, np.arange(len(windows.n)) < reference)
    assert known is not None
    monitor = Monitor(windows, known, 0.1)
    return monitor, *monitor.watch(reference, 0.05)


def test_the_evidence_of_a_change_is_the_smaller_of_two() -> None:
    x = np.random.default_rng(3).random((30, 20)) < np.where(np.arange(30) < 20, 0.9, 0.5)[:, None]
    windows = of_days(x.astype(float))
    monitor, segments, p, _ = watched(windows, 20)
    before, after = windows.mean[:20], windows.mean[20:]
    t = stats.ttest_ind(after, before).statistic
    residual = np.concatenate([before - before.mean(), after - after.mean()])
    lagged = residual[:19] @ residual[1:20] + residual[20:-1] @ residual[21:]
    seen = lagged / (residual @ residual)
    known = monitor.reference
    good, all_rows = np.array([before.sum(), after.sum()]) * 20, np.array([400.0, 200.0])
    # Days that differ no more than chance: a day counts with all its rows, and none resembles another.
    assert known.excess < 1.2
    weight = 20 / (1 + 19 * (known.excess - 1) / 19)
    rate = good.sum() / 600
    excess = residual @ residual * weight / 28 / (rate * (1 - rate) * weight / 20) * 19 / 20
    alike = np.clip(seen + 8 * (1 + 3 * seen) / 30, 0, max(0, 1 - 1 / excess))
    count = (1 + alike) / (1 - alike)
    n = weight * 20 * 10 / 30 / count

    def student(tau: float) -> float:
        args = np.array([t / np.sqrt(count)]), np.array([28 / count]), np.array([n])
        return float(log_evidence(*args, tau**2 / known.variance)[0])

    each = max(excess, 1) * count
    (g0, g1), (n0, n1) = good / each, all_rows / each
    before_rate = (0.5 + g0) / (1 + n0)

    def rates(tau: float) -> float:
        strength = max(before_rate * (1 - before_rate) / tau**2 - 1, 1)
        up, down = strength * before_rate, strength * (1 - before_rate)
        return float(
            betaln(up + g1, down + n1 - g1) - betaln(up, down)
            - betaln(0.5 + g0 + g1, 0.5 + n0 + n1 - g0 - g1) + betaln(0.5 + g0, 0.5 + n0 - g0)
        )  # fmt: skip

    smaller = min(np.log(np.mean([np.exp(one(tau)) for tau in (0.1, 0.4)])) for one in (student, rates))
    found = monitor.against_reference(segments[-1])
    assert np.log(found) == pytest.approx(-smaller, rel=0.02)
    assert segments[-1].first == 20
    assert p[19:21].tolist() == pytest.approx([np.nan, p[20]], nan_ok=True)


def test_a_past_p_value_never_changes() -> None:
    rng = np.random.default_rng(0)
    x = (rng.random((60, 50)) < 0.99).astype(float)
    x[45:] = rng.random((15, 50)) < 0.8
    _, _, p, change = watched(of_days(x))
    for days in (20, 44, 50):
        _, _, early, early_change = watched(of_days(x[:days]))
        assert early[14:].tolist() == p[14:days].tolist()
        assert early_change[14:].tolist() == change[14:days].tolist()


def dip(level: list[tuple[int, float]], seed: int = 0) -> pl.DataFrame:
    """Days at one level after another, 60 rows each."""
    rng = np.random.default_rng(seed)
    levels = np.repeat([mean for _, mean in level], [days for days, _ in level])
    day = np.repeat(np.arange(len(levels)), 60)
    score = (rng.random(len(day)) < levels[day]).astype(float)
    times = [START + timedelta(days=int(d), minutes=int(m)) for m, d in enumerate(day % 10**6)]
    return (
        pl.DataFrame({"ts": times, "m_score": score}).sort("ts").with_columns(pl.col("ts").dt.truncate("1d"))
    )


def test_a_recovered_dip_is_history() -> None:
    line = pe.timeline(dip([(20, 0.9), (12, 0.6), (40, 0.9)]), time="ts")
    assert line.verdict in {"inconclusive", "no_change"}
    assert "the change of 2025-01-21 ended on 2025-02-0" in line.summary["reason"].item()
    assert line.segments.height == 3
    began = [START + timedelta(days=days) for days in (0, 20, 32)]
    for found, expected in zip(line.segments["began"], began, strict=True):
        assert abs(found - expected) <= timedelta(days=1)
    assert line.segments["ended"].to_list() == [*line.segments["began"][1:], None]
    assert line.segments["mean"].to_list() == pytest.approx([0.9, 0.6, 0.9], abs=0.05)
    assert (line.segments["ci_low"] < line.segments["mean"]).all()
    assert pe.timeline(dip([(20, 0.9), (12, 0.6)]), time="ts").verdict == "regressed"


def test_the_verdict_is_about_now() -> None:
    line = pe.timeline(dip([(20, 0.8), (20, 0.97), (25, 0.6)]), time="ts")
    assert line.verdict == "regressed"
    assert line.summary["difference"].item() == pytest.approx(-0.2, abs=0.06)


def test_days_that_resemble_their_neighbours_are_noted() -> None:
    rng = np.random.default_rng(1)
    effect = np.zeros(80)
    for day in range(1, 80):
        effect[day] = 0.8 * effect[day - 1] + rng.normal(0, 0.05)
    score = np.clip(0.7 + effect[:, None] + rng.normal(0, 0.1, (80, 20)), 0, 1).ravel()
    times = [START + timedelta(days=int(d)) for d in np.repeat(np.arange(80), 20)]
    line = pe.timeline(pl.DataFrame({"ts": times, "m_score": score}), time="ts")
    assert any("windows resemble those before them" in note for note in line.notes)
    assert line.summary["autocorrelation"].item() > 0.3


def test_forms() -> None:
    line = pe.timeline(traffic(30, 30, drop=0.3, since=20), time="ts")
    assert repr(line).startswith("all answers are worse: m 0.28 lower since 2")
    assert "1 series from 1 Jan 2025 to 30 Jan 2025" in " ".join(repr(line).split())
    assert "</table>" in line._repr_html_()
    document = json.loads(line.to_json())
    assert document["summary"]["rows"][0]["began"].startswith("2025-01-2")
    assert line.to_markdown().startswith("**all answers are worse")
    assert line.to_html().startswith("<!DOCTYPE html>")


def test_a_pass_rate_that_falls_at_the_same_mean_is_regressed() -> None:
    rng = np.random.default_rng(0)
    day = np.repeat(np.arange(40), 40)
    score = THRESHOLD + np.where(day < 20, 0.05, np.where(rng.random(1600) < 0.5, 0.2, -0.1))
    frame = pl.DataFrame(
        {"ts": [START + timedelta(days=int(d)) for d in day], "m_score": score}
    ).with_columns(label("m_score"))
    line = pe.timeline(frame, time="ts")
    [row] = line.summary.to_dicts()
    assert [row[k] for k in ("verdict", "score_verdict", "pass_verdict", "part")] == [
        "regressed", "inconclusive", "regressed", "pass_rate",
    ]  # fmt: skip
    assert row["began"] == row["pass_began"] == START + timedelta(days=20)
    assert row["pass_rate_difference"] == pytest.approx(-0.5, abs=0.05)
    assert "the pass rate is" in row["reason"]
    assert line.windows.height == 40
    assert line.windows["pass_p_change"][-1] < 1e-6


@pytest.mark.parametrize("how", ["null", "error"])
def test_answers_that_go_missing_are_a_series_of_their_own(how: str) -> None:
    rng = np.random.default_rng(1)
    frame = traffic(40, 40).with_columns(
        gone=pl.Series(rng.random(1600) < 0.3) & (pl.col("ts").dt.date() > date(2025, 1, 20))
    )
    if how == "null":
        frame = frame.with_columns(pl.when(~pl.col("gone")).then("m_score").alias("m_score"))
    else:
        # A failed call scores 0, as suites score a missing output.
        frame = frame.with_columns(
            error=pl.when("gone").then(pl.lit("timeout")),
            m_score=pl.when("gone").then(0.0).otherwise("m_score"),
        ).with_columns(label("m_score"))
    line = pe.timeline(frame.drop("gone"), time="ts")
    verdicts = dict(line.summary.select("metric", "verdict").rows())
    assert verdicts["answered"] == line.verdict == "regressed"
    assert verdicts["m"] != "regressed"
    assert verdicts.get("error", "regressed") == "regressed"
    answered = line.summary.row(by_predicate=pl.col("metric") == "answered", named=True)
    assert answered["began"] == START + timedelta(days=20)
    if how == "error":
        wrong = pe.timeline(frame.drop("gone"), time="ts", unanswered="wrong").summary
        assert wrong.row(by_predicate=pl.col("metric") == "m", named=True)["verdict"] == "regressed"


def test_another_mix_is_noted_and_weighed_out() -> None:
    rng = np.random.default_rng(2)
    day = np.repeat(np.arange(60), 60)
    level = np.array([0.95, 0.7, 0.6, 0.2])
    mixes = (0.4, 0.3, 0.2, 0.1), (0.1, 0.2, 0.3, 0.4)
    topic = np.where(day < 20, *(rng.choice(4, p=mix, size=len(day)) for mix in mixes))
    frame = pl.DataFrame(
        {
            "ts": [START + timedelta(days=int(d)) for d in day],
            "topic": [f"t{one}" for one in topic],
            "m_score": (rng.random(len(day)) < level[topic]).astype(float),
        }
    )
    plain = pe.timeline(frame, time="ts", by="topic")
    assert plain.summary.filter(pl.col("slice").is_null())["verdict"].item() == "regressed"
    assert any("the mix of topic differs" in note for note in plain.notes)
    line = pe.timeline(frame, time="ts", by="topic", adjust="topic")
    overall = line.summary.filter(pl.col("slice").is_null()).row(0, named=True)
    assert overall["verdict"] == "inconclusive"
    assert not line.notes
    # Every stratum is in every window, so the level is the post-stratified mean.
    first = frame.filter(pl.col("ts") < START + timedelta(days=14))
    share = dict(first.group_by("topic").len().rows())
    window = frame.filter(pl.col("ts") == START + timedelta(days=50))
    means = dict(window.group_by("topic").agg(pl.col("m_score").mean()).rows())
    expected = sum(share[one] * means[one] for one in share) / first.height
    assert line.windows["mean"][50] == pytest.approx(expected, abs=1e-12)
    later = frame.with_columns(
        pl.when(pl.col("ts") > START + timedelta(days=30))
        .then(pl.lit("new"))
        .otherwise("topic")
        .alias("topic")
    )
    assert any("topic=new" in note for note in pe.timeline(later, time="ts", adjust="topic").notes)
    lost = frame.with_columns(
        m_score=pl.when(pl.col("ts") > START + timedelta(days=40))
        .then(0.5 * pl.col("m_score"))
        .otherwise("m_score")
    )
    assert pe.timeline(lost, time="ts", adjust="topic").verdict == "regressed"
