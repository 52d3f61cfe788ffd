"""Whatever a text says, it stays a text."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from polars_evals.report.markup import Html, join, tag
from polars_evals.wording import clean, reveal


class Parsed(HTMLParser):
    """What a parser makes of some markup: its elements with their attributes, and its text."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


# Any code point, surrogates included.
ANY = st.text(alphabet=st.characters(exclude_categories=()), max_size=50)


@given(ANY, ANY)
def test_any_text_comes_back_as_text(text: str, title: str) -> None:
    markup = tag("p", text, title=title)
    markup.encode()
    parsed = Parsed(markup)
    assert parsed.elements == [("p", {"title": clean(title)})]
    assert parsed.text == clean(text)


def test_children_and_attributes() -> None:
    items = (tag("li", n) for n in range(2))
    assert tag("ul", items, class_="a", hidden=True, id=None, aria_label="x") == (
        '<ul class="a" hidden aria-label="x"><li>0</li><li>1</li></ul>'
    )
    assert tag("br") == "<br>"
    assert join("a<", None, Html("<b>"), [1.5, ["&"]]) == "a&lt;<b>1.5&amp;"


def test_characters_that_cannot_be_seen_are_named() -> None:
    assert reveal("a\u202eb\x00\n\tc\r\n") == "a⟨U+202E⟩b⟨U+0000⟩\n\tc␍\n"
    assert "\r" not in tag("p", "a\rb", title="a\rb")
