"""The outline tells what a person sees: tools by the shape of their input, and the light form alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.archive import Archive
from muniment.model import Compaction, Event, Media, Message, Round, Text, Thinking, Tool, Unknown
from muniment.render import outline
from muniment.render.outline import WHOLE, Item, Limits, items, light
from muniment.render.shown import ToolShown
from muniment.secrets import Redactor
from muniment.store import rounds as stored
from muniment.store.layout import Shelf

from . import hostile, sample
from .markup import assert_safe_message

SECRET = "ghp_" + "aZ3kQ9xW7bT5mN1cV8yR2dF6gH4jK0pL3sXq"


def one(*blocks: Any, role: str = "assistant", **options: Any) -> list[Item]:
    return list(items([Round(1, (Message(role, blocks=blocks),))], **options))  # pyright: ignore


def call(value: Any, name: str = "x", output: str | None = "done", **options: Any) -> ToolShown:
    made = Tool("t", name, value, None if output is None else (Text(output),))
    shown = one(made, **options)[0].tool
    assert shown is not None
    return shown


def lines(shown: ToolShown) -> list[str]:
    return [line.op + line.text for line in shown.diff]


# -- tools


@pytest.mark.parametrize(
    ("given_", "view", "title"),
    [
        ({"command": "ls -l", "description": "List"}, "shell", "List"),
        ({"command": ["bash", "-lc", "ls -l"]}, "shell", "ls -l"),
        ({"cmd": "make test", "workdir": "/proj"}, "shell", "make test"),
        ({"file_path": "/proj/a.py", "old_string": "a", "new_string": "b"}, "diff", "/proj/a.py"),
        ({"file_path": "/proj/a.py", "edits": [{"old_string": "a", "new_string": "b"}]}, "diff", "/proj/a.py"),
        ({"filePath": "/proj/a.py", "oldString": "a", "newString": "b", "replaceAll": True}, "diff", "/proj/a.py"),
        ({"patchText": "*** Begin Patch\n*** Add File: n.py\n+b\n*** End Patch"}, "diff", "n.py"),
        ({"dir_path": "src"}, "read", "src"),
        ({"plan": "# Two steps\n\n1. one"}, "generic", "Two steps"),
        ({"questions": [{"question": "Which?", "options": [{"label": "A"}]}]}, "generic", "Which?"),
        ({"question": "Which?", "choices": ["this", "that"]}, "generic", "Which?"),
        ({"question": "What is a kettle?", "url": "https://a.invalid/"}, "web", "https://a.invalid/"),
        ("*** Begin Patch\n*** Update File: a.py\n-a\n+b\n*** End Patch", "diff", "a.py"),
        ({"command": ["apply_patch", "*** Begin Patch\n*** Add File: n.py\n+b\n*** End Patch"]}, "diff", "n.py"),
        ({"file_path": "/proj/a.py", "content": "text"}, "write", "/proj/a.py"),
        ({"notebook_path": "/proj/n.ipynb", "new_source": "1 + 1", "cell_id": "c"}, "write", "/proj/n.ipynb"),
        ({"file_path": "/proj/a.py", "offset": 10, "limit": 5}, "read", "/proj/a.py from line 10, 5 lines"),
        ({"pattern": "def ", "path": "src"}, "search", "def in src"),
        ({"todos": [{"content": "a", "status": "completed"}, {"content": "b"}]}, "todo", "1 of 2 done"),
        ({"plan": [{"step": "a", "status": "pending"}], "explanation": "so"}, "todo", "0 of 1 done"),
        ({"prompt": "Go.", "subagent_type": "helper", "description": "Look"}, "task", "Look"),
        ({"url": "https://a.invalid/", "prompt": "read"}, "web", "https://a.invalid/"),
        ({"query": "kettle"}, "web", "kettle"),
        ({"taskId": "7", "status": "done"}, "generic", "7"),
        (None, "generic", ""),
        (["a"], "generic", ""),
    ],
)
def test_a_tool_is_told_by_the_shape_of_its_input(given_: Any, view: str, title: str) -> None:
    shown = call(given_)
    assert (shown.view, shown.title) == (view, title)


def test_what_was_written_to_be_read_is_markdown_and_not_a_field() -> None:
    options = [{"label": "Rust", "description": "fast"}, {"label": "Python"}, "neither", {"odd": 1}]
    inputs = (
        ({"plan": "Do *this*.", "more": "x"}, "<em>this</em>", ["more"]),
        ({"prompt": "Say *why*.", "description": "Ask"}, "<em>why</em>", []),
        ({"questions": [{"question": "Which?", "options": options}]}, "<strong>Which?</strong>", []),
        ({"question": "Which?", "choices": ["this", "that"]}, "<li>that</li>", []),
        ({"questions": ["no question"]}, "", ["questions"]),
    )
    for given_, markup, rest in inputs:
        shown = one(Tool("t", "x", given_))[0]
        assert shown.tool
        assert (markup in shown.html, bool(shown.html)) == (True, bool(markup)), given_
        assert [field.name for field in shown.tool.fields] == rest
    asked = one(Tool("t", "x", {"questions": [{"question": "Which?", "options": options}]}))[0].html
    for words in ("Rust: fast", "Python", "neither", "odd"):
        assert words in asked


def test_what_the_title_tells_whole_is_not_told_again() -> None:
    long = "https://a.invalid/" + "x" * 300
    assert [field.name for field in call({"url": "https://a.invalid/", "format": "text"}).fields] == ["format"]
    assert [field.name for field in call({"url": long}).fields] == ["url"]
    assert [field.name for field in call({"pattern": "def ", "path": "src", "glob": "*.py"}).fields] == ["glob"]


def test_an_edit_is_a_diff_with_its_surroundings() -> None:
    old, new = "a\nb\nc\nd\ne\nf", "a\nb\nc\nD\ne\nf"
    shown = call({"file_path": "x", "old_string": old, "new_string": new, "replace_all": True})
    assert lines(shown) == ["@every occurrence", " a", " b", " c", "-d", "+D", " e", " f"]


@given(st.lists(st.sampled_from("abc"), max_size=30), st.lists(st.sampled_from("abcd"), max_size=30))
def test_a_diff_tells_what_went_and_what_came(old: list[str], new: list[str]) -> None:
    """Without the lines that were left out around the changes, both sides can be read off it."""
    shown = call({"file_path": "x", "old_string": "\n".join([*old, "z"]), "new_string": "\n".join([*new, "y"])})
    gone = [line.text for line in shown.diff if line.op in "- "]
    came = [line.text for line in shown.diff if line.op in "+ "]
    assert _within(gone, [*old, "z"])
    assert _within(came, [*new, "y"])
    assert {"-z", "+y"} <= set(lines(shown))


def _within(part: list[str], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(line in rest for line in part)


def test_a_huge_edit_is_not_compared_but_still_shown() -> None:
    old, new = ("\n".join(f"{word}{n % 7}" for n in range(3_000)) for word in "ab")
    shown = call({"file_path": "x", "old_string": old, "new_string": new}, limits=WHOLE)
    assert len(shown.diff) == 6_000


def test_what_is_cut_is_told() -> None:
    limits = Limits(output=100, value=50, lines=3, text=200)
    shown = call({"file_path": "x", "content": "y" * 500}, output="z" * 1_000, limits=limits)
    assert shown.output_cut == 1_000 - 99
    assert "characters not shown" in shown.fields[-1].value
    shown = call({"file_path": "x", "old_string": "", "new_string": "\n".join("abcdef")}, limits=limits)
    assert lines(shown) == ["+a", "+b", "+c", "@3 more lines not shown"]
    assert one(Text("w" * 500), limits=limits)[0].cut == 500 - 199


def test_a_call_without_a_result_and_a_result_without_a_call() -> None:
    assert call({"command": "ls"}, output=None).output is None
    assert one(Tool("t", None, output=(Text("late"),)))[0].tool == ToolShown("", output="late")


def test_the_prompt_of_a_task_is_markdown() -> None:
    shown = one(Tool("t", "Task", {"prompt": "Do **it**.", "subagent_type": "x"}))[0]
    assert "<strong>it</strong>" in shown.html


@pytest.mark.parametrize("redactor", [Redactor(), Redactor.off()])
def test_a_value_nested_without_end_is_shown_as_such(redactor: Redactor) -> None:
    value: Any = "x"
    for _ in range(5_000):
        value = {"a": [value]}
    shown = call(redactor.value({"thing": value, "other": 1}))
    assert [field.name for field in shown.fields] == ["thing", "other"]


# -- items


def test_what_has_nothing_to_show_is_no_item() -> None:
    quiet = (Event("title", detail={}), Thinking("", "c2ln", redacted=True), Text(" \n"), Event("x", "  "))
    assert one(*quiet) == []


def test_every_kind_of_block_is_an_item() -> None:
    blocks = (Text("a"), Thinking("b"), Tool("t"), Compaction("c"), Event("d", "e"), Media("f.png", "image/png"))
    shown = one(*blocks, Unknown("g", {"h": 1}), role="user")
    assert [item.kind for item in shown] == ["user", "thinking", "tool", "compaction", "event", "media", "unknown"]
    assert [item.n for item in shown] == list(range(7))
    assert "&quot;h&quot;: 1" in shown[-1].html or '"h": 1' in shown[-1].html


def test_only_the_wanted_items_are_given_and_keep_their_numbers() -> None:
    rounds = [Round(n, (Message("user", blocks=(Text(f"p{n}"), Text(f"q{n}"))),)) for n in range(1, 5)]
    whole = list(items(rounds))
    assert list(items(rounds, wanted=range(3, 6))) == whole[3:6]
    assert list(items(rounds[2:], start=4, wanted=range(5, 7))) == whole[5:7]


def test_every_string_passes_through_redaction() -> None:
    blocks = [b for r in hostile.rounds((SECRET,)) for m in r.messages for b in m.blocks]
    made = list(items(map(Redactor().round, hostile.rounds((SECRET,)))))
    assert len(made) == len(blocks)
    shown = [(i.html, i.tool and (i.tool.name, i.tool.title, i.tool.command, i.tool.path)) for i in made]
    inner = [(i.tool.diff, i.tool.todos, i.tool.fields, i.tool.output) for i in made if i.tool]
    assert SECRET not in repr(shown) + repr(inner)
    assert "[redacted:github-token:00000001]" in repr(shown)


@pytest.mark.parametrize("payload", hostile.PAYLOADS[::7])
def test_no_item_has_other_markup_than_markdown(payload: str) -> None:
    for item in items(hostile.rounds((payload,))):
        assert_safe_message(item.html)


# -- the light form


def same(shelf: Shelf) -> int:
    """The light form tells the same items as the full one; gives their number."""
    full = list(items(stored.load_all(shelf)))
    seen = light(shelf)
    assert [seen.kinds[kind] for kind in seen.kind] == [item.kind for item in full]
    assert seen.round == [item.round for item in full]
    names = [None if number < 0 else seen.tools[number] for number in seen.tool]
    assert names == [item.tool.name if item.tool else None for item in full]
    assert len(seen.size) == len(full)
    return len(full)


def test_the_light_form_numbers_the_same_items(archive: Archive, home: Path) -> None:
    sample.archived(archive, home)
    shelf = archive.shelf(archive.session("last"))
    assert same(shelf) == 12
    assert same(shelf.sidechain(sample.SIDE)) == 2


TEXTS = st.text(max_size=80) | st.sampled_from(["", " ", " \n" * 60, "\u3000" * 50, "\ud800", "0123" * 20])


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("ueatmc"), TEXTS), max_size=8))
def test_blank_texts_and_broken_characters_are_counted_alike(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, str]]
) -> None:
    makers = {"u": Text, "e": lambda t: Event("k", t), "a": Thinking, "m": lambda t: Media(t, t)}
    makers |= {"t": lambda t: Tool("i", "x", {"a": t}, (Text(t),)), "c": Compaction}
    blocks = tuple(makers[kind](text) for kind, text in said)
    folder = tmp_path_factory.mktemp("light")
    shelf = Shelf(str(folder / "s"))
    shelf.rounds.mkdir(parents=True)
    round_ = Round(1, (Message("user", blocks=blocks[:2]), Message("assistant", blocks=blocks[2:])), True)
    shelf.round_file(1).write_bytes(stored.encode(round_))
    same(shelf)


def test_the_names_of_the_outline_are_those_that_pages_use() -> None:
    assert set(outline.__all__) <= set(dir(outline))
