import json
import re
from pathlib import Path

import polars as pl
import pytest

import polars_evals as pe
from polars_evals.suite.files import repeated

SUITE = pe.Suite(
    [
        pe.Metric("levenshtein", threshold=0.8),
        pe.Metric("contains", name="answer", mode="all", expected="keywords"),
        pe.Metric("regex_match", pattern=r"^\d+$"),
    ],
    output="answer_text",
)

TOML = r"""
output = "answer_text"
expected = "expected"

[[metric]]
type = "levenshtein"
threshold = 0.8

[[metric]]
name = "answer"
type = "contains"
mode = "all"
expected = "keywords"

[[metric]]
type = "regex_match"
pattern = '^\d+$'
"""

YAML = r"""
output: answer_text
metric:
  - type: levenshtein
    threshold: 0.8
  - {name: answer, type: contains, mode: all, expected: keywords}
  - type: regex_match
    pattern: ^\d+$
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def load_error(folder: Path, name: str, text: str) -> str:
    """The message of a load, without the folder."""
    with pytest.raises(ValueError, match=f"^{re.escape(str(folder))}/") as error:
        pe.Suite.load(write(folder, name, text))
    return str(error.value).removeprefix(f"{folder}/")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("evals.toml", TOML),
        ("evals.yaml", YAML),
        ("evals.yml", YAML),
        ("evals.json", json.dumps(SUITE.to_dict())),
        ("BOM.TOML", "\ufeff" + TOML),
    ],
)
def test_the_same_suite_in_every_format(name: str, text: str, tmp_path: Path) -> None:
    path = write(tmp_path, name, text)
    assert pe.Suite.load(path) == SUITE
    assert pe.Suite.load(str(path)) == SUITE


def test_a_suite_is_what_it_writes() -> None:
    assert pe.Suite.from_dict(SUITE.to_dict()) == SUITE
    assert pe.Suite.from_dict(SUITE.to_dict()).signature == SUITE.signature


def test_columns_of_a_file_can_be_replaced(tmp_path: Path) -> None:
    path = write(tmp_path, "evals.yaml", YAML)
    metrics = pe.Suite.load(path, output="o", expected="e").metrics
    assert [(metric.output, metric.expected) for metric in metrics] == [
        ("o", "e"),
        ("o", "keywords"),
        ("o", None),
    ]


def test_none_in_toml(tmp_path: Path) -> None:
    path = write(
        tmp_path, "evals.toml", '[[metric]]\ntype = "levenshtein"\nmax_chars = "none"\ndecimals = "none"'
    )
    assert pe.Suite.load(path) == pe.Suite([pe.Metric("levenshtein", max_chars=None, decimals=None)])
    message = load_error(tmp_path, "evals.toml", '[[metric]]\ntype = "contains"\nmode = "none"')
    assert message.startswith('evals.toml: metric[1] "contains": `mode` must be one of "any", "all"')


ERRORS = {
    "unknown option": (
        '[[metric]]\ntype = "contains"\n[[metric]]\nname = "answer"\ntype = "levenshtein"\ntreshold = 0.8',
        'evals.toml: metric[2] "answer": unknown option "treshold"; did you mean "threshold"?',
    ),
    "unknown type": (
        '[[metric]]\ntype = "levenstein"',
        'evals.toml: metric[1] "levenstein": unknown metric "levenstein"; did you mean "levenshtein"?',
    ),
    "distance": (
        '[[metric]]\ntype = "levenshtein_distance"',
        'evals.toml: metric[1] "levenshtein_distance": "levenshtein_distance" gives no score and label; '
        'a suite takes metrics that do, such as "levenshtein", whose details=True gives the distance too',
    ),
    "wrong value": (
        '[[metric]]\ntype = "levenshtein"\nthreshold = 80',
        'evals.toml: metric[1] "levenshtein": `threshold` must be a number from 0 to 1, got 80',
    ),
    "value of a wrong type": (
        '[[metric]]\ntype = "exact_match"\ntrim = "yes"',
        "evals.toml: metric[1] \"exact_match\": `trim` must be True or False, got 'yes'",
    ),
    "choice": (
        '[[metric]]\ntype = "contains"\nmode = "al"',
        'evals.toml: metric[1] "contains": `mode` must be one of "any", "all", got \'al\'; did you mean',
    ),
    "pattern that is no text": (
        '[[metric]]\ntype = "regex_match"\npattern = 5',
        'evals.toml: metric[1] "regex_match": ',
    ),
    "missing option": (
        '[[metric]]\ntype = "regex_match"',
        'evals.toml: metric[1] "regex_match": the option "pattern" (or "pattern_column") is missing',
    ),
    "no type": ('[[metric]]\nname = "a"', 'evals.toml: metric[1] "a": the `type` is missing; use one of '),
    "type that is no text": (
        "[[metric]]\ntype = 5",
        'evals.toml: metric[1]: unknown metric "5"; use one of ',
    ),
    "metric that is no table": ("metric = [5]", "evals.toml: metric[1]: must be a table of options, got 5"),
    "one metric, no list": (
        '[metric]\ntype = "levenshtein"',
        "evals.toml: a suite holds a list of metrics under `metric`, got {'type': 'levenshtein'}; "
        "in TOML write [[metric]]",
    ),
    "no metrics": ("metric = []", "evals.toml: a suite holds a list of metrics under `metric`, got []"),
    "empty": ("", "evals.toml: a suite holds a list of metrics under `metric`, got None"),
    "unknown key": ('[[metrics]]\ntype = "a"', 'evals.toml: unknown key "metrics"; did you mean "metric"?'),
    "unknown key, nothing near": (
        "zzz = 1",
        'evals.toml: unknown key "zzz"; a suite has metric, measure, aggregate, output, expected',
    ),
    "column": (
        'output = 5\n[[metric]]\ntype = "a"',
        "evals.toml: `output` must be the name of a column, got 5",
    ),
    "repeated name": (
        '[[metric]]\nname = "a"\ntype = "contains"\n[[metric]]\nname = "a"\ntype = "levenshtein"',
        'evals.toml: two metrics are named "a"; give them different names',
    ),
    "both kinds": (
        '[[metric]]\ntype = "contains"\n[[evaluators]]\ntype = "levenshtein"',
        'evals.toml: unknown key "evaluators"; a suite has metric, measure, aggregate, output, expected',
    ),
    "not TOML": (
        "[[metric]\n",
        "evals.toml: Expected ']]' at the end of an array declaration (at line 1, column 9)",
    ),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS)
def test_errors_name_file_place_and_the_right_word(text: str, message: str, tmp_path: Path) -> None:
    assert load_error(tmp_path, "evals.toml", text).startswith(message)


FORMAT_ERRORS = {
    "ending": ("evals.txt", "", "evals.txt: a suite file ends in .toml, .yaml, .yml or .json"),
    "not YAML": ("evals.yaml", "metric: [", "evals.yaml: while parsing a flow node"),
    "not JSON": ("evals.json", "{", "evals.json: Expecting property name enclosed in double quotes: line 1"),
    "key twice in JSON": (
        "evals.json",
        '{"metric": [], "metric": []}',
        'evals.json: the key "metric" is given twice',
    ),
    "key twice in YAML": (
        "evals.yaml",
        "metric:\n- type: contains\n  mode: any\n  mode: all",
        'evals.yaml: line 2: the key "mode" is given twice',
    ),
    "deep YAML": ("evals.yaml", "- " * 5000 + "a", "evals.yaml: nested too deeply"),
    "deep JSON": ("evals.json", "[" * 100_000, "evals.json: nested too deeply"),
    "aliases that multiply": (
        "evals.yaml",
        "a0: &a0 [x, x]\n"
        + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
        + "metric: *a59",
        "evals.yaml: its aliases repeat more than 1,000,000 characters; write the values out",
    ),
    "aliases of a long text": (
        "evals.yaml",
        f"a: &a {'x' * 100_000}\nmetric: [{'*a, ' * 20}]",
        "evals.yaml: its aliases repeat more than 1,000,000 characters; write the values out",
    ),
    "an alias of itself": (
        "evals.yaml",
        "metric: &a [{type: contains, mode: *a}]",
        "evals.yaml: line 1: an alias refers to itself",
    ),
    "key twice in a mapping that is merged": (
        "evals.yaml",
        "metric:\n- &a {type: contains, mode: any, mode: all}\n- {<<: *a, name: b}",
        'evals.yaml: line 2: the key "mode" is given twice',
    ),
    "lone surrogate in JSON": (
        "evals.json",
        r'{"metric": [{"type": "contains", "name": "\ud800"}]}',
        r"evals.json: a lone surrogate, '\ud800', is not a character",
    ),
    "lone surrogate as a key of JSON": (
        "evals.json",
        r'{"metric": [{"type": "contains", "\ud800": 1}]}',
        r"evals.json: a lone surrogate, '\ud800', is not a character",
    ),
    "lone surrogate in a list of JSON": (
        "evals.json",
        r'{"metric": [{"type": "json_schema", "schema": {"enum": ["\ud800"]}}]}',
        r"evals.json: a lone surrogate, '\ud800', is not a character",
    ),
    "lone surrogate in YAML": (
        "evals.yaml",
        r'metric: [{type: contains, name: "a\ud800"}]',
        r"evals.yaml: a lone surrogate, '\ud800', is not a character",
    ),
    "objects in YAML": (
        "evals.yaml",
        "metric: !!python/object/apply:os.getcwd []",
        "evals.yaml: could not determine a constructor for the tag",
    ),
    "a word that YAML takes for false": (
        "evals.yaml",
        "metric:\n- {type: contains, name: no}",
        'evals.yaml: metric[1] "contains": `name` must be a name, got False; put it in quotes',
    ),
    "text": (
        "evals.yaml",
        "levenshtein",
        "evals.yaml: a suite holds a list of metrics under `metric`, got 'leven",
    ),
}


@pytest.mark.parametrize(("name", "text", "message"), FORMAT_ERRORS.values(), ids=FORMAT_ERRORS)
def test_errors_of_formats(name: str, text: str, message: str, tmp_path: Path) -> None:
    assert load_error(tmp_path, name, text).startswith(message)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.toml"):
        pe.Suite.load(tmp_path / "nowhere.toml")
    (tmp_path / "latin.toml").write_bytes("# é".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.toml: not UTF-8 text"):
        pe.Suite.load(tmp_path / "latin.toml")


def test_schemas_stand_in_the_file(tmp_path: Path) -> None:
    text = """
    metric:
      - type: json_schema
        schema: {type: object, required: [city], properties: {city: {type: string}}}
      - {type: length_between, maximum: 20}
    """
    suite = pe.Suite.load(write(tmp_path, "evals.yaml", text))
    scored = suite.score(
        pl.DataFrame({"output": ['{"city": "Bern"}', '{"city": 3}', "not JSON, but a long text"]})
    )
    assert scored["json_schema_score"].to_list() == [1.0, 0.0, 0.0]
    assert scored["length_between_score"].to_list() == [1.0, 1.0, 0.0]
    assert (
        'schema:{"properties":{"city":{"type":"string"}},"required":["city"]'
        in suite.signature["json_schema"]
    )
    message = load_error(tmp_path, "evals.yaml", "metric: [{type: json_schema, schema: {type: 5}}]")
    assert message.startswith('evals.yaml: metric[1] "json_schema": ')


def test_anchors_aliases_and_merges(tmp_path: Path) -> None:
    text = """
    metric:
      - &strict {type: levenshtein, threshold: 0.9}
      - &lenient {<<: *strict, name: lenient, threshold: 0.5}
      - {<<: *lenient, name: other, output: &column other}
      - {type: contains, expected: *column}
    """
    suite = pe.Suite.load(write(tmp_path, "evals.yaml", text))
    assert [(metric.name, metric.threshold) for metric in suite.metrics[:3]] == [
        ("levenshtein", 0.9),
        ("lenient", 0.5),
        ("other", 0.5),
    ]
    assert (suite.metrics[2].output, suite.metrics[3].expected) == ("other", "other")


def test_errors_are_short(tmp_path: Path) -> None:
    values = ["[" + "[x, y], " * 200 + "]", "x" * 2000, "{a: {b: {c: {d: {e: [1, 2, 3]}}}}}"]
    places = [
        "{}",
        "output: {}\nmetric: []",
        "metric: [{}]",
        "metric: [{{type: levenshtein, name: [{}]}}]",
        "metric: [{{type: levenshtein, threshold: {}}}]",
        "metric: [{{type: levenshtein, case_sensitive: {}}}]",
        "metric: [{{type: levenshtein, max_chars: {}}}]",
        "metric: [{{type: contains, mode: {}}}]",
        "metric: [{{type: rouge, tokenizer: {}}}]",
        "metric: [{{type: bleu, tokenize: {}}}]",
        "evaluators: [{{type: response_evaluator, enabled: {}}}]",
    ]
    for place in places:
        for value in values:
            if place == "output: {}\nmetric: []" and value.startswith("x"):
                continue  # a long name is a name
            assert len(load_error(tmp_path, "evals.yaml", place.format(value))) < 1000, place


def test_many_keys_take_linear_time() -> None:
    # Comparing all pairs takes minutes.
    keys = [f"k{n}" for n in range(100_000)]
    assert repeated(keys) is None
    assert repeated([*keys, "k99999"]) == "k99999"


def test_names_that_are_no_texts() -> None:
    for key in ("name", "output", "expected"):
        with pytest.raises(ValueError, match=rf"`{key}` must be a name, got '\\ud800'") as error:
            pe.Suite.from_dict({"metric": [{"type": "contains", key: "\ud800"}]})
        str(error.value).encode()
    with pytest.raises(ValueError, match=r"`output` must be a name"):
        pe.Suite([pe.Metric("contains")], output="\ud800")
