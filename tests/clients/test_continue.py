"""A session begun in one agent goes on in another: what was said and done is in the other's first request."""

import json
from pathlib import Path

import pytest

from .archive import Archive
from .cases import DOT_PNG
from .conftest import CLIENTS, Clients
from .history import resumed_request
from .kinds import KINDS, Kind, forked_twice, killed, killed_in_stream, long_output, pictured
from .rules import refusals
from .test_resume import WRITABLE
from .told import calls, told, words
from .work import assert_calls_are_carried, said_and_done

FIRST_ROUND = 3
"""Prompt, call and answer."""

PAIRS = [(here, there) for here in CLIENTS for there in WRITABLE if here != there]

CROOKED = [
    (kind, here, there)
    for kind in (killed, killed_in_stream, pictured, long_output)
    for here, there in PAIRS
    if here in ("claude-code", *KINDS[kind])
]
NAMES = [(kind.__name__, here, "to", there) for kind, here, there in CROOKED]

UNASKED = "No response requested."
"""What Claude Code lets its model say to a prompt that was never answered."""


@pytest.mark.parametrize(("here", "there"), PAIRS, ids=[f"{here} to {there}" for here, there in PAIRS])
def test_every_word_call_and_result_goes_along(here: str, there: str, clients: Clients, tmp_path: Path) -> None:
    work, other = clients.at_work(here), clients.fresh(there)
    Archive(tmp_path / "store", work.client.home).inscribe()
    archive = Archive(tmp_path / "store", other.home)
    go_on = ("continue", work.session_id, "--in", there, "--cwd", str(other.project))
    run = other.resume(archive.hand_over(other, *go_on))
    history = said_and_done(run)
    assert refusals(resumed_request(run)) == []
    assert words(history) == words(work.history)
    assert_calls_are_carried(work.history, history)


@pytest.mark.parametrize(("kind", "here", "there"), CROOKED, ids=[" ".join(map(str, names)) for names in NAMES])
def test_what_did_not_go_straight_goes_along(
    kind: Kind, here: str, there: str, clients: Clients, tmp_path: Path
) -> None:
    """What a client says of a call without a result, or of a prompt without an answer, is its own affair."""
    work, other = clients.recorded(here, kind), clients.fresh(there)
    Archive(tmp_path / "store", work.client.home).inscribe()
    archive = Archive(tmp_path / "store", other.home)
    go_on = ("continue", work.session_id, "--in", there, "--cwd", str(other.project))
    request = resumed_request(other.resume(archive.hand_over(other, *go_on)))
    assert refusals(request) == []
    assert [one for one in words(work.history) if one not in words(told(request)) and one.text != UNASKED] == []
    assert len(calls(told(request))) == len(calls(work.history))
    assert kind is not pictured or DOT_PNG in json.dumps(request)


@pytest.mark.parametrize("there", WRITABLE)
def test_a_fork_goes_along_from_its_beginning(there: str, clients: Clients, tmp_path: Path) -> None:
    """Codex keeps a fork as a pointer to its parent, which here is a fork itself."""
    client, other = clients.fresh("codex"), clients.fresh(there)
    session_id = forked_twice(client)
    Archive(tmp_path / "store", client.home).inscribe()
    archive = Archive(tmp_path / "store", other.home)
    go_on = ("continue", session_id, "--in", there, "--cwd", str(other.project))
    run = other.resume(archive.hand_over(other, *go_on))
    assert refusals(resumed_request(run)) == []
    assert said_and_done(run) == said_and_done(client.resume(session_id))


@pytest.mark.parametrize("there", WRITABLE)
def test_chosen_rounds_are_all_that_goes_along(there: str, clients: Clients, tmp_path: Path) -> None:
    work, other = clients.at_work("copilot"), clients.fresh(there)
    Archive(tmp_path / "store", work.client.home).inscribe()
    archive = Archive(tmp_path / "store", other.home)
    go_on = ("continue", work.session_id, "--in", there, "--rounds", "2", "--cwd", str(other.project))
    history = said_and_done(other.resume(archive.hand_over(other, *go_on)))
    assert words(history) == words(work.history[FIRST_ROUND:])
    assert [call.result for call in calls(history)] == [call.result for call in calls(work.history[FIRST_ROUND:])]
