import json
import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe
from polars_evals.clean import STEPS
from polars_evals.suite.metric import metric_names, metric_type
from polars_evals.suite.signature import ALGORITHMS, NO_SCORE, written
from tests.cases import CASES, Case

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests/oracles/algorithms.json"
VERSIONS = ROOT / "docs/versions.md"


def signature(kind: str, **options: Any) -> str:
    (text,) = pe.Suite([pe.Metric(kind, **options)]).signature.values()
    return text


def test_signatures_name_every_option_and_the_version() -> None:
    suite = pe.Suite([pe.Metric("levenshtein", name="strict", threshold=1), pe.Metric("exact_match")])
    assert suite.signature == {
        "strict": "levenshtein|threshold:1.0|case:lower|max_chars:10000|decimals:2|missing:fail"
        "|levenshtein:1",
        "exact_match": "exact_match|threshold:1.0|case:lower|trim:yes|normalize_whitespace:no|missing:fail"
        "|exact_match:1",
    }
    assert (
        signature("levenshtein", case_sensitive=True, max_chars=None, decimals=None, missing="null")
        == "levenshtein|threshold:0.7|case:mixed|max_chars:none|decimals:none|missing:null|levenshtein:1"
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_option_that_changes_a_score_changes_the_signature(case: Case) -> None:
    kind = metric_type(case.name)
    required: dict[str, Any] = {} if kind.has_expected else dict.fromkeys(kind.by_column, "expected")
    if case.columns == "output":
        required = case.options
    if "encoder" in kind.options:
        required = {"encoder": case.options["encoder"]}
    plain = signature(case.name, **required)
    others = {"threshold": 0.123, "missing": "null", **case.options}
    flags = {name: not p.default for name, p in kind.options.items() if isinstance(p.default, bool)}
    for option, value in (others | flags).items():
        if option in required:
            continue
        differs = signature(case.name, **required, **{option: value}) != plain
        assert differs == (option not in NO_SCORE and value != kind.options[option].default), option


def test_another_release_changes_no_signature(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    suite = pe.Suite(["levenshtein", "rouge", pe.Metric("exact_match", clean=["fence"], field="$.a")])
    before = suite.signature
    suite.sink_parquet(pl.DataFrame({"output": ["a"], "expected": ["a"]}), tmp_path / "old.parquet")
    for module in [module for name, module in sys.modules.items() if name.startswith("polars_evals")]:
        if hasattr(module, "__version__"):
            monkeypatch.setattr(module, "__version__", "99.0.0")
    assert pe.__version__ == "99.0.0"
    assert suite.signature == before
    suite.sink_parquet(pl.DataFrame({"output": ["b"], "expected": ["a"]}), tmp_path / "new.parquet")
    assert pe.signatures([tmp_path / "old.parquet", tmp_path / "new.parquet"]) == before


def test_another_algorithm_changes_the_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    suite = pe.Suite(["levenshtein", "rouge", pe.Metric("exact_match", clean=["fence"], field="$.a")])
    before = suite.signature
    assert before["exact_match_a"].endswith('|field:"$.a"|exact_match:1|clean_fence:1|clean_field:1')
    monkeypatch.setitem(ALGORITHMS, "rouge", 2)
    monkeypatch.setitem(ALGORITHMS, "clean_fence", 3)
    changed = suite.signature
    assert changed["levenshtein"] == before["levenshtein"]
    assert changed["rouge1"] == before["rouge1"].removesuffix(":1") + ":2"
    assert "clean_fence:3" in changed["exact_match_a"]


def digest_of(case: Case) -> str:
    """What a metric gives on the columns of its case, to nine decimals."""
    scores = case.frame.select(case().struct.field("score").round(9)).to_series().to_list()
    return sha256(json.dumps(scores).encode()).hexdigest()[:16]


def digests() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for case in CASES:
        key = f"{case.name} {json.dumps(case.options, default=lambda value: value.__name__)}"
        found[key] = {"version": ALGORITHMS.get(case.name, 1), "scores": digest_of(case)}
    return found


def test_scores_change_with_the_version_of_their_algorithm() -> None:
    """A new digest needs a new version; `python -m tests.suite.test_signature` writes the table again."""
    known = json.loads(TABLE.read_text("utf-8"))
    for key, now in digests().items():
        assert key in known, f"{key} is not in {TABLE.name}: write it again"
        if now["version"] == known[key]["version"]:
            assert now["scores"] == known[key]["scores"], f"{key}: raise its version in ALGORITHMS"


def test_the_docs_list_every_algorithm() -> None:
    listed = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", VERSIONS.read_text("utf-8"), re.MULTILINE))
    steps = [f"clean_{step}" for step in (*STEPS, "after", "regex", "field")]
    assert listed == {name: str(ALGORITHMS.get(name, 1)) for name in (*metric_names(), *steps)}


def test_what_changes_no_score_is_not_in_the_signature() -> None:
    plain = signature("levenshtein")
    assert signature("levenshtein", name="a", output="b", expected="c") == plain
    assert signature("levenshtein", threshold=0.7, details=True) == plain
    assert signature("levenshtein", threshold=1) == signature("levenshtein", threshold=1.0)
    assert signature("regex_match", pattern_column="a") == signature("regex_match", pattern_column="b")


def test_values_are_written_without_ambiguity() -> None:
    values = [
        None,
        True,
        False,
        1,
        1.5,
        "none x",
        "a|b",
        "a:b",
        "13a",
        {"b": [1, "é"], "a": None},
        "x" * 500,
        "y" * 500,
    ]
    texts = [written(value) for value in values]
    assert texts[:9] == ["none", "yes", "no", "1", "1.5", '"none x"', '"a|b"', '"a:b"', "13a"]
    assert texts[9] == '{"a":null,"b":[1,"é"]}'
    assert len(set(texts)) == len(texts)
    assert max(map(len, texts)) <= 120
    assert signature("regex_match", pattern="a|threshold:0") != signature(
        "regex_match", pattern="a", threshold=0
    )


def test_scores_travel_with_their_signatures(tmp_path: Path) -> None:
    traces, scored = tmp_path / "traces.parquet", tmp_path / "new" / "scored.parquet"
    df = pl.DataFrame(
        {"output": ["Paris", "Rome", None] * 1000, "expected": ["paris", "Bern", "Oslo"] * 1000}
    )
    df.write_parquet(traces, row_group_size=500)
    suite = pe.Suite([pe.Metric("exact_match"), pe.Metric("levenshtein", details=True)])

    suite.sink_parquet(
        pl.scan_parquet(traces), scored, mkdir=True, metadata={"run": "7"}, compression="snappy"
    )

    assert_frame_equal(pl.read_parquet(scored), suite.score(df))
    assert pe.signatures(scored) == pe.signatures(str(scored)) == suite.signature
    assert pl.read_parquet_metadata(scored)["run"] == "7"
    later = suite.sink_parquet(df, tmp_path / "later.parquet", lazy=True)
    assert isinstance(later, pl.LazyFrame)
    assert not (tmp_path / "later.parquet").exists()
    later.collect()
    assert pe.signatures(tmp_path / "later.parquet") == suite.signature


def test_metadata_for_other_writers(tmp_path: Path) -> None:
    suite = pe.Suite([pe.Metric("exact_match")])
    df = pl.DataFrame({"output": ["a"], "expected": ["a"]})
    suite.score(df).write_parquet(tmp_path / "scored.parquet", metadata=suite.metadata)
    assert pe.signatures(tmp_path / "scored.parquet") == suite.signature


def test_signatures_of_partitions(tmp_path: Path) -> None:
    suite = pe.Suite([pe.Metric("exact_match")])
    df = pl.DataFrame({"model": ["a", "b"], "output": ["a", "b"], "expected": ["a", "a"]})
    # As it is called from Polars 1.37 on, and before.
    by_model = (
        pl.PartitionBy(tmp_path / "scores", key="model")
        if hasattr(pl, "PartitionBy")
        else pl.PartitionByKey(tmp_path / "scores", by="model")  # type: ignore[attr-defined]
    )
    suite.sink_parquet(df, by_model, mkdir=True)
    assert len(list(tmp_path.glob("scores/**/*.parquet"))) == 2
    assert pe.signatures(tmp_path / "scores") == suite.signature


def test_signatures_of_several_files(tmp_path: Path) -> None:
    df = pl.DataFrame({"output": ["a"], "expected": ["a"]})
    lenient, strict = (pe.Suite([pe.Metric("levenshtein", threshold=threshold)]) for threshold in (0.5, 0.9))
    lenient.sink_parquet(df, tmp_path / "1.parquet")
    lenient.sink_parquet(df, tmp_path / "2.parquet")
    (tmp_path / "notes.txt").write_text("not Parquet")
    same = lenient.signature
    assert pe.signatures(tmp_path) == pe.signatures(f"{tmp_path}/*.parquet") == same
    assert pe.signatures([tmp_path / "1.parquet", f"{tmp_path}/2.parquet"]) == same

    strict.sink_parquet(df, tmp_path / "3.parquet")
    with pytest.raises(ValueError, match="scores that were not made in the same way") as error:
        pe.signatures(tmp_path)
    _, one, three = str(error.value).splitlines()
    assert one == f"  levenshtein: {same['levenshtein']}  in {tmp_path}/1.parquet"
    assert three == f"  levenshtein: {strict.signature['levenshtein']}  in {tmp_path}/3.parquet"

    df.write_parquet(tmp_path / "3.parquet")
    with pytest.raises(ValueError, match=r"levenshtein: \(no signature\)  in .*3.parquet"):
        pe.signatures(tmp_path)


def test_files_without_signatures(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "plain.parquet")
    assert pe.signatures(tmp_path / "plain.parquet") == {}
    for nothing in (tmp_path / "none.parquet", f"{tmp_path}/*.pq", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(FileNotFoundError):
            pe.signatures(nothing)
    with pytest.raises(ValueError, match="no files were given"):
        pe.signatures([])


def test_a_name_may_be_any_text(tmp_path: Path) -> None:
    suite = pe.Suite([pe.Metric("exact_match", name='réponse "finale"|')])
    df = pl.DataFrame({"output": ["a"], "expected": ["a"]})
    suite.sink_parquet(df, tmp_path / "scored.parquet")
    assert pe.signatures(tmp_path / "scored.parquet") == suite.signature
    assert json.loads(json.dumps(suite.to_dict())) == suite.to_dict()


if __name__ == "__main__":
    TABLE.write_text(json.dumps(digests(), indent=1) + "\n", "utf-8")
