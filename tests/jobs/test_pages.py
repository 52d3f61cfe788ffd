"""Pages of the command and of jobs: what they show, what they need, and what is checked before any work."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import polars_evals as pe
from polars_evals.jobs import ConfigError, run, scan_store
from polars_evals.report.numbers import day
from polars_evals.storage.objects import write_file
from tests.jobs.support import COMPARED, DATA, command, deliver, invoke, make_job, traces


def without(package: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command where a package is not installed."""
    code = f"import sys; sys.modules[{package!r}] = None; from polars_evals.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True, text=True, timeout=120, check=False, **options,
    )  # fmt: skip


def test_a_delta_store_without_its_extra_is_refused_before_any_work(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)
    ended = without("deltalake", "run", job)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1), ended.stderr
    assert "pip install 'polars-evals[jobs]'" in ended.stderr
    assert not (tmp_path / "scores").exists()


def test_the_page_shows_the_scores_over_time(tmp_path: Path, scored: Path) -> None:
    page = tmp_path / "page.html"
    assert invoke("compare", scored, *COMPARED, "--exit-zero", "--html", page)[0] == 0
    assert 'id="timeline"' not in page.read_text()
    code, _, error = invoke("compare", scored, *COMPARED, "--exit-zero", "--html", page, "--time", "ts")
    assert code == 0, error
    frame = pl.read_parquet(scored)
    settings: dict[str, Any] = {"by": "topic", "metrics": ["exact_match", "levenshtein"]}
    line = pe.timeline(frame, time="ts", **settings)
    began = line.summary.drop_nulls("began")["began"][0]
    assert 'id="timeline"' in page.read_text()
    assert f"since {day(began)}" in page.read_text()
    compared = pe.compare(frame, version="model", baseline="assistant-1.0", item="item_id", **settings)
    assert page.read_text() == compared.to_html(timeline=line)
    code, _, error = invoke("compare", scored, *COMPARED, "--exit-zero", "--html", page, "--time", "tss")
    assert code == 3
    assert "did you mean" in error
    assert (
        invoke("compare", scored, *COMPARED, "--exit-zero", "--html", page, "--time", "ts", "--every", "day")[
            0
        ]
        == 2
    )


def test_the_page_of_a_job_shows_the_scores_over_time(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(
        f"""
[input]
path = "{DATA}"
[suite]
metric = [{{ type = "levenshtein" }}]
[store]
path = "scores"
[compare]
version = "model"
baseline = "assistant-1.0"
item = "item_id"
by = ["topic"]
[report]
html = "report.html"
time = "ts"
every = "2d"
"""
    )
    code, _, error = invoke("run", tmp_path / "job.toml")
    assert code == 0, error
    page = (tmp_path / "report.html").read_text()
    line = pe.timeline(scan_store(tmp_path / "scores"), time="ts", every="2d", by="topic")
    [began] = line.summary.filter(verdict="regressed")["began"]
    assert 'id="timeline"' in page
    assert "Windows of 2d" in page
    assert day(began) in page


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('[report]\nhtml = "r.html"', "[report]: `html` is the page of a comparison: it needs [compare]"),
        ('[report]\njunit = "r.xml"\ntime = "ts"', "[report]: `time` is shown in the page"),
        ("[gate]\nmin_pass_rate = 0.1", "`gate` must be written [[gate]]"),
        (
            '[compare]\nitem = "item_id"\n[[gate]]\nmust_not_flip = [[1]]',
            "must be a list of items",
        ),
        ('[report]\njunit = "traces"', "`junit` must be a file, but"),
        ("[compare]\nalpha = -1", "[compare]: alpha must lie between 0 and 1"),
        ("[compare]\nalpha = 0", "[compare]: alpha must lie between 0 and 1"),
        ("[compare]\nmin_effect = -0.1", "[compare]: min_effect must be at least 0"),
        ("[compare]\nmin_effect = nan", "[compare]: min_effect must be at least 0"),
        ('[compare]\nmetrics = ["exact"]', '[compare]: unknown metric "exact"; did you mean "exact_match"?'),
        ('[compare]\n[report]\nhtml = "r.html"\nevery = "1d"', "[report]: `every` needs `time`"),
        (
            '[compare]\n[report]\nhtml = "r.html"\nreference = 7',
            "[report]: `reference` belongs to [timeline]",
        ),
        ('[compare]\n[report]\nhtml = "r.html"\ntime = "ts"\nevery = "day"', "every must be a length of"),
        ('[compare]\n[report]\nhtml = "r.html"\ntime = "ts"\nevery = "-1d"', "every must be a length of"),
    ],
)
def test_settings_of_a_job_are_checked_before_any_work(tmp_path: Path, more: str, message: str) -> None:
    more = more.replace("[compare]", '[compare]\nversion = "model"\nbaseline = "v1"')
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)
    code, _, error = invoke("run", make_job(tmp_path, more=more))
    assert code == 2
    assert message in error
    assert not (tmp_path / "scores").exists()


