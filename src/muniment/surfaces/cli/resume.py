"""`muniment resume`"""

from __future__ import annotations

import click
from msgspec import structs

from muniment.model import codec
from muniment.model.events import Event
from muniment.record import Recorder
from muniment.surfaces.cli.output import as_json, line, many, out, talk
from muniment.surfaces.cli.recording import where


@click.command()
@click.argument("session", default="last")
@where
@click.option("--json", is_flag=True, help="The new session with its whole chain, for a harness in any language.")
def command(session: str, root: str | None, format_: str, json: bool) -> None:
    """Go on from a recorded SESSION: a path, a unique prefix of its id, or `last`.

    A new session begins that knows where it came from (formats that cannot say so go on in the same file). It has
    the chain of the old one with its compactions, all of its restrictions, and none of its grants. Tool calls that
    were cut off are listed, for the harness to run again.
    """
    recorder = Recorder.resume(session, dialect=format_, root=root)
    recorder.flush()
    if json:
        as_json(_told(recorder))
        return
    out(str(recorder.path))
    talk(f"{many(len(recorder.chain), 'event')} in the chain; grants are not restored")
    for call in recorder.unanswered:
        talk(f"no result for {call.name} ({call.id}): {line(codec.encode(call.input).decode())[:100]}")
    for rule in recorder.permissions.restrictions:
        talk(f"forbidden: {rule.tool} {rule.pattern}")
    for problem in recorder.problems:
        talk(problem)


def _told(recorder: Recorder) -> dict[str, object]:
    return {
        "session_id": recorder.session_id,
        "path": str(recorder.path),
        "chain": [_event(event) for event in recorder.chain],
        "unanswered": [structs.asdict(call) for call in recorder.unanswered],
        "restrictions": [structs.asdict(rule) for rule in recorder.permissions.restrictions],
        "problems": recorder.problems,
    }


def _event(event: Event) -> dict[str, object]:
    return structs.asdict(event)
