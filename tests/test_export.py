"""Exporting: the canonical form in an agent's format, with an account of what did not fit."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muniment.archive import Archive
from muniment.check import check_found
from muniment.errors import Conflict, NotFound, StoreError
from muniment.export import Request
from muniment.inscribe import Outcome
from muniment.surfaces.cli.export_claude import command
from tests.builder import ClaudeSession, conversation, text, tool
from tests.test_cli import Cli

Inscribe = Callable[..., list[Outcome]]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def export(archive: Archive, **asked: Any) -> Path:
    return Path(archive.export("last", Request(source="claude-code", **asked)).paths[0])


def test_an_export_gives_the_records_back(archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path) -> None:
    """Ids, parents, times, signatures, usage: all that makes up a conversation."""
    session = conversation()
    session.write(home)
    inscribe()
    made = lines(export(archive, to=tmp_path))
    for old, new in zip(map(json.loads, session.lines), made, strict=True):
        assert {name: new[name] for name in ("uuid", "parentUuid", "timestamp", "type", "cwd", "sessionId")} == {
            name: old[name] for name in ("uuid", "parentUuid", "timestamp", "type", "cwd", "sessionId")
        }
        assert new["message"]["content"] == old["message"]["content"]
        assert new["message"].get("usage") == old["message"].get("usage")


def test_an_export_lies_where_the_client_looks(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation(cwd="/home/me/my_app.v2")
    path = session.write(home, "-home-me-my-app-v2")
    inscribe()
    path.unlink()
    assert export(archive) == path


def test_nothing_is_overwritten_unasked(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    path = conversation().write(home, "-w")
    inscribe()
    with pytest.raises(Conflict):
        export(archive)
    assert path.read_bytes() == conversation().data
    assert export(archive, force=True) == path


def test_grants_are_never_exported(archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path) -> None:
    session = conversation(1)
    session.add({"type": "permission-mode", "permissionMode": "bypassPermissions", "sessionId": session.id})
    session.chain("attachment", attachment={"type": "command_permissions", "allowedTools": ["Bash"]})
    session.user("go on", permissionMode="bypassPermissions")
    session.write(home)
    inscribe()
    exported = export(archive, to=tmp_path).read_text()
    assert "bypassPermissions" not in exported
    assert '"allowedTools":[]' in exported, "the record stays in the chain and grants nothing"
    assert "go on" in exported


def test_rounds_can_be_chosen(archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path) -> None:
    conversation(4).write(home)
    inscribe()
    text = export(archive, to=tmp_path, first=2, last=3).read_text()
    assert [f"prompt {n}" in text for n in range(4)] == [False, True, True, False]
    with pytest.raises(NotFound, match="no rounds 3-9"):
        export(archive, to=tmp_path, first=3, last=9)


def test_the_rounds_chosen_are_those_of_the_session_and_not_of_its_subagents(
    archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path
) -> None:
    session, agent = conversation(3), conversation(2)
    beside = session.write(home).with_suffix("") / "subagents"
    beside.mkdir(parents=True)
    (beside / "agent-a1.jsonl").write_bytes(agent.data.replace(agent.id.encode(), session.id.encode()))
    inscribe()
    made = archive.export("last", Request("claude-code", to=tmp_path / "out", first=1, last=1))
    assert "reply 1" in Path(made.paths[1]).read_text()


def test_the_document_alone_is_enough_to_resume(
    archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path
) -> None:
    """Ids are minted, the same each time; thinking without its signature is left out and counted."""
    conversation(2).write(home)
    inscribe()
    exported = archive.export("last", Request("claude-code", to=tmp_path / "a", document_only=True))
    made = lines(Path(exported.paths[0]))
    assert [record["type"] for record in made] == ["user", "assistant", "assistant", "user", "assistant"] * 2
    assert [loss.count for loss in exported.losses if loss.what == "thinking"] == [2]
    parents = [record["parentUuid"] for record in made]
    assert parents == [None, *(record["uuid"] for record in made[:-1])]
    again = archive.export("last", Request("claude-code", to=tmp_path / "b", document_only=True))
    assert Path(again.paths[0]).read_bytes() == Path(exported.paths[0]).read_bytes()


def test_the_document_alone_tells_the_branch(archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path) -> None:
    conversation(2).write(home)
    inscribe()
    made = lines(export(archive, to=tmp_path, document_only=True))
    assert {record["gitBranch"] for record in made} == {"main"}


def test_edits_of_the_document_are_followed_or_told(
    archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path
) -> None:
    conversation(2).write(home)
    inscribe()
    document = archive.shelf(archive.session("last")).document
    request = Request("claude-code", to=tmp_path / "a")
    assert archive.export("last", request).edited is None
    document.write_text(document.read_text().replace("reply 1", "a better reply"))
    assert archive.export("last", request).edited == str(document)
    followed = archive.export("last", Request("claude-code", to=tmp_path / "b", document_only=True))
    assert followed.edited is None
    assert "a better reply" in Path(followed.paths[0]).read_text()
    store, env = str(archive.layout.root), dict(archive.env)
    asked = ["last", "--to", str(tmp_path / "c")]
    said = CliRunner().invoke(command, asked, obj=store, env=env).stderr
    (told,) = [line for line in said.splitlines() if "edited" in line]
    assert "--from-document" in told
    assert str(document) in told


@pytest.mark.parametrize("gone", [[1, 2, 3], [2], [3]])
def test_rounds_that_are_missing_are_told_and_not_left_out(
    archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path, gone: list[int]
) -> None:
    conversation(3).write(home)
    inscribe()
    shelf = archive.shelf(archive.session("last"))
    for number in gone:
        shelf.round_file(number).unlink()
    with pytest.raises(StoreError, match=f"00{gone[0]}.json: the round file is missing") as refused:
        export(archive, to=tmp_path)
    assert "reindex" in refused.value.hint
    assert not list(tmp_path.rglob(".*.part"))
    export(archive, to=tmp_path, document_only=True)
    archive.reindex()
    export(archive, to=tmp_path / "again")


def test_a_fork_has_an_identity_of_its_own(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    session = conversation()
    path = session.write(home)
    inscribe()
    fork = export(archive, new_id=True)
    assert fork.parent == path.parent
    assert fork != path
    assert {record["sessionId"] for record in lines(fork)} == {fork.stem}


def test_check_finds_no_loss_and_would_find_one(
    archive: Archive, inscribe: Inscribe, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that forgets signatures is caught."""
    conversation().write(home)
    (found,) = archive.find()
    (checked,) = check_found(found)
    assert checked.lossless
    assert checked.export["signature"].equal == 3
    from muniment.sources.claude.write import Writer

    honest = Writer._thinking

    def forgetful(self: Writer, block: Any, message: Any) -> Any:
        for item in honest(self, block, message):
            item.part["signature"] = "x"
            yield item

    monkeypatch.setattr(Writer, "_thinking", forgetful)
    (checked,) = check_found(found)
    assert not checked.lossless
    assert checked.export["signature"].changed == 3