def test_a_timeline_that_cannot_be_made_costs_no_gate(tmp_path: Path) -> None:
    more = """
[compare]
version = "model"
baseline = "v1"
item = "item_id"
[[gate]]
min_pass_rate = 0.99
[report]
html = "page.html"
time = "topic"
"""
    job = make_job(tmp_path, more=more)
    for model in ("v1", "v2"):
        deliver(traces(range(20), model=model), tmp_path / f"traces/{model}.parquet", 1)
    code, out, _ = invoke("run", job)
    assert (code, "the page has no timeline" in out) == (1, True)
    assert (tmp_path / "page.html").exists()


def test_a_page_takes_the_place_of_files_only(tmp_path: Path, scored: Path) -> None:
    """Least of all that of a device, which root could replace."""
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_file(tmp_path / "pipe", "text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "latest.html").symlink_to(tmp_path / "page.html")
    for text in ("first", "second"):
        write_file(tmp_path / "latest.html", text)
        assert (tmp_path / "page.html").read_text() == text
    assert (tmp_path / "latest.html").is_symlink()
    (tmp_path / "folder").mkdir()
    code, _, error = invoke("compare", scored, *COMPARED, "--html", tmp_path / "folder")
    assert (code, f"cannot write '{tmp_path}/folder': Is a directory" in error) == (3, True)
    code, _, error = invoke("compare", scored, *COMPARED, "--junit", scored / "report.xml")
    assert (code, "cannot write" in error) == (3, True)
    assert sorted(os.listdir(tmp_path)) == ["folder", "latest.html", "page.html", "pipe"]


@pytest.mark.parametrize(("min_pass_rate", "code"), [(0.1, 3), (0.99, 1)])
def test_a_report_that_cannot_be_written_costs_itself(
    tmp_path: Path, min_pass_rate: float, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict is told, the other files are written, and the next run says the same."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no/such/folder/step.md"))
    (tmp_path / "taken").write_text("a file")
    reports = '[report]\njunit = "taken/report.xml"\nmarkdown = "report.md"\nsummary = "summary.json"\n'
    job = make_job(tmp_path, more=f"[[gate]]\nmin_pass_rate = {min_pass_rate}\n{reports}")
    traces(range(30)).write_parquet(tmp_path / "traces/a.parquet")
    for _ in range(2):
        found, out, error = invoke("run", job)
        assert (found, error) == (code, ""), out
        assert "not written: " in out
        assert "min_pass_rate" in out
        summary = json.loads((tmp_path / "summary.json").read_text())
        assert (summary["exit_code"], len(summary["unwritten"])) == (code, 2)
        assert f"summary: {tmp_path / 'summary.json'}" in out
        assert "rows judged" in (tmp_path / "report.md").read_text() or code == 1


def test_a_report_that_is_also_an_input_is_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path, more='[report]\nsummary = "traces/a.parquet"\n')
    deliver(traces(range(5)), tmp_path / "traces/a.parquet", 1)
    with pytest.raises(ConfigError, match="`summary` is also an input"):
        run(job)
    assert pl.read_parquet(tmp_path / "traces/a.parquet").height == 5


def test_two_reports_in_one_file_are_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path, more='[report]\nsummary = "r.txt"\njunit = "r.txt"\n')
    with pytest.raises(ConfigError, match="`junit` and `summary` are the same file"):
        run(job)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")
@pytest.mark.parametrize("kind", ["junit", "markdown", "summary"])
def test_a_report_that_is_a_pipe_does_not_hold_the_run(tmp_path: Path, kind: str) -> None:
    """Nobody reads it, so that it is named and the verdict stands; a reader gets it whole."""
    job = make_job(tmp_path, more=f'[[gate]]\nmin_pass_rate = 0.99\n[report]\n{kind} = "pipe"\n')
    traces(range(30)).write_parquet(tmp_path / "traces/a.parquet")
    os.mkfifo(tmp_path / "pipe")
    ended = command("run", job, timeout=60)
    assert ended.returncode == 1
    assert f"not written: {tmp_path / 'pipe'}" in ended.stdout
    with subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE, text=True) as reader:
        ended = command("run", job, timeout=60)
        told, _ = reader.communicate(timeout=60)
    assert ended.returncode == 1
    assert "min_pass_rate = 0.99" in told.replace("\\", "")
