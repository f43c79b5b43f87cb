"""One piece of work, done by any client: it reads, runs two commands at once, edits and writes over two prompts."""

from dataclasses import dataclass

from .client import Client, Run
from .history import resumed_request
from .model_server import Turn, says
from .told import Call, Told, Words, calls, told
from .wires import text_block, thinking_block

THOUGHT = "I should look."


@dataclass(frozen=True)
class Work:
    """A session on a client's disk, and what its untouched original told the model when it was resumed."""

    client: Client
    session_id: str
    original: Run

    @property
    def history(self) -> Told:
        return said_and_done(self.original)


def said_and_done(run: Run) -> Told:
    """What a resume told the model; clients that cannot give a thought back as a thought may tell it as words."""
    return [one for one in told(resumed_request(run)) if one != Words("assistant", THOUGHT)]


def do_work(client: Client) -> str:
    """Record the session and return its id."""
    note, new = client.project / "note.txt", client.project / "new.txt"
    note.write_text("alpha\nbeta\n")
    look = Turn((thinking_block(THOUGHT), client.reads(note)))
    first = client.ask("What does the note say? 斑马 ✓", answers=(look, says("It says alpha and beta.")))
    (session_id,) = client.session_ids()
    second = client.ask(
        "Run two commands, then change it.",
        *client.resuming(session_id),
        answers=(
            Turn((text_block("Two at once."), client.shell("echo one"), client.shell("echo two; exit 3"))),
            Turn((client.edits(note, "beta", "gamma"),)),
            Turn((client.writes(new, "a new line"),)),
            says("Both ran, and I changed it."),
        ),
    )
    assert (first.exit_code, second.exit_code) == (0, 0), first.errors + second.errors
    assert (note.read_text(), new.read_text()) == ("alpha\ngamma\n", "a new line\n")
    return session_id


MARKS = (("note.txt",), ("echo one",), ("echo two; exit 3",), ("note.txt", "beta", "gamma"), ("new.txt", "a new line"))
"""What the calls are about, whatever the tools and their fields are called."""


def assert_calls_are_carried(here: Told, there: Told) -> None:
    """Every call is there in its order, about the same and with the same result."""
    assert [call.result for call in calls(there)] == [call.result for call in calls(here)]
    for call, marks in zip(calls(there), MARKS, strict=True):
        assert_is_about(call, marks)


def assert_is_about(call: Call, marks: tuple[str, ...]) -> None:
    missing = [mark for mark in marks if mark not in call.input]
    assert not missing, f"{missing} missing in {call}"
