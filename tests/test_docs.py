"""The pages name every metric, every option and every public name there is."""

import inspect
import re
import runpy
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import polars_evals as pe
from polars_evals import clean, metrics

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"

# The overview says once what these are.
COMMON = {"output", "expected", "threshold", "missing", "details"}


def find_section(metric: str) -> tuple[str, str]:
    """The section that a metric's heading begins, and the page that it is in."""
    for page in sorted(DOCS.glob("metrics/*.md")):
        text = page.read_text("utf-8")
        for section in re.split(r"^##+ ", text, flags=re.MULTILINE)[1:]:
            if metric in re.findall(r"\w+", section.partition("\n")[0]):
                return section, text
    raise AssertionError(f"no page has a heading for {metric}")


@pytest.mark.parametrize("name", metrics.__all__)
def test_every_metric_has_a_section_with_an_example_and_its_options(name: str) -> None:
    section, page = find_section(name)
    assert re.search(rf"^(>>>|\.\.\.) .*\b{name}\(", section, flags=re.MULTILINE)
    defaults = dict(re.findall(r"^\| `(\w+)` \| `(.*?)` \|", section, flags=re.MULTILINE))
    for option, parameter in inspect.signature(getattr(pe, name)).parameters.items():
        if option in COMMON:
            continue
        assert re.search(rf"`{option}\b", page), option
        if option in defaults:
            written = re.sub(r"(?<=\d)_(?=\d)", "", defaults[option])
            assert written == repr(parameter.default).replace("'", '"'), option


def test_the_readme_names_every_metric() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [name for name in metrics.__all__ if f"`{name}`" not in readme] == []


def test_the_overview_names_every_metric() -> None:
    overview = (DOCS / "metrics/index.md").read_text("utf-8")
    assert [name for name in metrics.__all__ if f"`{name}`" not in overview] == []


def reference() -> list[str]:
    """The names that the pages of the reference describe."""
    pages = [page.read_text("utf-8") for page in sorted((DOCS / "reference").glob("*.md"))]
    return [path for page in pages for path in re.findall(r"^::: ([\w.]+)$", page, flags=re.MULTILINE)]


@pytest.mark.parametrize("package", ["polars_evals", "polars_evals.jobs", "polars_evals.cluster"])
def test_the_reference_has_every_public_name_once(package: str) -> None:
    names = sorted(path.rpartition(".")[2] for path in reference() if path.rpartition(".")[0] == package)
    assert names == sorted(set(import_module(package).__all__) - {"__version__"})


def test_every_public_name_says_what_it_is() -> None:
    assert [name for name in dir(pe) if name != "__version__" and not inspect.getdoc(getattr(pe, name))] == []


def test_the_site_has_every_page() -> None:
    def pages(entry: Any) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        else:
            for part in entry.values() if isinstance(entry, dict) else entry:
                yield from pages(part)

    config = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))
    assert sorted(pages(config["project"]["nav"])) == sorted(
        str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")
    )


def test_pictures_are_there_and_say_what_they_show() -> None:
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        for text, path in re.findall(r"!\[(.*?)\]\((.*?)\)", page.read_text("utf-8")):
            assert (page.parent / path).is_file(), f"{page.name}: {path}"
            assert len(text) > 20, f"{page.name}: {path}"


@pytest.mark.parametrize("name", clean.__all__)
def test_every_step_has_its_place_in_the_page_on_cleaning(name: str) -> None:
    page = (DOCS / "cleaning.md").read_text("utf-8")
    assert f"`{name}" in page


def test_the_page_on_architecture_names_files_that_exist_and_every_module() -> None:
    page = (DOCS / "architecture.md").read_text("utf-8")
    package = ROOT / "src" / "polars_evals"
    files = [str(path) for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")]
    named = re.findall(r"`([\w/]+\.py)`", page)
    assert named
    assert [name for name in named if not any(file.endswith(f"/{name}") for file in files)] == []
    modules = {
        path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert [name for name in sorted(modules - {"__init__"}) if not re.search(rf"`{name}\b", page)] == []


def test_the_recipes_name_what_is_there() -> None:
    """Files, folders and names in the code, as far as they are no placeholders."""
    page = (DOCS / "architecture.md").read_text("utf-8").partition("## Recipes")[2]
    package = ROOT / "src" / "polars_evals"
    near = [ROOT, package, *package.glob("**/"), ROOT / "tests" / "traces" / "real"]
    code = "".join(path.read_text("utf-8") for path in package.rglob("*.py"))
    for name in set(re.findall(r"`([^`\s]+)`", page)):
        if "/" in name or name.endswith((".py", ".md", ".hpp")):
            assert "<" in name or any((root / name).exists() for root in near), name
        else:
            for word in re.findall(r"\w+", name):
                assert re.search(rf"\b{word}\b", code), name


def test_contributing_names_targets_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE))
    assert set(re.findall(r"^make ([\w-]+)", text, flags=re.MULTILINE)) <= targets


def test_pictures_are_small_and_know_what_they_show() -> None:
    folder = DOCS / "pictures"
    pictures = sorted(folder.glob("*.webp"))
    script = (folder / "make.py").read_text("utf-8")
    assert [picture.stem for picture in pictures] == sorted(
        re.findall(r'^    "(\w+)": \("', script, re.MULTILINE)
    )
    assert all(picture.stat().st_size < 60_000 for picture in pictures)
    assert re.fullmatch(r"[0-9a-f]{64}\n", (folder / "digest.txt").read_text("utf-8"))


def test_a_picture_is_stale_when_a_word_of_its_page_changes_and_not_when_its_date_does() -> None:
    make = runpy.run_path(str(DOCS / "pictures" / "make.py"))
    page = "<p>17 November 2026 · 720 items</p><svg><path/></svg><p>made with polars-evals 0.1.0</p>"
    known = make["digest"]({"two": page})
    assert make["digest"]({"two": page.replace("17 November", "3 May").replace("0.1.0", "0.2.0")}) == known
    assert make["digest"]({"two": page.replace("720", "721")}) != known


def test_docstrings_have_one_kind_of_backticks() -> None:
    doubled = re.compile(r"(?<!`)``[^`\n]+``(?!`)")
    found = [path.name for path in (ROOT / "src").rglob("*.py") if doubled.search(path.read_text("utf-8"))]
    assert found == []
