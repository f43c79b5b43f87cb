"""Sessions of every client go into the archive, vanish from the disk, come back, and the real client resumes them."""

import shutil
from pathlib import Path

import pytest

from .archive import Archive
from .conftest import CLIENTS, Clients
from .history import difference
from .kinds import KINDS, Kind, forked, forked_twice
from .work import Work, said_and_done

WRITABLE = ("claude-code", "codex", "pi", "opencode")
MOVABLE = ("codex", "pi", "opencode", "gemini", "copilot")

RECORDED = [(kind, agent) for kind, agents in KINDS.items() for agent in agents]
EXPORTED = [one for one in RECORDED if one[1] in WRITABLE]


def of_kinds(pairs: list[tuple[Kind, str]]) -> pytest.MarkDecorator:
    ids = [f"{kind.__name__} {agent}" for kind, agent in pairs]
    return pytest.mark.parametrize(("kind", "agent"), pairs, ids=ids)


@pytest.mark.parametrize("agent", CLIENTS)
def test_an_untouched_original_resumes_equally_twice(agent: str, clients: Clients) -> None:
    work = clients.at_work(agent)
    assert difference(work.original, work.client.resume(work.session_id)) is None


@pytest.mark.parametrize("agent", CLIENTS)
def test_a_restored_session_tells_the_model_the_same_as_before(agent: str, clients: Clients, tmp_path: Path) -> None:
    work = clients.at_work(agent)
    archive = Archive(tmp_path / "store", work.client.home)
    archive.inscribe()
    work.client.forget_all()
    restored = archive.give_back(work.client, work.session_id)
    assert difference(work.original, work.client.resume(work.session_id)) is None
    assert restored


@pytest.mark.parametrize("agent", MOVABLE)
def test_a_moved_session_resumes_in_its_new_folder(agent: str, clients: Clients, tmp_path: Path) -> None:
    work = clients.at_work(agent)
    moved = tmp_path / "new place"
    moved.mkdir()
    archive = Archive(tmp_path / "store", work.client.home)
    archive.inscribe()
    work.client.forget_all()
    archive.give_back(work.client, work.session_id, "--cwd", str(moved), cwd=moved)
    shutil.rmtree(work.client.project)
    assert said_and_done(work.client.resume(work.session_id, cwd=moved)) == work.history


@of_kinds(RECORDED)
def test_a_session_of_any_kind_comes_back(kind: Kind, agent: str, clients: Clients, tmp_path: Path) -> None:
    work, archive = recorded_and_gone(kind, agent, clients, tmp_path)
    archive.give_back(work.client, "--all")
    assert difference(work.original, work.client.resume(work.session_id)) is None


@of_kinds(EXPORTED)
def test_a_session_of_any_kind_is_exported_with_the_same_words_calls_and_results(
    kind: Kind, agent: str, clients: Clients, tmp_path: Path
) -> None:
    work, archive = recorded_and_gone(kind, agent, clients, tmp_path)
    archive.hand_over(work.client, "export", work.session_id, "--to", agent)
    assert said_and_done(work.client.resume(work.session_id)) == work.history


@pytest.mark.parametrize("kind", [forked, forked_twice])
@pytest.mark.parametrize("agent", KINDS[forked])
def test_a_fork_that_is_restored_by_itself_resumes(kind: Kind, agent: str, clients: Clients, tmp_path: Path) -> None:
    """Codex keeps a fork as a pointer to its parent, which has to come along."""
    work, archive = recorded_and_gone(kind, agent, clients, tmp_path)
    archive.give_back(work.client, work.session_id)
    assert difference(work.original, work.client.resume(work.session_id)) is None


def recorded_and_gone(kind: Kind, agent: str, clients: Clients, tmp_path: Path) -> tuple[Work, Archive]:
    """A session of a kind in the archive and no longer on the disk."""
    work = clients.recorded(agent, kind)
    archive = Archive(tmp_path / "store", work.client.home)
    archive.inscribe()
    work.client.forget_all()
    return work, archive


@pytest.mark.parametrize("told_by", ["rounds", "document"])
@pytest.mark.parametrize("agent", WRITABLE)
def test_an_exported_session_resumes_with_the_same_words_calls_and_results(
    agent: str, told_by: str, clients: Clients, tmp_path: Path
) -> None:
    work = clients.at_work(agent)
    archive = Archive(tmp_path / "store", work.client.home)
    archive.inscribe()
    work.client.forget_all()
    options = ["--from-document"] if told_by == "document" else []
    session_id = archive.hand_over(work.client, "export", work.session_id, "--to", agent, *options)
    assert session_id == work.session_id
    assert said_and_done(work.client.resume(session_id)) == work.history
