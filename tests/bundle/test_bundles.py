"""From one archive to another: the same bytes come back, nothing here is lost, and secrets stay at home if asked."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from muniment import sources
from muniment.archive import Archive
from muniment.errors import Conflict, Unsupported
from muniment.prospective import folder
from muniment.prospective.steps import Begin, Speaker
from muniment.restore import Target
from muniment.search import Query
from muniment.store import evidence, head, page
from tests.builder import ClaudeSession, conversation, text, tool
from tests.conftest import canonical, tree

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
OTHER_SECRET = "ghp_" + "Z9y8X7w6V5u4T3s2R1q0" + "P9o8N7m6L5k4J3i2"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "proj"
    path.mkdir()
    return path


@pytest.fixture
def other(tmp_path: Path) -> Archive:
    """Another machine: another home, another archive."""
    home = tmp_path / "other" / ".claude"
    home.mkdir(parents=True)
    return Archive(tmp_path / "other-store", {"HOME": str(home.parent)})


def full(home: Path, project: Path) -> ClaudeSession:
    """A session with everything beside it: subagent, tool results, a file before its edit, a line of the history."""
    made = conversation(3, cwd=str(project))
    made.user("Show the key.")
    made.answer(text("Here."), tool("t1", "Bash", {"command": f"echo {SECRET}"}))
    made.result("t1", f"token={SECRET}\n", is_error=False)
    made.answer(text("Done."))
    path = made.write(home, "-proj")
    beside = path.with_suffix("")
    (beside / "subagents").mkdir(parents=True)
    agent = ClaudeSession(made.id, str(project), isSidechain=True, agentId="a1")
    agent.exchange("look around", "seen")
    (beside / "subagents" / "agent-a1.jsonl").write_bytes(agent.data)
    (beside / "tool-results").mkdir()
    (beside / "tool-results" / "x.txt").write_text(f"long output with {SECRET}\n")
    (beside / "tool-results" / "y.bin").write_bytes(b"\xff\xfe\x00" * 10)
    (home / "file-history" / made.id).mkdir(parents=True)
    (home / "file-history" / made.id / "a@v1").write_text("before\n")
    line = f'{{"display":"Show the key.","timestamp":1,"project":"/proj","sessionId":"{made.id}"}}\n'
    (home / "history.jsonl").write_text(line)
    return made


@pytest.fixture
def session(archive: Archive, home: Path, project: Path) -> ClaudeSession:
    made = full(home, project)
    root = folder.root(project, {})
    by = Speaker("2026-03-19T10:00:03Z", "Reed", made.id)
    folder.begin(root, Begin(topic="Show the key", method="debug", id="key", project="/proj"), by)
    archive.inscribe()
    archive.ingest()
    archive.set_tags(made.id, ["release"])
    archive.tag(made.id, [1], "mine")
    archive.register(made.id, "Reed", "historian")
    archive.summarise(made.id, "What ada wrote.")
    return made


def carried(archive: Archive, other: Archive, session: ClaudeSession, tmp_path: Path, **options: bool) -> Path:
    target = tmp_path / "x.bundle"
    archive.bundle([session.id], target, force=True, **options)
    other.unbundle(target)
    return target


def derived(archive: Archive, session_id: str) -> dict[str, bytes]:
    """Rounds, listings and the bodies of documents."""
    shelf = archive.shelf(archive.session(session_id))
    found = {name: data for name, data in canonical(shelf.folder.parent).items() if name.startswith(session_id)}
    return {name: head.split(data)[1] if name.endswith(f"{session_id}.md") else data for name, data in found.items()}


def test_the_original_files_come_back_on_another_machine(
    archive: Archive, other: Archive, home: Path, session: ClaudeSession, tmp_path: Path
) -> None:
    before = tree(home)
    carried(archive, other, session, tmp_path)
    shutil.rmtree(home)
    other.restore(session.id)
    assert tree(Path(other.env["HOME"]) / ".claude") == before


def test_half_a_character_in_an_engagement_comes_along(
    archive: Archive, other: Archive, home: Path, tmp_path: Path
) -> None:
    session = ClaudeSession()
    for prompt in ("Build the MARK parser", "go on", "and on", "and on again"):
        session.exchange(prompt, "done")
    path = session.write(home)
    path.write_bytes(session.data.replace(b"MARK", b"\\ud83d"))
    archive.inscribe()
    archive.ingest()
    carried(archive, other, session, tmp_path)
    theirs, ours = list(other.engagements()), list(archive.engagements())
    assert r"\ud83d" in str(theirs)
    assert theirs == ours


def test_everything_about_it_comes_too(
    archive: Archive, other: Archive, session: ClaudeSession, tmp_path: Path
) -> None:
    carried(archive, other, session, tmp_path)
    theirs, ours = (derived(a, session.id) for a in (other, archive))
    assert theirs == ours
    heads = [page.load_head(a.shelf(a.session(session.id)).document) for a in (other, archive)]
    assert heads[0] == heads[1]
    assert other.tags(session.id) == ("release",)
    assert other.roster() == archive.roster()
    assert list(other.engagements()) == list(archive.engagements())
    assert other.session(session.id).summary == "What ada wrote."
    assert tree(other.layout.prospective) == tree(archive.layout.prospective)
    for query in ("key", "reply", "mine"):
        assert other.find_engagements(Query(query)) == archive.find_engagements(Query(query))
        assert len(other.search(Query(query))) == len(archive.search(Query(query)))
    other.reindex()
    assert list(other.engagements()) == list(archive.engagements())


def test_the_same_content_is_the_same_bytes_and_plain_tools_read_it(
    archive: Archive, session: ClaudeSession, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    archive.bundle([session.id], one)
    archive.inscribe()
    archive.bundle([session.id, session.id[:8]], two)
    assert one.read_bytes() == two.read_bytes()
    with pytest.raises(Conflict):
        archive.bundle([session.id], one)
    if shutil.which("zstd"):
        out = tmp_path / "out"
        out.mkdir()
        subprocess.run(["tar", "--zstd", "-xf", str(one), "-C", str(out)], check=True)
        assert (out / "sessions" / f"{session.id}.md").exists()


def test_twice_is_once(archive: Archive, other: Archive, session: ClaudeSession, tmp_path: Path) -> None:
    bundle = carried(archive, other, session, tmp_path)
    before = tree(other.layout.root / "data" / "sessions" / "claude")
    (placed,) = other.unbundle(bundle)
    assert placed.what == "unchanged"
    assert tree(other.layout.root / "data" / "sessions" / "claude") == before
    assert [p.what for p in archive.unbundle(bundle)] == ["unchanged"]


def test_what_went_on_is_appended(
    archive: Archive, other: Archive, home: Path, session: ClaudeSession, tmp_path: Path
) -> None:
    carried(archive, other, session, tmp_path)
    session.exchange("one more", "the last reply")
    session.write(home, "-proj")
    archive.inscribe()
    bundle = tmp_path / "y.bundle"
    archive.bundle([session.id], bundle)
    assert [p.what for p in other.unbundle(bundle)] == ["appended"]
    assert other.session(session.id).rounds == 5
    assert other.session(session.id).versions == 0
    assert other.search(Query('"the last reply"'))
    other.restore(session.id, Target(to=tmp_path / "back"))
    assert (tmp_path / "back" / "projects" / "-proj" / f"{session.id}.jsonl").read_bytes() == session.data
    carried_back = tmp_path / "z.bundle"
    other.bundle([session.id], carried_back)
    assert [p.what for p in archive.unbundle(carried_back)] == ["unchanged"]


def test_other_content_becomes_a_version_and_nothing_is_lost(
    archive: Archive, other: Archive, home: Path, project: Path, session: ClaudeSession, tmp_path: Path
) -> None:
    mine = ClaudeSession(session.id, str(project))
    mine.exchange("quite another", "answer")
    mine.exchange("quite another again", "answer")
    mine.write(Path(other.env["HOME"]) / ".claude", "-proj")
    other.inscribe()
    bundle = tmp_path / "x.bundle"
    archive.bundle([session.id], bundle)
    assert [p.what for p in other.unbundle(bundle)] == ["version"]
    assert other.session(session.id).versions == 1
    assert other.session(session.id).rounds == 2
    assert [p.what for p in other.unbundle(bundle)] == ["unchanged"]
    (version,) = (other.shelf(other.session(session.id)).folder / "versions").iterdir()
    kept = evidence.load(version / session.id / "source")
    assert kept
    assert kept.main
    assert b"".join(evidence.read(version / session.id / "source", kept.main)) == session.data
    again = tmp_path / "again.bundle"
    other.bundle([session.id], again)
    third = Archive(tmp_path / "third", {"HOME": str(tmp_path / "third-home")})
    assert [p.what for p in third.unbundle(again)] == ["new"]
    assert third.session(session.id).versions == 1


def test_a_later_decision_counts_and_an_earlier_one_does_not(
    archive: Archive, other: Archive, session: ClaudeSession, tmp_path: Path
) -> None:
    bundle = carried(archive, other, session, tmp_path)
    other.set_tags(session.id, ["mine"])
    other.unbundle(bundle)
    assert other.tags(session.id) == ("mine",)
    archive.set_tags(session.id, ["later"])
    carried(archive, other, session, tmp_path)
    assert other.tags(session.id) == ("later",)


def test_a_session_from_no_home_is_not_put_anywhere_by_itself(
    archive: Archive, other: Archive, tmp_path: Path, project: Path
) -> None:
    made = conversation(3, cwd=str(project))
    path = tmp_path / "loose" / f"{made.id}.jsonl"
    path.parent.mkdir()
    path.write_bytes(made.data)
    archive.inscribe([path])
    bundle = tmp_path / "x.bundle"
    archive.bundle([made.id], bundle)
    other.unbundle(bundle)
    path.unlink()
    with pytest.raises(Conflict, match="another machine"):
        other.restore(made.id)
    assert not path.exists()
    other.restore(made.id, Target(to=tmp_path / "back"))
    assert (tmp_path / "back" / f"{made.id}.jsonl").read_bytes() == made.data


# -- without secrets


def test_a_bundle_without_secrets_has_none_and_says_so(
    archive: Archive, other: Archive, session: ClaudeSession, tmp_path: Path
) -> None:
    archive.summarise(session.id, f"ada pasted {SECRET}")
    archive.set_tags(session.id, [f"see {SECRET}"])
    target = tmp_path / "x.bundle"
    packed = archive.bundle([session.id], target, redact=True)
    assert packed.redacted
    assert packed.secrets >= 3
    assert packed.left_out == 1  # what is no text cannot be looked through
    other.unbundle(target)
    everything = b"".join(tree(other.layout.root).values())
    assert SECRET.encode() not in everything
    found = other.session(session.id)
    shelf = other.shelf(found)
    manifest = evidence.load(shelf.evidence)
    assert manifest
    assert manifest.bundled == "redacted"
    for kept in manifest.files:
        assert SECRET.encode() not in b"".join(evidence.read(shelf.evidence, kept))
    assert "[redacted:" in shelf.document.read_text()
    assert (found.rounds, found.sidechains) == (4, 1)
    assert other.search(Query("redacted"))
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".muniment-")] == []


def test_without_secrets_too_the_same_content_is_the_same_bytes(
    archive: Archive, home: Path, session: ClaudeSession, tmp_path: Path
) -> None:
    second = ClaudeSession(cwd="/proj")
    second.exchange(f"Use {SECRET} and {OTHER_SECRET}.", "Used.")
    second.write(home, "-proj")
    archive.inscribe()
    archive.ingest()
    bundles = [tmp_path / name for name in ("one", "two", "three")]
    for path, names in zip(
        bundles, [(session.id, second.id), (second.id, session.id), (session.id, second.id)], strict=True
    ):
        archive.bundle(names, path, redact=True)
    assert len({path.read_bytes() for path in bundles}) == 1
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in bundles)


def test_a_session_without_its_secrets_does_not_depend_on_what_else_is_bundled(
    archive: Archive, other: Archive, home: Path, session: ClaudeSession, tmp_path: Path
) -> None:
    carried(archive, other, session, tmp_path, redact=True)
    before = ClaudeSession("00000000-0000-4000-8000-000000000001", "/proj")
    before.exchange(f"Use {OTHER_SECRET}.", "Used.")
    before.write(home, "-proj")
    archive.inscribe()
    both = tmp_path / "both.bundle"
    archive.bundle([before.id, session.id], both, redact=True)
    assert {p.session_id: p.what for p in other.unbundle(both)} == {before.id: "new", session.id: "unchanged"}
    session.exchange(f"And {OTHER_SECRET}.", "Used too.")
    session.write(home, "-proj")
    archive.inscribe()
    archive.bundle([session.id], both, redact=True, force=True)
    assert [p.what for p in other.unbundle(both)] == ["appended"]
    assert other.session(session.id).versions == 0
    assert other.session(session.id).rounds == 5


def test_the_exact_bytes_are_never_pretended(
    archive: Archive, other: Archive, session: ClaudeSession, tmp_path: Path
) -> None:
    carried(archive, other, session, tmp_path, redact=True)
    with pytest.raises(Unsupported, match="exact bytes"):
        other.restore(session.id, Target(to=tmp_path / "back"))
    assert not (tmp_path / "back").exists()


def test_the_whole_takes_the_place_of_what_came_without_secrets(
    archive: Archive, other: Archive, session: ClaudeSession, tmp_path: Path
) -> None:
    carried(archive, other, session, tmp_path, redact=True)
    carried(archive, other, session, tmp_path)
    other.restore(session.id, Target(to=tmp_path / "back"))
    assert (tmp_path / "back" / "projects" / "-proj" / f"{session.id}.jsonl").read_bytes() == session.data
    assert other.session(session.id).versions == 1


@pytest.mark.corpus
def test_real_sessions_travel(corpus: Path, tmp_path: Path) -> None:
    first = Archive(tmp_path / "one", {"HOME": str(tmp_path / "h1")})
    first.inscribe([corpus])
    chosen = sorted(first.sessions(), key=lambda s: (s.source, s.source_bytes))[::12]
    first.bundle([s.session_id for s in chosen], tmp_path / "x.bundle")
    second = Archive(tmp_path / "two", {"HOME": str(tmp_path / "h2")})
    assert {p.what for p in second.unbundle(tmp_path / "x.bundle")} == {"new"}
    assert len(chosen) > 5
    for session in chosen:
        here, there = (a.shelf(a.session(session.session_id)) for a in (first, second))
        ours, theirs = evidence.load(here.evidence), evidence.load(there.evidence)
        assert ours
        assert theirs
        assert [(k.name, k.digest) for k in ours.files] == [(k.name, k.digest) for k in theirs.files]
        assert derived(first, session.session_id) == derived(second, session.session_id)
    assert {s.source for s in chosen} <= {source.name for source in sources.all_sources()}
