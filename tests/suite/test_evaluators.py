"""The configuration of other systems, with the worked examples of their documents."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import polars_evals as pe
from tests.suite.test_files import load_error, write


def test_2signal_objects(tmp_path: Path) -> None:
    strict = '{"type": "levenshtein", "config": {"threshold": 0.9, "case_sensitive": true}}'
    path = write(tmp_path, "evaluator.json", strict)
    assert pe.Suite.load(path) == pe.Suite([pe.Metric("levenshtein", threshold=0.9, case_sensitive=True)])

    path = write(
        tmp_path, "evaluators.json", f'[{strict}, {{"type": "levenshtein"}}, {{"type": "exact_match"}}]'
    )
    suite = pe.Suite.load(path, output="o")
    assert [metric.name for metric in suite.metrics] == ["levenshtein", "levenshtein_2", "exact_match"]
    assert [metric.threshold for metric in suite.metrics] == [0.9, 0.7, 1.0]
    assert {metric.output for metric in suite.metrics} == {"o"}


@pytest.mark.parametrize(
    ("config", "expected", "outcomes"),
    [
        (
            {"threshold": 0.7},
            "The quick brown fox",
            {
                "The quick brown fox": (1.0, "pass"),
                "The quick brown dog": (0.89, "pass"),
                "Something entirely different": (0.18, "fail"),
            },
        ),
        (
            {"threshold": 0.9, "case_sensitive": True},
            "Hello World",
            {"Hello World": (1.0, "pass"), "Hello World!": (0.92, "pass"), "hello world": (0.82, "fail")},
        ),
        (
            {"threshold": 0.5},
            "customer support",
            {"customer service": (0.63, "pass"), "billing department": (0.11, "fail")},
        ),
    ],
)
def test_2signal_levenshtein(config: Any, expected: str, outcomes: dict[str, tuple[float, str]]) -> None:
    suite = pe.Suite.from_dict({"type": "levenshtein", "config": config})
    scored = suite.score(pl.DataFrame({"output": list(outcomes), "expected": expected}))
    assert scored.select("levenshtein_score", "levenshtein_label").rows() == list(outcomes.values())


@pytest.mark.parametrize(
    ("config", "expected", "outcomes"),
    [
        (
            {"case_sensitive": False},
            "positive",
            {"Positive": "pass", "POSITIVE": "pass", "positive!": "fail"},
        ),
        ({"case_sensitive": True}, "OK", {"OK": "pass", "ok": "fail", "Ok": "fail"}),
        ({"normalize_whitespace": True}, "Hello World", {"Hello   World": "pass", "Hello\nWorld": "pass"}),
        ({}, "Hello World", {"  Hello World\n": "pass", "Hello\nWorld": "fail"}),
    ],
)
def test_2signal_exact_match(config: Any, expected: str, outcomes: dict[str, str]) -> None:
    suite = pe.Suite.from_dict([{"type": "exact_match", "config": config}])
    scored = suite.score(pl.DataFrame({"output": list(outcomes), "expected": expected}))
    assert scored["exact_match_label"].to_list() == list(outcomes.values())


JUDGE_LLM = """
agent: {name: support}
providers:
  - type: mock
    agent_id: test
evaluators:
  - type: response_evaluator
    enabled: true
    config:
      similarity_threshold: 0.9 # Pass threshold (0.0-1.0)
      match_type: semantic
      case_sensitive: false
      normalize_whitespace: true
  - type: response_evaluator
  - type: cost_evaluator
    enabled: false
    config: {max_cost: 1}
  - type: response_evaluator
    config: {similarity_threshold: 1.0, match_type: exact}
