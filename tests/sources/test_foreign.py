"""Sessions of other agents: what services would refuse is mended before they are written."""

from base64 import b64encode

import pytest

from muniment import sources
from muniment.model import Compaction, Event, Facts, Loss, Media, Message, Ref, Round, Text, Tool, Unknown
from muniment.sources.base import Move
from muniment.sources.foreign import NOT_RECORDED, begun

QUIET = Message("assistant", None, (Event("meta"),))
ASKED = Message("user", None, (Text("go"),))
ANSWERED = Message("assistant", None, (Text("Done."),))
OPENING = Message("user", None, (Text(NOT_RECORDED),))


def first_messages(*rounds: Round) -> list[Message]:
    return [message for round_ in begun(iter(rounds)) for message in round_.messages]


def test_a_conversation_whose_beginning_is_lost_begins_with_a_word_of_that() -> None:
    made = first_messages(Round(1, (QUIET,)), Round(2, (QUIET, ANSWERED)), Round(3, (ANSWERED,)))
    assert made == [QUIET, OPENING, QUIET, ANSWERED, ANSWERED]


def test_one_that_the_person_begins_is_left_as_it_is() -> None:
    assert first_messages(Round(1, (QUIET, ASKED, ANSWERED)), Round(2, (ANSWERED,))) == [
        QUIET,
        ASKED,
        ANSWERED,
        ANSWERED,
    ]


def test_a_summary_of_what_was_before_is_a_beginning() -> None:
    summed_up = Message("assistant", None, (Compaction("So far."), Text("On.")))
    assert first_messages(Round(1, (summed_up,))) == [summed_up]


def test_where_nothing_is_said_nothing_begins() -> None:
    assert first_messages(Round(1, (QUIET,)), Round(2, (QUIET,))) == [QUIET, QUIET]


# -- what one refused part would cost: the whole request

SESSION = "01a00000-0000-4000-8000-000000000001"
PIXEL = b"\x89PNG"
AGENTS = ["claude-code", "codex", "pi", "opencode"]


def written(agent: str, *messages: Message) -> tuple[bytes, list[Loss]]:
    losses: list[Loss] = []
    rounds, facts = [Round(1, messages, prompted=True)], Facts(SESSION, "other", rounds=1)
    return b"".join(sources.named(agent).write(rounds, facts, Move(), lambda _: PIXEL, losses)), losses


@pytest.mark.parametrize("agent", AGENTS)
def test_a_picture_in_a_broken_encoding_stays_behind(agent: str) -> None:
    """Seen in real sessions: a tool that takes secrets out took parts of pictures for some."""
    broken = Unknown("media", {"media_type": "image/png", "data": "REDACTED=="})
    tool = Tool("t1", "Read", {"path": "pixel.png"}, (Text("Here."), broken))
    data, losses = written(agent, Message("user", None, (Text("Look."), broken)), Message("assistant", None, (tool,)))
    assert b"base64" not in data
    assert b"[image/png: not carried]" in data
    assert {loss.what for loss in losses} >= {"media in a broken encoding", "part: media"}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_picture_beside_a_result_that_was_one_string_goes_along(agent: str) -> None:
    shown = (Text("Here."), Media("pixel.png", "image/png"))
    tool = Tool("t1", "Read", {"path": "pixel.png"}, shown, result=Ref(plain=True))
    data, losses = written(agent, ASKED, Message("assistant", None, (tool,)))
    assert b64encode(PIXEL) in data
    assert not any(loss.what == "image" for loss in losses)


def test_a_picture_of_a_failed_call_is_counted_in_opencode() -> None:
    failed = Tool("t1", "Read", {"path": "x"}, (Text("No."), Media("pixel.png", "image/png")), is_error=True)
    _, losses = written("opencode", ASKED, Message("assistant", None, (failed,)))
    assert [(loss.what, loss.count) for loss in losses] == [("image of a failed call", 1)]


def test_a_text_without_words_is_none_in_opencode() -> None:
    data, _ = written("opencode", ASKED, Message("assistant", None, (Text("\n"), Text("Done."))))
    assert data.count(b'"type":"text"') == 2
