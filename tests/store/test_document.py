"""The document grammar is exact: whatever a session holds, a document gives it back and forges no boundary."""

import re
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from muniment.model import Compaction, Event, Media, Message, Text, Thinking, Tool, Unknown
from muniment.store import closing, document, escape, parse

STRUCTURE = [
    *("\n", "\n\n", "---", "\n---\n\n", "a", " ", "é", "中文", "😀", "\\", "-->", "&lt;", "session_id: x"),
    *("### 2026-03-19T10:00:05.120Z · user", "### undated · assistant\n", "### x · user", "\\\\### x · user"),
    *("<details><summary>Thinking</summary>", "<details><summary>Tool: Bash</summary>\n<!-- t1 -->"),
    *("</details>", "\\</details>", "<!-- msg_01 · m -->", "<!-- next -->"),
    *("```", "````json", "~~~", "- key: 1", "- key:", "Output:", "Output (error):"),
    "![image/png](a/media/" + "0" * 64 + ".png)",
    *("\0", "\r", "\r\n", "\u2028", "\u0085", "\ud83d", "\ude00", "\x1b[31m", "\x7f", "\ufeff"),
    *("\u241b", "\u241b1b;"),
]


def joined(pieces: list[str]) -> str:
    """One string, as JSON would give it: halves of a character that meet become the character."""
    return "".join(pieces).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


hostile = st.lists(st.one_of(st.sampled_from(STRUCTURE), st.text(max_size=6)), max_size=12).map(joined)
names = st.one_of(st.sampled_from(["Bash", "msg_01AbC", "mcp__x__y", ""]), hostile)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), hostile)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(hostile, inner, max_size=3)),
    max_leaves=6,
)
media = st.builds(
    Media,
    name=st.sampled_from(["0" * 64 + ".png", "a" * 64 + ".pdf"]),
    media_type=st.sampled_from(["image/png", "x/y"]),
)
unknown = st.builds(Unknown, kind=names, value=values, damage=hostile)
tools = st.builds(
    Tool,
    id=names,
    name=st.one_of(st.none(), names),
    input=st.one_of(
        values, st.dictionaries(st.sampled_from(["command", "file_path", "Output", "a b"]), values, max_size=4)
    ),
    output=st.one_of(st.none(), st.lists(st.one_of(st.builds(Text, hostile), media, unknown), max_size=3).map(tuple)),
    is_error=st.sampled_from([None, True, False]),
    sidechain=st.one_of(st.none(), names),
)
blocks = st.one_of(
    st.builds(Text, hostile),
    st.builds(Thinking, hostile, redacted=st.booleans()),
    tools,
    media,
    st.builds(Compaction, hostile),
    st.builds(Event, kind=names, text=hostile),
    unknown,
)
messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant"]),
    at=st.one_of(st.none(), st.just("2026-03-19T10:00:05.120Z"), hostile),
    blocks=st.lists(blocks, max_size=5).map(tuple),
    id=st.one_of(st.none(), names),
    model=st.one_of(st.none(), names),
    sidechain=st.one_of(st.none(), names),
    queued=st.booleans(),
)


def written(session: list[Message]) -> bytes:
    return document.SEPARATOR.encode().join(document.render(session, "id"))


@settings(max_examples=400)
@given(st.lists(messages, max_size=4))
@example([Message(role="user", blocks=(Text(""), Thinking(""), Text("\n"), Text("---\n\n### x · user")))])
def test_a_document_gives_back_every_message_that_was_written(session: list[Message]) -> None:
    body = escape.from_bytes(written(session))
    assert list(parse.parse(body)) == [document.visible(message) for message in session if not message.silent]


@settings(max_examples=200)
@given(st.lists(messages, max_size=4))
def test_only_real_messages_have_a_header_line(session: list[Message]) -> None:
    """A reader who knows nothing but the header pattern finds exactly the messages."""
    headers = re.findall(rb"^### \S+ \xc2\xb7 (?:user|assistant)$", written(session), re.MULTILINE)
    assert len(headers) == sum(not message.silent for message in session)