"""


def test_judge_llm_evaluators(tmp_path: Path) -> None:
    suite = pe.Suite.load(write(tmp_path, "judge.yaml", JUDGE_LLM))
    assert [(metric.name, metric.threshold, metric.settings["match_type"]) for metric in suite.metrics] == [
        ("response", 0.9, "semantic"),
        ("response_2", 0.8, "auto"),
        ("response_3", 1.0, "exact"),
    ]


@pytest.mark.parametrize(
    ("config", "output", "expected", "outcome"),
    [
        (
            "match_type: rouge",
            "Paris is the capital of France",
            "The capital of France is Paris",
            (1.0, "pass"),
        ),
        ("match_type: semantic", "blue green yellow", "red blue green", (0.5, "fail")),
        ("match_type: recall", "red blue green yellow", "red blue", (1.0, "pass")),
        ("match_type: exact", "hello world", "Hello World", (1.0, "pass")),
        ("{match_type: exact, case_sensitive: true}", "hello world", "Hello World", (0.0, "fail")),
        (
            "{match_type: semantic, similarity_threshold: 0.5}",
            "blue green yellow",
            "red blue green",
            (0.5, "pass"),
        ),
    ],
)
def test_judge_llm_response(
    config: str, output: str, expected: str, outcome: tuple[float, str], tmp_path: Path
) -> None:
    config = config if config.startswith("{") else f"{{{config}}}"
    text = f"evaluators:\n  - type: response_evaluator\n    config: {config}"
    suite = pe.Suite.load(write(tmp_path, "judge.yaml", text))
    scored = suite.score(pl.DataFrame({"output": [output], "expected": [expected]}))
    assert scored.select("response_score", "response_label").row(0) == outcome


def test_axion_exact_string_match() -> None:
    suite = pe.Suite([pe.Metric("exact_match", case_sensitive=True)])
    pairs = [
        ("The answer is 42.", "The answer is 42."),
        ("Pass", "PASS"),
        ("Hello", " Hello "),
        ("It is Paris.", "Paris"),
    ]
    scored = suite.score(pl.DataFrame(pairs, schema=["output", "expected"], orient="row"))
    assert scored["exact_match_score"].to_list() == [1.0, 0.0, 1.0, 0.0]


def test_an_empty_config_is_none(tmp_path: Path) -> None:
    text = "evaluators:\n- type: exact_match\n  config:\n"
    assert pe.Suite.load(write(tmp_path, "judge.yaml", text)) == pe.Suite([pe.Metric("exact_match")])


EVALUATOR_ERRORS = {
    "unknown type": (
        "- type: trajectory_evaluator",
        'evaluators[1] "trajectory_evaluator": unknown metric "trajectory_evaluator"; ',
    ),
    "way out": ("- type: trajectory_evaluator", "; `enabled: false` leaves it out"),
    "unknown key": (
        "- {type: response_evaluator, confg: {}}",
        'evaluators[1] "response_evaluator": unknown key "confg"; did you mean "config"?',
    ),
    "unknown option": (
        "- {type: response_evaluator, config: {matchtype: exact}}",
        'evaluators[1] "response_evaluator": unknown option "matchtype"; did you mean "match_type"?',
    ),
    "two names": (
        "- {type: response_evaluator, config: {threshold: 1, similarity_threshold: 1}}",
        "an option is given under two names: threshold, similarity_threshold",
    ),
    "enabled": ("- {type: response_evaluator, enabled: 5}", "`enabled` must be true or false, got 5"),
    "config": ("- {type: response_evaluator, config: 5}", "config: must be a table of options, got 5"),
    "config that is a list": (
        "- {type: response_evaluator, config: []}",
        "config: must be a table of options, got []",
    ),
    "config that is false": (
        "- {type: response_evaluator, config: false}",
        "config: must be a table of options, got False",
    ),
    "none left": ("- {type: response_evaluator, enabled: false}", "a suite needs at least one metric"),
    "not a list": ("  type: response_evaluator", "a suite holds a list of metrics under `evaluators`"),
}


@pytest.mark.parametrize(("text", "message"), EVALUATOR_ERRORS.values(), ids=EVALUATOR_ERRORS)
def test_errors_of_evaluators(text: str, message: str, tmp_path: Path) -> None:
    assert message in load_error(tmp_path, "judge.yaml", f"evaluators:\n{text}")


def test_hints_speak_of_the_other_system_s_options() -> None:
    def error_of(option: str) -> str:
        evaluator = {"type": "response_evaluator", "config": {option: 0.8}}
        with pytest.raises(ValueError, match="unknown option") as refused:
            pe.Suite.from_dict({"evaluators": [evaluator]})
        return str(refused.value)

    assert error_of("similarity_treshold").endswith('did you mean "similarity_threshold"?')
    assert "response_evaluator takes similarity_threshold, " in error_of("zzz")
    assert " threshold" not in error_of("zzz")


def test_a_variant_is_not_a_type() -> None:
    for variant in ("rouge1", "rougeL", "rougeLsum"):
        with pytest.raises(ValueError, match=f'"{variant}" is type "rouge" with variant = "{variant}"'):
            pe.Suite.from_dict({"metric": [{"type": variant}]})
