"""Tools that several agents have: renamed exactly or not at all, and told of either way."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import sources
from muniment.model import Facts, Message, Round, Text, Tool
from muniment.sources import Named
from muniment.sources.base import Source
from muniment.sources.tools import SharedTool, own_words, plain_words, same

FOLDER = "/proj/lib"
AGENTS = [source for source in sources.all_sources() if source.tools]
TOOLS = [(source, tool) for source in AGENTS for tool in source.tools]
VALUES: dict[type, st.SearchStrategy[Any]] = {
    str: st.one_of(st.sampled_from([FOLDER, "general", "explore", "markdown", ""]), st.text(max_size=20)),
    int: st.one_of(st.integers(0, 9).map(lambda n: n * 1000), st.integers(-5, 10**6)),
    bool: st.booleans(),
}


def label(value: Any) -> str:
    return value.name if isinstance(value, Source | SharedTool) else str(value)


def words_of(tool: SharedTool) -> st.SearchStrategy[dict[str, Any]]:
    """Whatever can be asked of a tool of this kind."""
    values = {name: VALUES[type_] for name, type_ in tool.kind.fields.items()}
    needed = {name: values.pop(name) for name in tool.kind.needed}
    return st.fixed_dictionaries(needed, optional=values)


def renamed(source: str, target: str, name: str, value: Any) -> tuple[str | None, Any, tuple[Named, ...]]:
    """A call of one agent as another has it, and the account."""
    facts = Facts("s", source, first_cwd=FOLDER)
    calls = sources.renaming(facts, sources.named(target))
    blocks = (Tool("t1", name, value, (Text("done"),)),)
    (round_,) = calls.rounds([Round(1, (Message("assistant", None, blocks),))])
    (tool,) = round_.blocks()
    assert isinstance(tool, Tool)
    assert (tool.id, tool.output) == ("t1", (Text("done"),))
    return tool.name, tool.input, calls.account()


# -- laws


@pytest.mark.parametrize(("agent", "tool"), TOOLS, ids=label)
@settings(max_examples=60)
@given(data=st.data())
def test_there_and_back_gives_the_very_input(agent: Source, tool: SharedTool, data: st.DataObject) -> None:
    said = data.draw(words_of(tool))
    value = own_words(tool, said, FOLDER)
    if value is None:
        return
    for other in (o for source in AGENTS for o in source.tools if o.kind is tool.kind):
        theirs = own_words(other, said, FOLDER)
        if theirs is not None:
            back = plain_words(other, theirs, FOLDER)
            assert back is not None
            assert same(own_words(tool, back, FOLDER), value)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)


@pytest.mark.parametrize(("agent", "tool"), TOOLS, ids=label)
@settings(max_examples=60)
@given(data=st.data())
def test_whatever_is_asked_is_renamed_exactly_or_kept(agent: Source, tool: SharedTool, data: st.DataObject) -> None:
    """Also what no agent would ask: fields of any name, values of any type."""
    usual = own_words(tool, data.draw(words_of(tool)), FOLDER)
    odd = st.dictionaries(st.sampled_from([*(usual if isinstance(usual, dict) else ()), "novel"]), JSON, max_size=2)
    value = usual | data.draw(odd) if isinstance(usual, dict) else data.draw(JSON)
    for target in AGENTS:
        if target is not agent:
            name, theirs, (told,) = renamed(agent.name, target.name, tool.name, value)
            if told.why:
                assert (name, told.becomes) == (tool.name, tool.name)
                assert same(theirs, value)
            else:
                ours = [plain_words(own, value, FOLDER) for own in agent.tools if own.name == tool.name]
                other = [plain_words(one, theirs, FOLDER) for one in target.tools if one.name == name]
                assert any(one is not None and any(same(one, two) for two in other) for one in ours)


@pytest.mark.parametrize("pair", list(permutations(["claude-code", "codex", "opencode", "pi"], 2)), ids=str)
def test_every_agent_runs_commands_for_every_other(pair: tuple[str, str]) -> None:
    tool = next(tool for tool in sources.named(pair[0]).tools if tool.kind.name == "run a command")
    value = own_words(tool, {"command": "make", "timeout_ms": 5000}, FOLDER)
    name, theirs, _ = renamed(*pair, tool.name, value)
    assert name != tool.name or {pair[0], pair[1]} == {"opencode", "pi"}
    assert plain_words(_named(pair[1], name), theirs, FOLDER) == {"command": "make", "timeout_ms": 5000}


def _named(agent: str, name: str | None) -> SharedTool:
    return next(tool for tool in sources.named(agent).tools if tool.name == name)


# -- examples


@pytest.mark.parametrize(
    ("source", "target", "name", "value", "wanted"),
    [
        ("claude-code", "pi", "Bash", {"command": "ls", "timeout": 2000}, ("bash", {"command": "ls", "timeout": 2})),
        (
            "claude-code",
            "codex",
            "Bash",
            {"command": "ls", "description": "look"},
            ("shell_command", {"command": "ls", "description": "look"}),
        ),
        ("codex", "claude-code", "shell", {"command": ["bash", "-lc", "ls"]}, ("Bash", {"command": "ls"})),
        (
            "codex",
            "claude-code",
            "exec_command",
            {"cmd": "ls", "workdir": FOLDER},
            ("Bash", {"command": "ls", "workdir": FOLDER}),
        ),
        ("codex", "opencode", "apply_patch", "*** Begin Patch", ("apply_patch", {"patchText": "*** Begin Patch"})),
        ("opencode", "codex", "apply_patch", {"patchText": "*** Begin Patch"}, ("apply_patch", "*** Begin Patch")),
        (
            "claude-code",
            "pi",
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y", "replace_all": False},
            ("edit", {"path": "/a", "edits": [{"oldText": "x", "newText": "y"}], "replace_all": False}),
        ),
        (
            "pi",
            "opencode",
            "edit",
            {"path": "a", "oldText": "x", "newText": "y"},
            ("edit", {"filePath": "a", "oldString": "x", "newString": "y"}),
        ),
        (
            "opencode",
            "claude-code",
            "grep",
            {"pattern": "x", "include": "*.py"},
            ("Grep", {"pattern": "x", "glob": "*.py", "output_mode": "content", "-n": True}),
        ),
        (
            "opencode",
            "claude-code",
            "shell",
            {"command": "ls", "timeout": 5},
            ("Bash", {"command": "ls", "timeout": 5}),
        ),
        ("opencode", "claude-code", "read", {"path": "/a"}, ("Read", {"file_path": "/a"})),
        (
            "opencode",
            "claude-code",
            "edit",
            {"path": "/a", "oldString": "x", "newString": "y"},
            ("Edit", {"file_path": "/a", "old_string": "x", "new_string": "y"}),
        ),
        (
            "claude-code",
            "opencode",
            "Task",
            {"prompt": "Look.", "description": "look", "subagent_type": "Explore"},
            ("task", {"prompt": "Look.", "description": "look", "subagent_type": "explore"}),
        ),
    ],
    ids=str,
)
def test_the_same_tool_is_asked_in_the_others_words(
    source: str, target: str, name: str, value: Any, wanted: tuple[str, Any]
) -> None:
    own, theirs, account = renamed(source, target, name, value)
    assert (own, theirs) == wanted
    assert account == (Named(name, wanted[0], 1),)


@pytest.mark.parametrize(
    ("source", "target", "name", "value"),
    [
        ("claude-code", "pi", "Bash", {"command": "ls", "run_in_background": True}),
        ("claude-code", "pi", "Bash", {"command": "ls", "timeout": 2500}),
        ("claude-code", "pi", "Edit", {"file_path": "/a", "old_string": "x", "new_string": "y", "replace_all": True}),
        ("codex", "claude-code", "shell_command", {"command": "ls", "workdir": "/elsewhere"}),
        ("codex", "claude-code", "exec_command", {"cmd": "ls", "yield_time_ms": 100}),
        ("codex", "claude-code", "shell", {"command": ["rg", "-n", "x"]}),
        ("claude-code", "opencode", "Agent", {"prompt": "Look.", "description": "look", "subagent_type": "mine"}),
        ("pi", "claude-code", "read", {"path": 7}),
        ("pi", "claude-code", "read", None),
        ("pi", "claude-code", "read", ["path"]),
    ],
    ids=str,
)
def test_a_call_that_the_other_could_not_make_stays_as_it_is(source: str, target: str, name: str, value: Any) -> None:
    own, theirs, (told,) = renamed(source, target, name, value)
    assert own == name
    assert same(theirs, value)
    assert told == Named(name, name, 1, "the tool here is not asked in this way")


def test_a_tool_of_nobody_else_keeps_its_name() -> None:
    assert renamed("claude-code", "pi", "Skill", {"skill": "x"})[2][0].why == "no tool here is known to be the same"
    assert renamed("native", "pi", "bash", {"command": "x"})[2][0].why == "no tool here is known to be the same"


@pytest.mark.parametrize(("source", "target"), [("claude-code", "atif"), ("pi", "pi")])
def test_a_format_of_no_agent_and_an_agents_own_need_no_account(source: str, target: str) -> None:
    assert renamed(source, target, "bash", {"command": "x"}) == ("bash", {"command": "x"}, ())


def test_the_folder_that_a_session_is_in_is_the_one_at_that_time() -> None:
    calls = sources.renaming(Facts("s", "codex", first_cwd="/proj/old"), sources.named("claude-code"))
    call = Tool("t1", "shell_command", {"command": "ls", "workdir": "/proj/new"})
    rounds = [Round(1, (Message("assistant", None, (call,)), Message("assistant", None, (call,), cwd="/proj/new")))]
    assert [b.name for r in calls.rounds(rounds) for b in r.blocks() if isinstance(b, Tool)] == [
        "shell_command",
        "Bash",
    ]
