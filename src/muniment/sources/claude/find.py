"""Where Claude Code keeps a session, and which files make it up.

<home>/projects/<slug>/<uuid>.jsonl                      the transcript
<home>/projects/<slug>/<uuid>/subagents/agent-<id>.jsonl subagents since 2.0.7x, with agent-<id>.meta.json
<home>/projects/<slug>/<uuid>/tool-results/…             overflow of large outputs, and other side files
<home>/projects/<slug>/agent-<id>.jsonl                  subagents before that; `sessionId` names the parent
<home>/file-history/<uuid>/…   <home>/tasks/<uuid>/…     file backups, task lists: `side_files` knows all of those
<home>/history.jsonl                                     one line per prompt of any session
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from muniment import files
from muniment.model import codec
from muniment.sources.base import HEAD_BYTES, Found, SourceFile, found_session, head_of, names_begin, source_file
from muniment.sources.claude import history, side_files
from muniment.sources.claude.side_files import UUID, Owner, Projects
from muniment.sources.homes import Home
from muniment.sources.places import Places
from muniment.sources.raw_json import unmarked

PLACES = Places(
    main=("projects/*/{id}.jsonl",),
    sidechain=("projects/*/{id}/**/agent-*.jsonl", "projects/*/agent-*.jsonl"),
    side=(
        "projects/*/{id}/**",
        *(f"{folder}/{{id}}/**" for folder in side_files.IN_HOME),
        "todos/{id}-agent-*.json",
        "paste-cache/*.txt",
    ),
    history=(history.FILE,),
    id=UUID.pattern,
)
"""What else lies in `projects/<slug>/`, such as the memory of a project, has no session's id for a name."""

_CACHES = ("paste-cache", "image-cache", "shell-snapshots", "session-env")
HOME = Home(
    ".claude",
    shown_by=(side_files.PROJECTS, history.FILE, *_CACHES),
    places=PLACES,
    named=rf"({UUID.pattern}|agent-.*)\.jsonl",
    filled=(
        *_CACHES,
        *side_files.IN_HOME,
        "todos",
        "backups",
        "debug",
        "plans",
        "statsig",
        "telemetry",
        "cache",
        "ide",
    ),
    outputs=tuple((folder, side_files.PROJECTS) for folder in _CACHES),
)

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
    """Transcripts and subagent files below a home, and side files whose transcript is gone."""
    projects = home / side_files.PROJECTS
    has_transcript = cache(_has_transcript)
    for entry in files.walk(projects):
        path = Path(entry.path)
        owner = None if path.parent.parent == projects else side_files.owner_of(path)
        is_main = owner is None and path.suffix == ".jsonl" and UUID.fullmatch(path.stem)
        if _is_agent(path) or is_main or (owner and not has_transcript(owner)):
            yield path
    present = side_files.Projects(projects).transcripts
    yield from (path for path, native_id in side_files.of_home(home) if native_id not in present)


def _is_agent(path: Path) -> bool:
    return path.name.startswith("agent-") and path.suffix == ".jsonl"


def _has_transcript(owner: Owner) -> bool:
    return (owner.folder / f"{owner.native_id}.jsonl").is_file()


def is_side_file(path: Path) -> bool:
    """Return whether the place of a file says that it is beside a session, whatever is in it."""
    return (not _is_agent(path) and side_files.owner_of(path) is not None) or HOME.has_side_file(path)


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
    """One `Found` per transcript; subagents and side files without a transcript make one of their own."""
    mains: list[tuple[Path, str]] = []
    agents: dict[Owner, list[Path]] = {}
    beside: dict[Owner, None] = {}
    for path in paths:
        is_side_file = HOME.has_side_file(path)
        if _is_agent(path) and not is_side_file:
            agents.setdefault(_parent_of(path), []).append(path)
        elif owner := side_files.owner_of(path):
            beside[owner] = None
        elif not is_side_file:
            mains.append((path, _native_id(path)))
    for path, native_id in mains:
        owner = Owner(path.parent, native_id)
        yield _found(path, owner, agents.pop(owner, []), root, known_homes, in_home=True)
    for owner, in_home in _without_transcript(agents, beside).items():
        yield _found(None, owner, agents.get(owner, []), root, known_homes, in_home)


def _without_transcript(agents: Iterable[Owner], beside: Iterable[Owner]) -> dict[Owner, bool]:
    """Return the sessions that no transcript brings along, and whether what lies in the home goes with them."""
    homes: dict[Path, Projects] = {}
    left: dict[Owner, bool] = dict.fromkeys(agents, False)
    left |= {owner: False for owner in beside if not _has_transcript(owner)}
    for owner in list(left):
        if home := _home_of(owner.folder, None):
            folder = home / side_files.PROJECTS
            present = homes.setdefault(home, Projects(folder))
            gone = owner.native_id not in present.transcripts
            first = Owner(present.folders.get(owner.native_id, owner.folder), owner.native_id)
            if owner.folder == folder and (owner != first or not gone):
                del left[owner]  # named by what lies in the home, and found elsewhere
            if gone:
                left[first] = True
    return left


def _parent_of(path: Path) -> Owner:
    """Project folder and session id of a subagent file, by its place if that tells, else by its content."""
    for folder in path.parents:
        if UUID.fullmatch(folder.name):
            return Owner(folder.parent, folder.name)
    match = _SESSION.search(head_of(path))
    return Owner(path.parent, match[1].decode("utf-8", "replace") if match else path.stem)


def _native_id(path: Path) -> str:
    """The file's name if it is a session id, else the first id inside, else one made of its first line."""
    if UUID.fullmatch(path.stem):
        return path.stem
    head = head_of(path)
    if match := _SESSION.search(head):
        return match[1].decode("utf-8", "replace")
    return head.split(b"\n", 1)[0][:HEAD_BYTES].decode("utf-8", "replace")


def _found(
    main: Path | None, owner: Owner, agents: list[Path], root: Path, known_homes: Sequence[Path], in_home: bool
) -> Found:
    folder, native_id = owner
    base = _home_of(folder, main)
    top = base or names_begin(root, folder)
    found = [source_file(main, top, "main")] if main else []
    session_folder = folder / native_id if UUID.fullmatch(native_id) else None
    own_name = main is None or main.stem == native_id
    if session_folder and own_name:
        found += [_side_file(Path(e.path), top) for e in files.walk(session_folder)]
    found += [
        source_file(path, top, "sidechain", path.stem[6:]) for path in agents if session_folder not in path.parents
    ]
    if base and in_home and session_folder and own_name:
        found += [*side_files.in_home(base, native_id), history.about(base, native_id)]
    # A file of its own stands for a session without a transcript: a history is about many.
    last = () if main else ("history",)
    present = sorted((f for f in found if f), key=lambda f: (f.role != "main", f.role in last, f.name))
    return found_session("claude-code", native_id, top, base in known_homes, present)


def _home_of(folder: Path, main: Path | None) -> Path | None:
    """The home that a project lies in; what names no project lies in the home itself."""
    if main is None and folder.name == side_files.PROJECTS and side_files.is_home(folder.parent):
        return folder.parent
    return folder.parent.parent if folder.parent.name == side_files.PROJECTS else None


def _side_file(path: Path, top: Path) -> SourceFile | None:
    if _is_agent(path):
        return source_file(path, top, "sidechain", path.stem[6:])
    return source_file(path, top, "side")
