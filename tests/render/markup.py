"""Reading the pages back: which tags and attributes are there, and whether every tag that opens is closed."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"br", "hr", "img", "meta", "input"}
_BARE = ("p", "br", "hr", "strong", "em", "s", "blockquote", "ul", "li", "table", "thead", "tbody", "tr")
MARKDOWN = {
    **{tag: set[str]() for tag in (*_BARE, "h1", "h2", "h3", "h4", "h5", "h6")},
    **{tag: {"class"} for tag in ("pre", "code", "div", "span", "th", "td")},
    "ol": {"start"},
    "a": {"href", "title", "class", "rel"},
}
"""All that the markup of a message may hold."""


class Reader(HTMLParser):
    """Notes every tag with its attributes."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(html: str) -> Reader:
    """A page or a piece of one; everything in it is closed."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def assert_safe_message(html: str) -> Reader:
    """Only the tags and attributes of markdown, and only harmless addresses."""
    reader = read(html)
    for tag, attributes in reader.found:
        assert tag in MARKDOWN, tag
        assert attributes.keys() <= MARKDOWN[tag], (tag, attributes)
        assert (attributes.get("href") or "http://").lower().startswith(("http://", "https://", "mailto:"))
    return reader
