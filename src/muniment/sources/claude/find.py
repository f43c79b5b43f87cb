"""Where Claude Code keeps a session, and which files make it up.

<home>/projects/<slug>/<uuid>.jsonl                      the transcript
<home>/projects/<slug>/<uuid>/subagents/agent-<id>.jsonl subagents since 2.0.7x, with agent-<id>.meta.json
<home>/projects/<slug>/<uuid>/tool-results/…             overflow of large outputs, and other side files
<home>/projects/<slug>/agent-<id>.jsonl                  subagents before that; `sessionId` names the parent
<home>/file-history/<uuid>/…   <home>/tasks/<uuid>/…     file backups, task lists
<home>/history.jsonl                                     one line per prompt of any session
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from muniment import files
from muniment.model import codec
from muniment.sources.base import HEAD_BYTES, Found, SourceFile, found_session, head_of, names_begin, source_file
from muniment.sources.claude import history
from muniment.sources.raw_json import unmarked

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
SIDE_FOLDERS = ("file-history", "tasks")
_SESSION = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,128})"')
_OWN_FIELDS = ("sessionId", "parentUuid", "leafUuid", "snapshot")
_TYPES = re.compile(
    rb'"type"\s*:\s*"(user|assistant|system|summary|progress|attachment|queue-operation|custom-title|ai-title|'
    rb'file-history-snapshot|last-prompt|mode|permission-mode|agent-name)"'
)

_ANOTHERS = (b'"systemPayload"', b'"usageMetadata"', b'"parts"')
"""Fields that another agent has in records with the same names around them."""
_ANOTHERS_CUT = re.compile(
    rb'"(systemPayload|usageMetadata)"\s*:|"message"\s*:\s*\{\s*"role"\s*:[^,{}\[\]]*,\s*"parts"\s*:'
)
_OWN_CUT = re.compile(
    rb'\s*\{\s*"type"\s*:\s*"(queue-operation"\s*,\s*"operation|file-history-snapshot"\s*,\s*"messageId)"'
)
"""How records begin that may be longer than the head of a file, and whose other names stand behind."""
_LOOKED_AT = 50

_Whose = Literal["own", "shared", "another's", "nobody's"]


def homes(env: Mapping[str, str]) -> list[Path]:
    """`$CLAUDE_CONFIG_DIR` (several, separated by commas) else `~/.claude`."""
    if given := env.get("CLAUDE_CONFIG_DIR"):
        return [Path(part.strip()).expanduser() for part in given.split(",") if part.strip()]
    return [Path(env.get("HOME") or Path.home()) / ".claude"]


def candidates(home: Path) -> Iterator[Path]:
    """Transcripts and subagent files below a home."""
    for entry in files.walk(home / "projects"):
        if entry.name.endswith(".jsonl") and (UUID.fullmatch(entry.name[:-6]) or entry.name.startswith("agent-")):
            yield Path(entry.path)


def matches(path: Path, head: bytes) -> bool:
    """Claude's own record types together with its own field names, in the first lines."""
    head = unmarked(head)
    if head.lstrip()[:1] != b"{" or not _TYPES.search(head):
        return False
    whose = (_whose(line) for line in head.split(b"\n")[:_LOOKED_AT])
    if not any(mark in head for mark in _ANOTHERS):
        return any(one in ("own", "shared") for one in whose)
    counts = Counter(whose)  # one odd line does not make a file of another agent ours, nor one of ours another's
    return counts["own"] > counts["another's"] or (counts["shared"] > 0 and not counts["another's"])


def _whose(line: bytes) -> _Whose:
    """A whole line by its fields; one cut off by the end of the head by its first ones."""
    if b'"type"' not in line and b'"parentUuid"' not in line:
        return "nobody's"
    try:
        fields = codec.mapping(codec.loads(line))
    except ValueError:
        if _ANOTHERS_CUT.search(line):
            return "another's"
        own = _OWN_CUT.match(line) or (b'"parentUuid"' in line and b'"isSidechain"' in line)
        return "own" if own else "nobody's"
    if "systemPayload" in fields or "usageMetadata" in fields or "parts" in codec.mapping(fields.get("message")):
        return "another's"
    if not fields.get("type") or not any(name in fields for name in _OWN_FIELDS):
        return "nobody's"
    return "shared" if "parentUuid" in fields and "isSidechain" not in fields else "own"


def gather(paths: Iterable[Path], root: Path, known_homes: Sequence[Path]) -> Iterator[Found]:
    """One `Found` per transcript; subagent files without a transcript make one of their own."""
    mains: list[tuple[Path, str]] = []
    agents: dict[tuple[Path, str], list[Path]] = {}
    for path in paths:
        if path.name.startswith("agent-") and path.suffix == ".jsonl":
            agents.setdefault(_parent_of(path), []).append(path)
        else:
            mains.append((path, _native_id(path)))
    for path, native_id in mains:
        beside = agents.pop((path.parent, native_id), [])
        yield _found(path, path.parent, native_id, beside, root, known_homes)
    for (folder, native_id), beside in agents.items():
        yield _found(None, folder, native_id, beside, root, known_homes)


def _parent_of(path: Path) -> tuple[Path, str]:
    """Project folder and session id of a subagent file, by its place if that tells, else by its content."""
    for folder in path.parents:
        if UUID.fullmatch(folder.name):
            return folder.parent, folder.name
    match = _SESSION.search(head_of(path))
    return path.parent, match[1].decode("utf-8", "replace") if match else path.stem


def _native_id(path: Path) -> str:
    """The file's name if it is a session id, else the first id inside, else one made of its first line."""
    if UUID.fullmatch(path.stem):
        return path.stem
    head = head_of(path)
    if match := _SESSION.search(head):
        return match[1].decode("utf-8", "replace")
    return head.split(b"\n", 1)[0][:HEAD_BYTES].decode("utf-8", "replace")


def _found(
    main: Path | None, folder: Path, native_id: str, agents: list[Path], root: Path, known_homes: Sequence[Path]
) -> Found:
    base = folder.parent.parent if folder.parent.name == "projects" else None
    top = base or names_begin(root, folder)
    found = [source_file(main, top, "main")] if main else []
    session_folder = folder / native_id if UUID.fullmatch(native_id) else None
    own_name = main is None or main.stem == native_id
    if session_folder and own_name:
        found += [_side_file(Path(e.path), top) for e in files.walk(session_folder)]
    found += [
        source_file(path, top, "sidechain", path.stem[6:]) for path in agents if session_folder not in path.parents
    ]
    if base and session_folder and own_name:
        found += _home_files(base, native_id)
    present = sorted((f for f in found if f), key=lambda f: (f.role != "main", f.name))
    return found_session("claude-code", native_id, top, base in known_homes, present)


def _side_file(path: Path, top: Path) -> SourceFile | None:
    if path.name.startswith("agent-") and path.suffix == ".jsonl":
        return source_file(path, top, "sidechain", path.stem[6:])
    return source_file(path, top, "side")


def _home_files(base: Path, native_id: str) -> list[SourceFile | None]:
    found: list[SourceFile | None] = []
    for name in SIDE_FOLDERS:
        found += [source_file(Path(e.path), base, "side") for e in files.walk(base / name / native_id)]
    return [*found, history.about(base, native_id)]