def test_check_finds_what_a_reader_forgets(archive: Archive, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The yardstick looks at the lines, not through the reader."""
    conversation().write(home)
    (found,) = archive.find()
    from muniment.sources.claude.read import Reader

    monkeypatch.setattr(Reader, "_result", lambda self, part, ref, agent: None)
    (checked,) = check_found(found)
    assert not checked.lossless
    assert checked.export["tool output"].lost == 3
    assert checked.document["tool output"].lost == 3


def test_check_of_the_archive_finds_a_changed_round(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    conversation().write(home)
    inscribe()
    assert [report.note for report in archive.check_stored()] == [""]
    (listed,) = archive.sessions()
    path = archive.shelf(listed).round_file(2)
    path.write_bytes(path.read_bytes().replace(b"reply 1", b"reply 9"))
    (report,) = archive.check_stored()
    assert "round file differs" in report.problems[0].what
    archive.reindex()
    assert [report.note for report in archive.check_stored()] == [""]


def test_an_export_for_another_agent_tells_what_became_of_the_tools(
    archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path
) -> None:
    session = conversation(2)
    session.user("and now")
    session.answer(tool("toolu_x", "Skill", {"skill": "pdf"}))
    session.result("toolu_x", "done")
    session.write(home)
    inscribe()
    made = archive.export("last", Request(source="pi", to=tmp_path))
    assert [(named.tool, named.becomes, named.count) for named in made.tools] == [
        ("Bash", "bash", 2),
        ("Skill", "Skill", 1),
    ]
    assert "known to be the same" in made.tools[1].why
    text = Path(made.paths[0]).read_text()
    assert '"name":"bash","arguments":{"command":"echo prompt 0"}' in text
    assert archive.export("last", Request(source="claude-code", to=tmp_path)).tools == ()


def test_a_file_with_nothing_in_it_is_not_left_behind(
    archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path
) -> None:
    """What a session says of itself without a conversation is no session to another agent."""
    path = tmp_path / "chats" / "session-2026-01-02T03-04-0a0a0a0a.json"
    path.parent.mkdir()
    head = {
        "sessionId": "0a0a0a0a-0000-4000-8000-000000000001",
        "projectHash": "x",
        "startTime": "2026-01-02T03:04:05Z",
    }
    told = {"id": "1", "timestamp": "2026-01-02T03:04:06Z", "type": "warning", "content": "a hook failed"}
    path.write_text(json.dumps(head | {"lastUpdated": "2026-01-02T03:04:06Z", "messages": [told]}))
    archive.inscribe([path])
    with pytest.raises(NotFound, match="can hold nothing"):
        archive.export("last", Request(source="claude-code", to=tmp_path / "out"))
    assert not list((tmp_path / "out").rglob("*.jsonl"))


@pytest.mark.parametrize("source", ["claude-code", "codex", "pi", "opencode"])
def test_a_session_of_which_only_subagents_are_left_has_nothing_to_go_on_from(
    archive: Archive, inscribe: Inscribe, home: Path, tmp_path: Path, source: str
) -> None:
    session = conversation()
    path = home / "projects" / "-w" / session.id / "subagents" / "agent-a1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(session.data)
    inscribe()
    with pytest.raises(NotFound, match="holds no conversation of its own") as refused:
        archive.export("last", Request(source=source, to=tmp_path / "out"))
    assert refused.value.hint == "1 subagent is left of it: `restore` gives the files back"
    assert not (tmp_path / "out").exists()


def test_an_agent_is_called_as_continue_calls_it(archive: Archive, inscribe: Inscribe, home: Path) -> None:
    path = conversation().write(home, "-w")
    inscribe()
    path.unlink()
    assert archive.export("last", Request(source="claude")).paths == (str(path),)


def test_a_file_that_the_agent_would_not_find_is_told_where_it_belongs(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    path = conversation().write(cli.home / ".claude", "-w")
    cli("inscribe")
    command = f"claude --resume {path.stem}"
    elsewhere = f"to resume it, put it at {path}; then: {command}\n"
    for args in (("--into", tmp_path / "into"), ("-o", tmp_path / "one.jsonl")):
        assert cli("export-claude", "last", *args).stderr.endswith(elsewhere)
        told = cli("context", "last", "--as", "claude", *args, "--force").stderr
        assert f"put it at {path.parent}" in told
        assert "resume with" not in told
    for args in (("--force",), ("--into", cli.home / "x" / ".." / ".claude")):
        assert cli("export-claude", "last", *args).stderr.endswith(f"resume with: {command}\n")
    assert "resume with: opencode import" in cli("export", "last", "--to", "opencode", "-o", tmp_path / "o").stderr


@pytest.mark.parametrize("source", ["native", "adr029"])
@pytest.mark.parametrize("place", [(), ("-o", "a file.jsonl")])
def test_what_a_recorder_goes_on_from_is_resumed_as_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, place: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    cli = Cli(tmp_path)
    conversation().write(cli.home / ".claude")
    cli("inscribe")
    told = cli("export", "last", "--to", source, *place).stderr
    _, command = told.rsplit("resume with: muniment ", 1)
    assert "in the chain" in cli(*shlex.split(command)).stderr


# -- some rounds, and the subagents that began in them


@pytest.fixture
def with_subagents(archive: Archive, inscribe: Inscribe, home: Path) -> ClaudeSession:
    """Three rounds; a subagent began in the first and in the last, one of them named by the call that began it."""
    session = ClaudeSession(slug="brave-lamp")
    session.exchange("one", "done")
    session.exchange("two", "done")
    session.user("look around")
    session.answer(tool("t9", "Task", {"description": "Look", "prompt": "look"}))
    session.result("t9", [text("there"), text("agentId: late")])
    path = session.write(home)
    for id_, minute in (("early", "10:00:02"), ("late", "10:59:59")):
        sub = ClaudeSession(session.id, isSidechain=True, agentId=id_, slug="brave-lamp")
        sub.exchange("look", "there")
        file = path.with_suffix("") / "subagents" / f"agent-{id_}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(re.sub(rb"2026-03-19T10:\d\d:\d\d", f"2026-03-19T{minute}".encode(), sub.data))
    inscribe()
    return session


@pytest.mark.parametrize(
    ("rounds", "sides"), [((1, 1), ["early"]), ((2, 2), []), ((2, 3), ["late"]), ((1, 3), ["early", "late"])]
)
def test_only_subagents_of_the_chosen_rounds_go_along_or_are_missed(
    archive: Archive, with_subagents: ClaudeSession, tmp_path: Path, rounds: tuple[int, int], sides: list[str]
) -> None:
    first, last = rounds
    same = archive.export(with_subagents.id, Request("claude-code", to=tmp_path / "a", first=first, last=last))
    assert [Path(path).stem for path in same.paths[1:]] == [f"agent-{id_}" for id_ in sides]
    other = archive.export(with_subagents.id, Request("codex", to=tmp_path / "b", first=first, last=last))
    assert sum(loss.count for loss in other.losses if loss.what == "session of a subagent") == len(sides)


def test_a_loss_of_the_session_and_of_its_subagents_is_told_once(
    archive: Archive, with_subagents: ClaudeSession, tmp_path: Path
) -> None:
    losses = archive.export(with_subagents.id, Request("claude-code", to=tmp_path)).losses
    assert len({(loss.what, loss.why) for loss in losses}) == len(losses)
