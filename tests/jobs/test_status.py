"""What people see of a job over the days: history, status, alerts on change, and files to look at."""

import json
import os
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import polars as pl
import pytest

from polars_evals.jobs import ConfigError, Job, maintain, run, scan_store, status
from polars_evals.jobs import alerts as alerts_module
from polars_evals.storage.objects import open_folder
from tests.jobs.support import deliver, invoke, make_job, table, traces

COMPARE = '[compare]\nversion = "model"\nbaseline = "v1"\nitem = "item_id"\n'
GATE = '[[gate]]\nfail_on = "regressed"\n'


class Listener:
    """Takes what is posted; answers with the codes that it is told to."""

    def __init__(self) -> None:
        self.posted: list[Any] = []
        self.answers: list[int] = []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                code = listener.answers.pop(0) if listener.answers else 200
                if code == 200:
                    listener.posted.append(json.loads(body))
                self.send_response(code)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/services/T0/SECRETPATH"


@pytest.fixture(name="listener")
def _listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    monkeypatch.setattr(alerts_module, "PATIENCE", 0.01)
    listener = Listener()
    yield listener
    listener.server.shutdown()
    listener.server.server_close()
    listener.thread.join()


def bad(rows: int = 60) -> pl.DataFrame:
    return traces(range(rows), "v2").with_columns(output=pl.lit("?"))


def good(rows: int = 60) -> pl.DataFrame:
    return traces(range(rows), "v2")


def test_alerts_are_sent_on_change_and_once(tmp_path: Path, listener: Listener) -> None:
    job = make_job(tmp_path, more=f'{COMPARE}{GATE}[alert]\nwebhook = "{listener.url}"\n')
    deliver(traces(range(60)), tmp_path / "traces/v1.parquet", 1)
    run(job)
    assert listener.posted == []
    deliver(bad(), tmp_path / "traces/v2.parquet", 2)
    for _ in range(2):
        assert run(job).exit_code() == 1
    [posted] = listener.posted
    assert (posted["status"], posted["was"], posted["job"]) == ("a gate failed", "passed", "job")
    assert any("regressed" in line for line in posted["lines"])
    deliver(good(), tmp_path / "traces/v2.parquet", 3)
    assert run(job).exit_code() == 0
    assert [one["status"] for one in listener.posted] == ["a gate failed", "passed"]


def test_an_alert_that_is_not_taken_is_sent_again_and_costs_nothing(
    tmp_path: Path, listener: Listener
) -> None:
    job = make_job(tmp_path, more=f'{COMPARE}{GATE}[alert]\nwebhook = "{listener.url}"\nform = "slack"\n')
    deliver(traces(range(60)), tmp_path / "traces/v1.parquet", 1)
    deliver(bad(), tmp_path / "traces/v2.parquet", 2)
    listener.answers = [500, 500, 500]
    outcome = run(job)
    assert outcome.exit_code() == 1
    [note] = [note for note in outcome.notes if "alert" in note]
    assert "the server answers 500" in note
    assert "SECRETPATH" not in outcome.to_json()
    listener.answers = [503]
    run(job)
    [posted] = listener.posted
    assert posted["text"].startswith("*job: a gate failed*")
    run(job)
    assert len(listener.posted) == 1


