"""Trees of every source, grown from real sessions.

A source that the corpus has enough of is grown from its own files under new ids. One that can be written gets what its
writer makes of real sessions of another agent, and one that is only read gets the same sessions in its own shape, which
this module knows for each. So every source reads conversations of real lengths and sizes.
"""

import json
import re
import uuid
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from muniment import sources
from muniment.model import Facts, Message, Round, Text, Thinking, Tool
from muniment.sources.base import Found, Move, Source
from muniment.sources.lines import records

from .trees import Corpus, Tree, fresh

ENOUGH_BYTES = 500_000
SPOKEN = "claude-code"
"""Whose sessions are told again in the formats of others."""
LARGEST_BYTES = 4_000_000
"""Of a session that is told again: it is held in memory whole."""
ENV = {"HOME": "/nowhere"}
_NUMBER = re.compile(r"[0-9a-fA-F]{8,}$")

Session = tuple[Facts, list[Round]]


def grown(source: Source, corpus: Corpus, size: int) -> Tree:
    """A tree of about `size` bytes, made once."""
    place = corpus.work / "trees" / f"source-{source.name}-{size // 1_000_000}M"
    if not place.is_dir():
        unfinished = fresh(place.with_name(f"{place.name}.part"))
        for number, (name, data) in enumerate(_until(size, _content(source, corpus))):
            path = unfinished / (name or f"{number:05d}.json")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        unfinished.rename(place)
    return described(source, place)


def described(source: Source, place: Path) -> Tree:
    found = [session for session in sources.find_in(place, ENV) if session.source == source.name]
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    files = sum(1 for path in place.rglob("*") if path.is_file())
    return Tree(f"{source.title}, {size / 1e6:.0f} MB in {len(found)} sessions", place, len(found), files, size)


def _until(size: int, files: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    made = 0
    for name, data in files:
        yield name, data
        made += len(data)
        if made >= size:
            return


def _content(source: Source, corpus: Corpus) -> Iterator[tuple[str, bytes]]:
    own = corpus.unpacked / source.name
    found = list(sources.find_in(own, ENV)) if own.is_dir() else []
    if sum(file.size for session in found for file in session.files) >= ENOUGH_BYTES:
        return _copies(source, found)
    told = _told(corpus)
    return _written(source, told) if source.writable else _shaped(SHAPES[source.name], told)


# -- the files themselves, under new ids


def _copies(source: Source, found: list[Found]) -> Iterator[tuple[str, bytes]]:
    for number in count(1):
        for session in found:
            old = session.native_id or session.session_id
            new = _numbered(old, number)
            for file in session.files:
                data = b"".join(source.content(file)).replace(old.encode(), new.encode())
                name = file.name.replace(old, new)
                yield (f"{number}/{name}" if name == file.name else name), data


def _numbered(id_: str, number: int) -> str:
    """Another id of the same length, so that what counts bytes stays right."""
    return _NUMBER.sub(lambda digits: f"{number:0{len(digits[0])}x}", id_)


# -- sessions that are told again


def _told(corpus: Corpus) -> list[Session]:
    """Real sessions, the large ones left out."""
    source = sources.named(SPOKEN)
    made: list[Session] = []
    for session in sources.find_in(corpus.unpacked / SPOKEN, ENV):
        if session.main and 0 < session.main.size <= LARGEST_BYTES:
            facts = Facts(session.session_id, SPOKEN)
            rounds = list(source.read(records(source.content(session.main)), facts))
            for round_ in rounds:
                facts = facts.after(round_)
            if facts.prompts and facts.tool_calls:
                made.append((facts, rounds))
    return made


def _new_id(facts: Facts, number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"bench:{facts.session_id}:{number}"))


def _written(source: Source, told: list[Session]) -> Iterator[tuple[str, bytes]]:
    for number in count(1):
        for facts, rounds in told:
            move = Move(session_id=_new_id(facts, number))
            media = {name: content for round_ in rounds for name, content in round_.media.items()}
            lines = source.write(rounds, facts, move, media.__getitem__, [])
            yield source.place(facts, move), b"".join(lines)


Shape = Callable[[str, list[Message]], tuple[str, bytes]]


def _shaped(shape: Shape, told: list[Session]) -> Iterator[tuple[str, bytes]]:
    for number in count(1):
        for facts, rounds in told:
            messages = [m for round_ in rounds for m in round_.messages if m.blocks and not m.sidechain]
            yield shape(_new_id(facts, number), messages)


def _texts(message: Message) -> list[str]:
    return [block.text for block in message.blocks if isinstance(block, Text)]


def _tools(message: Message) -> list[Tool]:
    return [block for block in message.blocks if isinstance(block, Tool) and block.name]


def _output(tool: Tool) -> str:
    return "\n".join(part.text for part in tool.output or () if isinstance(part, Text))


def _cursor(id_: str, messages: list[Message]) -> tuple[str, bytes]:
    lines: list[dict[str, Any]] = []
    for message in messages:
        content: list[dict[str, Any]] = [{"type": "text", "text": text} for text in _texts(message)]
        content += [{"type": "tool_use", "name": tool.name, "input": tool.input} for tool in _tools(message)]
        lines += [{"role": message.role, "message": {"content": content}}] if content else []
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return f"projects/home-ada-shop/agent-transcripts/{id_}/{id_}.jsonl", data


