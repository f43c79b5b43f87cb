"""A session with secrets of one kind in every place where one can stand, each place with a secret of its own."""

from __future__ import annotations

import random
import uuid
from pathlib import Path
from typing import Any, NamedTuple

from muniment.secrets import Redactor
from tests.builder import ClaudeSession, text, tool
from tests.secrets.vectors import plant

TRACE = 12
"""Characters by which a piece of a secret is known again: half a secret is too much as well."""


HEADS = ("-----", "$ANSIBLE_VAULT")
"""How lines begin that say what follows, and are no secret themselves."""


class Plant(NamedTuple):
    """One secret in one place, and what of it must not be seen."""

    place: str
    traces: tuple[str, ...]


class Garden:
    """A session with everything planted in it. `plants` are the secrets that the scanner finds where they stand."""

    def __init__(self, rule: str) -> None:
        self.rule = rule
        self.id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"garden:{rule}"))
        self.plants: list[Plant] = []
        self.session = self._session()
        self.side = self._subagent()

    def line(self, place: str) -> str:
        """A line with a secret, as it stands in a text; its newlines stay."""
        planted = plant(self.rule, random.Random(f"{self.rule}:{place}"))
        self._note(place, planted.line, planted.secret)
        return planted.line

    def word(self, place: str, around: str = "{}") -> str:
        """The same on one line: in a name or a path, which may have more around it."""
        planted = plant(self.rule, random.Random(f"{self.rule}:{place}"))
        line, secret = (" ".join(words.split()) for words in (planted.line, planted.secret))
        self._note(place, around.format(line), secret)
        return around.format(line)

    def folder(self, place: str) -> str:
        """The same as the name of a folder, where it can be one: the name of a project is the last part of a path."""
        can_be = "/" not in plant(self.rule, random.Random(f"{self.rule}:{place}")).line
        return self.word(place, "/w/{}") if can_be else "/w/x"

    def member(self, place: str, name: str) -> dict[str, str]:
        """A member of an object, with the name of a secret."""
        secret = plant(self.rule, random.Random(f"{self.rule}:{place}")).secret
        self._note(place, {name: secret}, secret)
        return {name: secret}

    def _note(self, place: str, value: Any, secret: str) -> None:
        """Only what the scanner finds where it stands can be expected to be taken out."""
        lines = [line for line in secret.split("\n") if len(line) >= TRACE and not line.startswith(HEADS)]
        traces = tuple(line[at : at + TRACE] for line in lines for at in (len(line) // 3, len(line) - TRACE))
        left = str(Redactor().value(value))
        if traces and not any(trace in left for trace in traces):
            self.plants.append(Plant(place, traces))

    def _session(self) -> ClaudeSession:
        made = ClaudeSession(self.id, cwd=self.folder("cwd"), gitBranch=self.word("branch"))
        made.fixed["slug"] = self.word("slug")
        made.user(f"xylophone prompt\n{self.line('prompt')}\nthanks")
        made.answer(
            {"type": "thinking", "thinking": f"xylophone thought\n{self.line('thinking')}", "signature": "c2ln"}
        )
        given = {"note": "xylophone input", **self.member("member", "password")}
        given["options"] = {"list": [self.member("nested", "api_key")], "deep": {"x": self.line("in a member")}}
        made.answer(text(f"xylophone remark\n{self.line('remark')}"), tool("t1", "Deploy", given))
        made.result("t1", f"xylophone output\n{self.line('output')}\nend", is_error=False)
        made.answer(tool("t2", self.word("tool name"), {"query": "xylophone"}))
        made.result("t2", [text(f"xylophone part\n{self.line('part')}")], is_error=True)
        made.answer(
            tool("t3", "Write", {"file_path": self.word("path", "/w/{}/a.py"), "content": self.line("content")})
        )
        made.result("t3", "xylophone written", is_error=False)
        made.answer(tool("t4", "Bash", {"command": f"echo xylophone; {self.word('command')}; make test"}))
        made.result("t4", f'{{"output":"{self.word("envelope")}\\n","metadata":{{"exit_code":0}}}}', is_error=False)
        made.answer(tool("t5", "TodoWrite", {"todos": [{"content": self.word("todo"), "status": "pending"}]}))
        made.result("t5", "xylophone todo", is_error=False)
        made.answer(
            tool("t6", self.word("cut off"), {"subagent_type": "x", "description": self.word("task"), "prompt": "p"})
        )
        made.chain("system", subtype="local_command", content=f"xylophone event\n{self.line('event')}")
        made.add({"type": "summary", "summary": self.word("summary"), "leafUuid": made.last})
        made.answer({"type": "new-kind", **self.member("unknown", "client_secret")})
        made.add({"type": "custom-title", "customTitle": self.word("title"), "sessionId": self.id})
        made.add({"type": "agent-name", "agentName": self.word("agent name"), "sessionId": self.id})
        made.answer(text(f"xylophone answer\n{self.line('answer')}"))
        return made

    def _subagent(self) -> ClaudeSession:
        side = ClaudeSession(self.id, isSidechain=True, agentId=self.side_id)
        side.user(f"{self.line('subagent prompt')}\nxylophone side")
        side.answer(text(f"xylophone side answer\n{self.line('subagent answer')}"))
        return side

    @property
    def side_id(self) -> str:
        return "a1b2c3"

    def write(self, home: Path) -> None:
        """Put it where the client would."""
        path = self.session.write(home)
        side = path.with_suffix("") / "subagents" / f"agent-{self.side_id}.jsonl"
        side.parent.mkdir(parents=True)
        side.write_bytes(self.side.data)
