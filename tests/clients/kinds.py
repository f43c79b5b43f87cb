"""Sessions that did not go straight: each kind runs some turns with any client and returns the session's id.

Each kind asserts that the client did what its name says, so that a changed client cannot quietly turn it into a chat.
"""

import base64
import json
from collections.abc import Callable

from .cases import DOT_PNG
from .client import Client
from .model_server import Turn, says
from .wires import Json, call_block, text_block

Kind = Callable[[Client], str]

TOO_MANY_TOKENS = 990_000
"""More than any context has room for."""


def killed(client: Client) -> str:
    """Killed while a command runs: the call is on disk, and no result."""
    begun, gate = client.project / "begun", client.project / "gate"
    gate.touch()
    session_id = greeted(client)
    waiting = client.shell("touch begun; while test -e gate; do sleep 0.1; done")
    client.model.play(Turn((text_block("I run it."), waiting)))
    client.kill_when(begun.exists, "run it", *client.resuming(session_id))
    gate.unlink()  # the command may outlive the client: this ends it
    return session_id


def killed_in_stream(client: Client) -> str:
    """Killed in the middle of a streamed answer."""
    session_id = greeted(client)
    client.model.play(says(" ".join(map(str, range(1000))), hold_after=4))
    client.kill_when(client.model.is_holding, "answer slowly", *client.resuming(session_id))
    return session_id


def pictured(client: Client) -> str:
    """A picture as a tool's result."""
    picture = client.project / "dot.png"
    picture.write_bytes(base64.b64decode(DOT_PNG))
    run = client.ask("look at it", answers=(Turn((client.looks_at(picture),)), says("A dot.")))
    assert DOT_PNG in json.dumps(run.requests[-1]), "the model saw no picture"
    return client.session_ids()[0]


def long_output(client: Client) -> str:
    """More output than a client tells its model of."""
    run = client.ask("print much", answers=(Turn((client.shell("seq 1 30000"),)), says("Long.")))
    told = json.dumps(run.requests[-1])
    assert r"1\n2\n3\n" in told or r"\n29999\n" in told, "nothing was printed"
    assert any(str(number) not in told for number in range(1000, 30000, 1000)), "nothing was cut"
    return client.session_ids()[0]


def forked(client: Client) -> str:
    """A fork, while the original goes on as well."""
    origin_id = greeted(client)
    client.ask("on in a fork", *client.forking(origin_id), answers=(says("In the fork."),))
    (session_id,) = (id_ for id_ in client.session_ids() if id_ != origin_id)
    client.ask("on in the original", *client.resuming(origin_id), answers=(says("In the original."),))
    return session_id


def forked_twice(client: Client) -> str:
    """A fork of a fork, while both others go on as well."""
    fork_id = forked(client)
    before = client.session_ids()
    client.ask("on in a second fork", *client.forking(fork_id), answers=(says("In the second fork."),))
    (session_id,) = (id_ for id_ in client.session_ids() if id_ not in before)
    client.ask("on in the first fork", *client.resuming(fork_id), answers=(says("In the first fork."),))
    return session_id


def compacted(client: Client) -> str:
    """The context is full, and the client asks for a summary by itself, at the end of a prompt or before the next."""
    session_id = greeted(client, Turn((client.shell("echo one"),)))
    full = says("Much was said.", tokens=TOO_MANY_TOKENS)
    first = client.ask("say much", *client.resuming(session_id), answers=(full, says("A summary.")))
    second = client.ask("say more", *client.resuming(session_id), answers=(says("More."), says("More of it.")))
    assert len(first.requests + second.requests) > 2, "nothing was compacted"
    return session_id


def compacted_at_work(client: Client) -> str:
    """The context is full while the client works: the summary stands before the result that is on its way."""
    session_id = greeted(client, Turn((client.shell("echo one"),)))
    full = Turn((text_block("I look."), client.shell("echo two")), tokens=TOO_MANY_TOKENS)
    summary = says("<state_snapshot>A summary.</state_snapshot>")  # one client asks for it a second time, to be sure
    run = client.ask("say much", *client.resuming(session_id), answers=(full, summary, summary, says("Much.")))
    assert len(run.requests) > 2, "nothing was compacted"
    return session_id


def compacted_by_hand(client: Client) -> str:
    """A manual compaction and a turn after it."""
    session_id = greeted(client, Turn((client.shell("echo one"),)))
    client.ask("/compact", *client.resuming(session_id), answers=(says("A summary."),))
    after = client.ask("go on", *client.resuming(session_id), answers=(says("After it."),))
    assert "A summary." in json.dumps(after.requests[-1]), "nothing was compacted"
    return session_id


def subagent(client: Client) -> str:
    """A task given to another agent, which runs a command itself."""
    ending = REPORTS.get(client.name, text_block("The agent counted one."))
    answers = (Turn((TASKS[client.name],)), Turn((client.shell("echo one"),)), Turn((ending,)), says("It says one."))
    run = client.ask("ask an agent", answers=answers)
    assert len(run.requests) == len(answers), f"{len(run.requests)} requests"
    return client.session_ids()[0]


def spawned(client: Client) -> str:
    """A task given to another agent, which works meanwhile; either may ask first, so that both are told the same."""
    client.ask("ask an agent", answers=(Turn((SPAWN,)), says("one"), says("one")))
    session_id, _ = client.session_ids()
    return session_id


def greeted(client: Client, *before: Turn) -> str:
    """A session of one prompt."""
    client.ask("hello", answers=(*before, says("Ready.")))
    (session_id,) = client.session_ids()
    return session_id


TASKS: dict[str, Json] = {
    "opencode": call_block("task", description="count", prompt="count the files", subagent_type="general"),
    "copilot": call_block(
        "task", name="counter", description="count", prompt="count the files", agent_type="general-purpose"
    ),
    "gemini": call_block("invoke_agent", agent_name="generalist", prompt="count the files"),
}

SPAWN: Json = {**call_block("spawn_agent", message="count the files"), "namespace": "multi_agent_v1"}

REPORTS: dict[str, Json] = {"gemini": call_block("complete_task", result={"response": "The agent counted one."})}
"""How an agent ends that does not end by saying something."""

KINDS: dict[Kind, tuple[str, ...]] = {
    killed: ("codex", "pi", "opencode", "gemini", "copilot"),
    killed_in_stream: ("codex", "pi", "opencode", "gemini", "copilot"),
    pictured: ("codex", "pi", "opencode", "gemini"),
    long_output: ("codex", "pi", "opencode", "gemini", "copilot"),
    forked: ("codex", "pi", "opencode"),
    forked_twice: ("codex",),
    compacted: ("claude-code", "codex", "pi", "opencode"),
    compacted_at_work: ("codex", "opencode", "gemini"),
    compacted_by_hand: ("copilot",),
    subagent: tuple(TASKS),
    spawned: ("codex",),
}
"""Which clients have each kind, told by the command line; most of Claude Code's are in `cases`."""