def _messages(id_: str, messages: list[Message]) -> tuple[str, bytes]:
    said: list[dict[str, Any]] = [{"role": "system", "content": f"Session {id_}."}]
    for message in messages:
        calls = [
            {"id": tool.id, "type": "function", "function": {"name": tool.name, "arguments": json.dumps(tool.input)}}
            for tool in _tools(message)
        ]
        text = "\n\n".join(_texts(message))
        if text or calls:
            said.append({"role": message.role, "content": text} | ({"tool_calls": calls} if calls else {}))
        said += [{"role": "tool", "tool_call_id": tool.id, "content": _output(tool)} for tool in _tools(message)]
    return "", json.dumps({"model": "gpt-5", "messages": said}).encode()


def _claude_ai(id_: str, messages: list[Message]) -> tuple[str, bytes]:
    said: list[dict[str, Any]] = []
    for number, message in enumerate(messages):
        content: list[dict[str, Any]] = []
        for block in message.blocks:
            if isinstance(block, Text):
                content.append({"type": "text", "text": block.text, "citations": []})
            elif isinstance(block, Thinking) and block.text:
                content.append({"type": "thinking", "thinking": block.text})
            elif isinstance(block, Tool) and block.name:
                content.append({"type": "tool_use", "id": block.id, "name": block.name, "input": block.input})
                given = [{"type": "text", "text": _output(block)}]
                content.append({"type": "tool_result", "tool_use_id": block.id, "content": given})
        sender = "human" if message.role == "user" else "assistant"
        about = {"uuid": f"{id_[:-4]}{number:04x}", "sender": sender, "created_at": message.at}
        said.append(about | {"text": "\n\n".join(_texts(message)), "content": content})
    about = {"uuid": id_, "name": "A chat", "created_at": messages[0].at, "updated_at": messages[-1].at}
    return f"{id_}/conversations.json", json.dumps([about | {"chat_messages": said}]).encode()


def _chatgpt(id_: str, messages: list[Message]) -> tuple[str, bytes]:
    nodes: dict[str, Any] = {"r": {"id": "r", "message": None, "parent": None, "children": []}}
    last = "r"
    for role, text in _chat(messages):
        own = f"n{len(nodes)}"
        content = {"content_type": "text", "parts": [text]}
        said = {"id": own, "author": {"role": role}, "create_time": 1.7e9 + len(nodes), "content": content}
        nodes[last]["children"].append(own)
        nodes[own] = {"id": own, "message": said | {"recipient": "all"}, "parent": last, "children": []}
        last = own
    about = {"title": "A chat", "create_time": 1.7e9, "conversation_id": id_, "current_node": last}
    return f"{id_}/conversations.json", json.dumps([about | {"mapping": nodes}]).encode()


def _chat(messages: list[Message]) -> Iterator[tuple[str, str]]:
    """A chat shows what was said and what a tool gave."""
    for message in messages:
        if text := "\n\n".join(_texts(message)):
            yield message.role, text
        yield from (("tool", _output(tool)) for tool in _tools(message))


def _specstory(id_: str, messages: list[Message]) -> tuple[str, bytes]:
    lines = ["<!-- Generated by SpecStory, Markdown v2.1.0 -->\n", "# A session (2026-02-03 09:15Z)\n"]
    lines.append(f"<!-- Claude Code Session {id_} (2026-02-03 09:15:20Z) -->\n")
    for message in messages:
        label = "User (2026-02-03 09:15:20Z)" if message.role == "user" else "Agent (claude-x 2026-02-03 09:15:31Z)"
        lines += [f"_**{label}**_\n", *(f"{text}\n" for text in _texts(message))]
        for tool in _tools(message):
            lines += [
                f'<tool-use data-tool-type="shell" data-tool-name="{tool.name}"><details>',
                f"<summary>Tool use: **{tool.name}**</summary>\n\n~~~~~~\n{_output(tool)}\n~~~~~~",
                "</details></tool-use>\n",
            ]
        lines.append("---\n")
    return f".specstory/history/{id_}.md", "\n".join(lines).encode("utf-8", "replace")


def _qwen(id_: str, messages: list[Message]) -> tuple[str, bytes]:
    lines: list[dict[str, Any]] = []

    def add(kind: str, message: Message, parts: list[dict[str, Any]], **more: Any) -> None:
        about = {"uuid": f"{id_[:-6]}{len(lines):06x}", "parentUuid": lines[-1]["uuid"] if lines else None}
        about |= {"sessionId": id_, "timestamp": message.at, "type": kind, "cwd": "/home/ada/shop", "version": "0.24.4"}
        lines.append(about | {"message": {"role": "model" if kind == "assistant" else "user", "parts": parts}} | more)

    for message in messages:
        parts: list[dict[str, Any]] = [{"text": text} for text in _texts(message)]
        calls = [{"functionCall": {"id": t.id, "name": t.name, "args": t.input}} for t in _tools(message)]
        if parts or calls:
            add(message.role, message, parts + calls)
        for tool in _tools(message):
            response = {"id": tool.id, "name": tool.name, "response": {"output": _output(tool)}}
            told = {"callId": tool.id, "status": "success", "resultDisplay": ""}
            add("tool_result", message, [{"functionResponse": response}], toolCallResult=told)
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return f"projects/-home-ada-shop/chats/{id_}.jsonl", data


SHAPES: dict[str, Shape] = {
    "chatgpt": _chatgpt,
    "claude-ai": _claude_ai,
    "cursor": _cursor,
    "messages": _messages,
    "qwen": _qwen,
    "specstory": _specstory,
}
"""Of sources that are only read and that the corpus has too little of."""
