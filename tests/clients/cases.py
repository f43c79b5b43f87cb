"""Sessions of each kind, recorded with the real client: a case runs some turns and returns the session's id.

Each case asserts that its file holds what its name says, so that a changed client cannot quietly turn a case into a
plain chat.
"""

import base64
from collections.abc import Callable

from .claude import Claude
from .model_server import Turn, says
from .wires import Json, call_block, text_block, thinking_block

SUMMARY = "<analysis>a</analysis><summary>Three commands ran.</summary>"
DOT_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


def chat(claude: Claude) -> str:
    session_id = claude.ask("remember the word zebra – 斑马", answers=(says("I remember it: 斑马 🦓."),)).session_id
    claude.ask("which word?", "--resume", session_id, answers=(says("It was zebra."),))
    return session_id


def parallel_tools(claude: Claude) -> str:
    """Thinking, text and three calls in one answer; their results arrive out of order, one is an error."""
    calls = (bash("sleep 0.3; echo one"), bash("echo two"), bash("echo three >&2; exit 3"))
    answer = Turn((thinking_block("Three at once. " * 40), text_block("I run three."), *calls))
    session_id = claude.ask("run three commands", answers=(answer, says("All ran."))).session_id
    assert len(block_records(claude, session_id, "tool_result")) == 3
    return session_id


def edits(claude: Claude) -> str:
    """Write, Read and Edit over two prompts, with the client's own copies of the files."""
    note, new = claude.project / "note.txt", claude.project / "new.txt"
    note.write_text("alpha\nbeta\n")
    first = (
        Turn((call_block("Read", file_path=str(note)),)),
        Turn((call_block("Edit", file_path=str(note), old_string="beta", new_string="gamma"),)),
        Turn((call_block("Write", file_path=str(new), content="first\n"),)),
        says("Edited."),
    )
    second = (
        Turn((call_block("Edit", file_path=str(note), old_string="alpha", new_string="delta"),)),
        says("Edited again."),
    )
    session_id = claude.ask("edit the note", answers=first).session_id
    claude.ask("edit it again", "--resume", session_id, answers=second)
    assert note.read_text() == "delta\ngamma\n"
    assert list(claude.config.glob(f"file-history/{session_id}/*"))
    return session_id


def big_output(claude: Claude) -> str:
    """Output above the client's limit, which goes to a file beside the transcript."""
    session_id = claude.ask("print much", answers=(Turn((bash("seq 1 30000"),)), says("Long."))).session_id
    assert list(claude.config.glob(f"projects/*/{session_id}/tool-results/*"))
    return session_id


def image(claude: Claude) -> str:
    """A picture as a tool's result."""
    picture = claude.project / "dot.png"
    picture.write_bytes(base64.b64decode(DOT_PNG))
    answers = (Turn((call_block("Read", file_path=str(picture)),)), says("A dot."))
    session_id = claude.ask("look at it", answers=answers).session_id
    assert '"type":"image"' in claude.transcript(session_id).read_text()
    return session_id


def rewound(claude: Claude) -> str:
    """Back to the first answer and on from there: a file with an abandoned branch in it."""
    session_id = claude.ask("one", answers=(says("First."),)).session_id
    (first,) = (record["uuid"] for record in claude.records(session_id) if record["type"] == "assistant")
    claude.ask("two", "--resume", session_id, answers=(says("Second."),))
    back = ("--resume", session_id, "--resume-session-at", first)
    claude.ask("two, but otherwise", *back, answers=(says("Other."),))
    assert sum(record.get("parentUuid") == first for record in claude.records(session_id)) == 2
    return session_id


def subagent(claude: Claude) -> str:
    """An agent in the foreground, which calls a tool itself."""
    task = {"description": "count files", "prompt": "count the files", "subagent_type": "general-purpose"}
    answers = (
        Turn((call_block("Agent", **task, run_in_background=False),)),
        Turn((bash("ls | wc -l"),)),
        says("There are no files."),
        says("The agent says none."),
    )
    session_id = claude.ask("ask an agent", answers=answers).session_id
    assert list(claude.config.glob(f"projects/*/{session_id}/subagents/agent-*.jsonl"))
    return session_id


def compacted(claude: Claude) -> str:
    """A manual compaction and a turn after it."""
    session_id = parallel_tools(claude)
    claude.ask("/compact", "--resume", session_id, answers=(says(SUMMARY),))
    claude.ask("go on", "--resume", session_id, answers=(says("After it."),))
    assert any(record.get("subtype") == "compact_boundary" for record in claude.records(session_id))
    return session_id


def forked(claude: Claude) -> str:
    """A fork, while the original goes on as well: two files that share their first records."""
    origin_id = parallel_tools(claude)
    fork = claude.ask("on in a fork", "--resume", origin_id, "--fork-session", answers=(says("In the fork."),))
    claude.ask("on in the original", "--resume", origin_id, answers=(says("In the original."),))
    assert fork.session_id != origin_id
    return fork.session_id


def killed_in_stream(claude: Claude) -> str:
    """Killed in the middle of a streamed answer: the prompt is on disk, and nothing of the answer."""
    session_id = claude.ask("hello", answers=(says("Ready."),)).session_id
    halting = Turn((thinking_block("Slowly."), text_block("slow words " * 200), bash("echo never")), hold_after=8)
    claude.model.play(halting)

    def is_under_way() -> bool:
        """The model is answering, and the client has written the prompt: on a busy machine that may come later."""
        return claude.model.is_holding() and "answer slowly" in claude.transcript(session_id).read_text()

    claude.kill_when(is_under_way, "answer slowly", "--resume", session_id)
    assert "answer slowly" in claude.transcript(session_id).read_text()
    assert "slow words" not in claude.transcript(session_id).read_text()
    return session_id


def killed_in_tool(claude: Claude) -> str:
    """Killed while one of two parallel calls still runs."""
    session_id = claude.ask("hello", answers=(says("Ready."),)).session_id
    gate = claude.project / "gate"
    gate.touch()
    waiting = bash("while test -e gate; do sleep 0.1; done")
    claude.model.play(Turn((bash("echo quick"), waiting)))
    claude.kill_when(lambda: block_records(claude, session_id, "tool_result"), "run it", "--resume", session_id)
    gate.unlink()  # the command may outlive the client: this ends it
    assert len(block_records(claude, session_id, "tool_use")) == 2
    assert len(block_records(claude, session_id, "tool_result")) == 1
    return session_id


CASES: dict[str, Callable[[Claude], str]] = {
    case.__name__: case
    for case in (
        chat,
        parallel_tools,
        edits,
        big_output,
        image,
        subagent,
        compacted,
        rewound,
        forked,
        killed_in_stream,
        killed_in_tool,
    )
}


def bash(command: str) -> Json:
    return call_block("Bash", command=command, description="run a command")


def block_records(claude: Claude, session_id: str, kind: str) -> list[Json]:
    """The records of a session that hold a block of this kind."""
    return [record for record in claude.records(session_id) if kind in block_kinds(record)]


def block_kinds(record: Json) -> set[str]:
    content = record["message"]["content"] if record["type"] in ("user", "assistant") else []
    return {block["type"] for block in content if isinstance(block, dict)}