OPENING = [
    *("```", "````", "```py", "```a`b", "~~~", "~~~~", " ```", "  ```", "   ~~~", "    ```", "\t```", "\\```"),
    *("- ", "> ", "1. ", "* ", "# a", "===", "---", "[a]: /b '", "\n[a]:", "|a|b|", "words", "  "),
    *("<pre>", "<PRE", "<script src=x>", "<style>", "<textarea>", "</pre>", "</script>", "<div>", "<b>", "<x-y>", "<a"),
    *("<!--", "-->", "<?php", "?>", "<!DOCTYPE", ">", "<![CDATA[", "]]>", "<details open>", "&lt;pre>"),
    *("<!-- closed by muniment -->", "\n<!-- closed by muniment -->", "```\n<!-- closed by muniment -->"),
    *("\n", "\n", "\n", "\n\n", "\r\n"),
]
opening = st.lists(st.sampled_from(OPENING), max_size=14).map("".join)
events = st.builds(Event, kind=st.just("k"), text=opening)
spoken = st.one_of(st.builds(Text, opening), st.builds(Thinking, opening), events)


def headers_seen(body: bytes) -> list[str]:
    """The headers of messages that a Markdown reader sees, at the top of the document."""
    tokens = MarkdownIt("commonmark").parse(body.decode())
    said = [(tokens[at], tokens[at + 1].content) for at, token in enumerate(tokens) if token.type == "heading_open"]
    return [text for token, text in said if token.level == 0 and re.fullmatch(r"\S+ · (?:user|assistant)", text)]


@settings(max_examples=1500)
@given(st.lists(st.lists(spoken, min_size=1, max_size=3), min_size=1, max_size=4))
@example([[Text("```py\nls")], [Text("and")]])
@example([[Text("- a\n  ```\ncode\n  ```")], [Thinking("<!-- x")], [Text("<pre>\n\nx")], [Text("~~~\n```\n~~~\r\n")]])
@example([[Text("```\nx\n```\n<!-- closed by muniment -->")], [Text("<div>\n```\n\n```")]])
def test_what_a_text_leaves_open_hides_no_header(said: list[list[Any]]) -> None:
    session = [Message(role="user", at=f"2026-03-19T10:00:0{n}Z", blocks=tuple(each)) for n, each in enumerate(said)]
    body = written(session)
    assert len(headers_seen(body)) == len(session)
    assert list(parse.parse(escape.from_bytes(body))) == [document.visible(message) for message in session]


@settings(max_examples=300)
@given(st.lists(messages, max_size=4))
def test_no_message_hides_the_next_header(session: list[Message]) -> None:
    assert len(headers_seen(written(session))) == sum(not message.silent for message in session)


@given(opening)
def test_a_text_that_leaves_nothing_open_is_written_as_it_is(text: str) -> None:
    """Documents of older versions differ only where a reader could not tell their messages apart."""
    shown = escape.safe_characters(escape.escape_text(text)).encode()
    body = written([Message(role="user", blocks=(Text(text),))])
    older = "### undated · user\n\n".encode() + shown + b"\n"
    assert closing.without(body) == older
    if headers_seen(older + document.SEPARATOR.encode() + older)[1:]:
        assert body == older


def test_a_document_of_an_older_version_is_read_as_it_is() -> None:
    """It has no line that closes: its texts are what they were, and are not taken for damaged."""
    old = b"### undated \xc2\xb7 user\n\n```\nls\n\n---\n\n### undated \xc2\xb7 assistant\n\ndone\n"
    first, second = parse.parse(escape.from_bytes(old))
    assert (first.blocks, second.blocks) == ((Text("```\nls"),), (Text("done"),))
    new = written([first, second])
    assert new != old
    assert closing.without(new) == old


@settings(max_examples=200)
@given(hostile)
def test_a_document_holds_no_control_characters(text: str) -> None:
    data = escape.to_bytes(text)
    assert escape.from_bytes(data) == text
    assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", data)
    data.decode("utf-8")


@given(hostile)
def test_escaping_touches_only_lines_that_look_like_structure(text: str) -> None:
    for line in text.split("\n"):
        if not any(hint in line for hint in ("### ", "details>", "<!-- next", "/media/", escape.CLOSED)):
            assert escape.escape_text(line) == line


def test_a_megabyte_line_survives() -> None:
    message = Message(
        role="user", blocks=(Text("x" * 1_000_000 + "`" * 5), Tool(id="t", name="B", input={"a": "`" * 9}))
    )
    assert list(parse.parse(escape.from_bytes(written([message])))) == [document.visible(message)]