def test_a_command_is_told_too(tmp_path: Path) -> None:
    script = tmp_path / "tell.py"
    script.write_text(
        "import os, sys; open(sys.argv[1], 'a').write(os.environ['EVALS_STATUS'] + sys.stdin.read()[:1])"
    )
    told = tmp_path / "told"
    command = json.dumps([sys.executable, str(script), str(told)])
    job = make_job(tmp_path, more=f"{COMPARE}{GATE}[alert]\ncommand = {command}\n")
    deliver(traces(range(60)), tmp_path / "traces/v1.parquet", 1)
    deliver(bad(), tmp_path / "traces/v2.parquet", 2)
    run(job)
    run(job)
    assert told.read_text() == "a gate failed{"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "name a `webhook`, a `command`, or both"),
        ('webhook = "mailto:x"', "must begin with https"),
        ('webhook = { env = "NOT_SET_ANYWHERE" }', "NOT_SET_ANYWHERE, which is not set"),
        ("command = []", "name a `webhook`"),
        ('webhok = "x"', 'unknown key "webhok"; did you mean "webhook"'),
    ],
)
def test_wrong_alerts_are_told_when_the_job_is_read(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Job.load(make_job(tmp_path, more=f"[alert]\n{text}"))


def test_a_red_job_with_nothing_new_says_so(tmp_path: Path) -> None:
    job = make_job(tmp_path, more=COMPARE + GATE)
    deliver(traces(range(60)), tmp_path / "traces/v1.parquet", 1)
    deliver(bad(), tmp_path / "traces/v2.parquet", 2)
    assert run(job).same_as is None
    again = run(job)
    assert again.exit_code() == 1
    assert again.lines()[0].startswith("nothing new since 20")


def test_the_status_of_a_job(tmp_path: Path) -> None:
    job = make_job(tmp_path, more=COMPARE + GATE)
    assert invoke("status", job)[0] == 3
    deliver(traces(range(60)), tmp_path / "traces/v1.parquet", 1)
    run(job)
    deliver(bad(), tmp_path / "traces/v2.parquet", 2)
    (tmp_path / "traces/broken.parquet").write_bytes(b"PAR1")
    run(job)
    found = status(job)
    assert [(one.status, one.added) for one in found.runs] == [("passed", 60), ("a gate failed", 60)]
    assert (found.inputs, found.now.status) == (2, "a gate failed")
    code, out, _ = invoke("status", job)
    assert code == 0
    assert "not read: traces/broken.parquet" in out
    first, *others, last = out.splitlines()
    assert first.startswith("The gate failed. v2 against v1: overall worse")
    assert any(line.startswith("FAILED fail_on = regressed: v2 exact_match") for line in others)
    assert "v2 regressed" in out
    assert last.startswith(f"store: {tmp_path / 'scores'} (120 rows of 2 inputs)")
    document = json.loads(invoke("status", job, "--json", "--last", 1)[1])
    assert len(document["runs"]) == 1
    assert document["now"]["exit_code"] == 1


def test_the_items_to_look_at_are_in_a_file(tmp_path: Path) -> None:
    for name in ("items.csv", "items.parquet"):
        job = make_job(tmp_path, more=f'{COMPARE}{GATE}[report]\nitems = "{name}"\n')
        deliver(traces(range(60)), tmp_path / "traces/v1.parquet", 1)
        deliver(bad(), tmp_path / "traces/v2.parquet", 2)
        outcome = run(job)
        file = tmp_path / name
        assert outcome.reports["items"] == str(file)
        assert f"items newly fail (listed in {file})" in outcome.gates[0].lines[0]
        held = pl.read_csv(file) if name.endswith("csv") else pl.read_parquet(file)
        assert set(held["flip"]) == {"newly_failing"}
        assert {"item", "metric", "candidate_output"} <= set(held.columns)


def test_a_page_also_without_a_candidate(tmp_path: Path) -> None:
    job = make_job(tmp_path, more=f'{COMPARE}{GATE}[report]\nhtml = "report.html"\n')
    deliver(traces(range(60)), tmp_path / "traces/v1.parquet", 1)
    run(job)
    assert "Nothing to compare yet" in (tmp_path / "report.html").read_text()


def test_the_page_of_a_baseline_follows_it_over_time(tmp_path: Path) -> None:
    job = make_job(tmp_path, more=f'{COMPARE}{GATE}[report]\nhtml = "report.html"\ntime = "ts"\n')
    deliver(drifting(20, None), tmp_path / "traces/v1.parquet", 1)
    outcome = run(job)
    assert (outcome.exit_code(), outcome.comparison) == (0, None)
    page = (tmp_path / "report.html").read_text()
    assert "Nothing to compare yet" not in page
    assert "20 Jan 2026" in page


def test_what_to_look_at_is_never_cut_off(tmp_path: Path) -> None:
    name = "a-folder-with-a-long-name/" * 6 + "items.csv"
    deliver(traces(range(60)), tmp_path / "traces/v1.parquet", 1)
    deliver(bad(), tmp_path / "traces/v2.parquet", 2)
    [told] = [line for line in run(make_job(tmp_path, more=COMPARE + GATE)).lines() if "exact_match" in line]
    assert told.endswith("items newly fail")
    job = make_job(tmp_path, more=f'{COMPARE}{GATE}[report]\nitems = "{name}"\n')
    [told] = [line for line in run(job).lines() if "exact_match" in line]
    assert told.endswith(f"newly fail (listed in {tmp_path / name})")
    assert f"newly fail (listed in {tmp_path / name})" in "".join(status(job).lines())


def drifting(days: int, drop: int | None) -> pl.DataFrame:
    """Make a model's rows over days, which fail more often from a day on."""
    chance = np.random.default_rng(1)
    start = datetime(2026, 1, 1)
    frames = []
    for day in range(days):
        right = chance.random(40) < (0.5 if drop is not None and day >= drop else 0.9)
        frames.append(
            traces(range(day * 40, day * 40 + 40)).with_columns(
                ts=pl.lit(start + timedelta(days=day)),
                output=pl.when(pl.Series(right)).then("expected").otherwise(pl.lit("?")),
            )
        )
    return pl.concat(frames)


@pytest.mark.parametrize(("drop", "code"), [(None, 0), (25, 1)])
def test_one_model_that_drifts(tmp_path: Path, drop: int | None, code: int) -> None:
    """Without anything to compare it with."""
    more = (
        '[timeline]\ntime = "ts"\nreference = 10\n[[gate]]\nmetric = "exact_match"\ntimeline = "regressed"\n'
        '[report]\nhtml = "report.html"\n'
    )
    job = make_job(tmp_path, more=more)
    deliver(drifting(40, drop), tmp_path / "traces/a.parquet", 1)
    outcome = run(job)
    assert outcome.exit_code() == code, outcome.lines()
    assert "<html" in (tmp_path / "report.html").read_text()
    [gate] = outcome.gates
    assert gate.judged == 1
    if code:
        assert gate.lines[0].startswith("exact_match: regressed")


def test_a_timeline_gate_needs_its_section(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"needs a section \[timeline\]"):
        Job.load(make_job(tmp_path, more='[[gate]]\ntimeline = "regressed"\n'))


def test_bounds_on_measures_and_answers(tmp_path: Path) -> None:
    gates = """
[[gate]]
measure = "latency_ms"
max_mean = 100
[[gate]]
measure = "latency_ms"
max_quantile = { q = 0.95, value = 180 }
[[gate]]
measure = "cost"
max_mean = 1
[[gate]]
min_answered = 0.9
"""
    job = make_job(tmp_path, more=gates)
    rows = traces(range(200), latency_ms=list(range(200)), cost=[0.5] * 200)
    rows = rows.with_columns(output=pl.when(pl.int_range(pl.len()) < 150).then("output"))
    deliver(rows, tmp_path / "traces/a.parquet", 1)
    outcome = run(job)
    assert [gate.status for gate in outcome.gates] == ["passed", "failed", "passed", "failed"]
    assert outcome.gates[1].lines == ("latency_ms: 0.95 quantile 189.05 is above 180 (of 200 rows)",)
    assert outcome.gates[3].lines[0].startswith("answers: 75.0% of 200 rows have one, fewer than 90.0%")
    assert [gate.judged for gate in outcome.gates] == [200] * 4
    job.write_text(job.read_text().replace('"cost"', '"topic"'))
    with pytest.raises(ConfigError, match="which is String, not a number"):
        run(job)


@pytest.mark.parametrize(
    ("rows", "spoilt", "status"), [(400, 0, "passed"), (400, 400, "failed"), (6, 2, "failed")]
)
def test_a_candidate_that_must_not_be_worse(tmp_path: Path, rows: int, spoilt: int, status: str) -> None:
    gate = '[[gate]]\nmetric = "exact_match"\nnot_worse_than = 0.05\n'
    job = make_job(tmp_path, more=COMPARE + gate)
    deliver(traces(range(rows)), tmp_path / "traces/v1.parquet", 1)
    later = traces(range(rows), "v2").with_columns(
        output=pl.when(pl.int_range(pl.len()) < spoilt).then(pl.lit("?")).otherwise("output")
    )
    deliver(later, tmp_path / "traces/v2.parquet", 2)
    [found] = run(job).gates
    assert (found.status, found.judged) == (status, rows)
    if spoilt == rows:
        assert "worse by more than 0.05" in found.lines[0]


def test_a_daily_gate_raises_no_alarm_over_many_days() -> None:
    """Fixed-n tests that are looked at every day raise one sooner or later; these hold over all days."""
    from polars_evals.drift.inference.sequential import sequential_p

    chance = np.random.default_rng(7)
    days, items, runs, alpha = 60, 20, 1000, 0.05
    differences = chance.normal(0, 0.3, (runs, days * items))
    daily = fixed = 0
    looks = np.arange(1, days + 1) * items
    sums, squares = differences.cumsum(1)[:, looks - 1], (differences**2).cumsum(1)[:, looks - 1]
    means = sums / looks
    errors = np.sqrt((squares - looks * means**2) / (looks - 1) / looks)
    p = sequential_p(means / errors, (looks - 1).astype(np.float64), looks.astype(np.float64))
    daily = int((p <= alpha).any(1).sum())
    fixed = int((np.abs(means / errors) > 1.96).any(1).sum())
    assert daily <= alpha * runs
    assert fixed > 3 * alpha * runs


def test_maintenance(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    for number in range(6):
        deliver(traces(range(number * 10, number * 10 + 15)), tmp_path / f"traces/{number}.parquet", number)
        run(job)
    before = table(tmp_path)
    reader = scan_store(tmp_path / "scores")
    code, out, _ = invoke("maintain", job, "--json")
    done = json.loads(out)
    assert (code, done["files"], done["removed"]) == (0, 1, 0)
    assert reader.collect().height == len(before)
    for file in (tmp_path / "scores").rglob("*"):
        os.utime(file, (1, 1))
    maintain(job, keep_days=1)
    # Delta goes by the time at which the log says that a file was replaced.
    assert len(list((tmp_path / "scores").glob("part-*"))) > 6
    maintain(job, keep_days=0)
    assert len(list((tmp_path / "scores").glob("part-*"))) == 1
    assert table(tmp_path).equals(before)
    assert (
        "Deleted 0 old rows; merged no data files; removed 0 replaced files; " in invoke("maintain", job)[1]
    )
    deliver(traces(range(100, 110)), tmp_path / "traces/new.parquet", 99)
    assert run(job).added == 10


def test_the_history_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polars_evals.jobs.history.RUNS_KEPT", 3)
    monkeypatch.setattr("polars_evals.jobs.history.RUNS_SPARE", 2)
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)
    for _ in range(7):
        run(job)
    assert 3 <= len(open_folder(tmp_path / "scores").files("_evals/runs")) <= 5


def test_a_clock_that_goes_back_tells_nobody_twice(
    tmp_path: Path, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last run is the one that came last, whatever its clock said."""
    from polars_evals.jobs import history

    class Clock(datetime):
        offset = timedelta(days=400)

        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + cls.offset

    monkeypatch.setattr(history, "datetime", Clock)
    job = make_job(tmp_path, more=f'{COMPARE}{GATE}[alert]\nwebhook = "{listener.url}"\n')
    deliver(traces(range(60)), tmp_path / "traces/v1.parquet", 1)
    deliver(bad(), tmp_path / "traces/v2.parquet", 2)
    run(job)
    Clock.offset = timedelta()
    deliver(good(), tmp_path / "traces/v2.parquet", 3)
    for _ in range(3):
        run(job)
    assert [one["status"] for one in listener.posted] == ["a gate failed", "passed"]
    assert [one.status for one in status(job).runs] == ["a gate failed", "passed", "passed", "passed"]


@pytest.mark.skipif(sys.platform != "linux", reason="names are Unicode there")
def test_a_name_that_is_no_text_is_remembered_and_reported(tmp_path: Path, listener: Listener) -> None:
    reports = '[report]\nsummary = "s.json"\njunit = "j.xml"\nmarkdown = "m.md"\n'
    more = f'[alert]\nwebhook = "{listener.url}"\n{reports}'
    job = make_job(tmp_path, more=more)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)
    os.rename(
        os.fsencode(tmp_path / "traces/a.parquet"), os.fsencode(tmp_path / "traces") + b"/bad\xff.parquet"
    )
    deliver(traces(range(3, 6)), tmp_path / "traces/b.parquet", 1)
    for _ in range(2):
        code, out, error = invoke("run", job)
        assert (code, error) == (3, "")
        assert "history" not in out
    assert len(status(job).runs) == 2
    [posted] = listener.posted
    assert posted["status"] == "inputs were not read"
    assert json.loads((tmp_path / "s.json").read_text())["rows"] == 3


def test_status_takes_no_note_for_the_reason_why_inputs_were_not_read(tmp_path: Path) -> None:
    job = make_job(tmp_path, more='[compare]\nversion = "model"\nbaseline = "v1"\nitem = "item_id"')
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)
    (tmp_path / "traces/b.parquet").write_bytes(b"PAR1")
    assert invoke("run", job)[0] == 3
    out = invoke("status", job)[1]
    assert "inputs were not read (3):" not in out
    assert "not read: traces/b.parquet:" in out
