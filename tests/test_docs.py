"""The pages say of every public name and every option what there is, and nothing of what is not."""

import inspect
import re
from pathlib import Path

import pytest

import polars_evals as pe
from polars_evals import metrics

DOCS = Path(__file__).parent.parent / "docs"


def sections() -> dict[str, str]:
    """The section of each metric in the pages of metrics."""
    found: dict[str, str] = {}
    for page in sorted(DOCS.glob("metrics/*.md")):
        for section in re.split(r"^#+ ", page.read_text("utf-8"), flags=re.MULTILINE):
            for name in re.findall(r"\w+", section.partition("\n")[0]):
                found.setdefault(name, section)
    return found


@pytest.mark.parametrize("name", metrics.__all__)
def test_every_metric_has_a_section_with_its_options_and_an_example(name: str) -> None:
    section = sections()[name]
    assert ">>> " in section
    assert f"{name}(" in section
    documented = dict(re.findall(r"^\| `(\w+)` \| (?:`(.*?)`)? *\|", section, flags=re.MULTILINE))
    for option, parameter in inspect.signature(getattr(pe, name)).parameters.items():
        if option in ("output", "expected", "missing", "details"):
            continue
        assert option in documented, option
        default = "" if parameter.default is parameter.empty else parameter.default
        assert documented[option].replace("_", "") in (str(default), repr(default).replace("'", '"')), option


def test_the_overview_names_every_metric() -> None:
    overview = (DOCS / "metrics/index.md").read_text("utf-8")
    assert [name for name in metrics.__all__ if f"`{name}`" not in overview] == []


def test_the_reference_has_every_public_name() -> None:
    reference = (DOCS / "reference.md").read_text("utf-8")
    assert "::: polars_evals.metrics\n" in reference
    entries = {
        path.rpartition(".")[2] for path in re.findall(r"^::: ([\w.]+)$", reference, flags=re.MULTILINE)
    }
    assert entries - {"metrics"} == set(pe.__all__) - set(metrics.__all__) - {"__version__"}
