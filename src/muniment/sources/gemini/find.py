"""Where Gemini CLI keeps a session, and which files make it up.

<home>/tmp/<project>/chats/session-<time>-<8 digits>.jsonl   the transcript, `.json` in older versions
<home>/tmp/<project>/chats/<session>/<subagent>.jsonl        its subagents
<home>/tmp/<project>/tool-outputs/session-<session>/         long outputs
<home>/tmp/<project>/.project_root                           by which the client finds the folder of a project again
<home>/tmp/<project>/checkpoint-<tag>.json                   a conversation that a person saved
<home>/tmp/<project>/logs.json                               the prompts of all sessions (`history`)

A resumed session may leave a second file with the same id and nothing of the conversation: it is kept beside the other.
An editor runs the client as a server, which gives all its sessions one id: those are told apart by when they began.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from muniment import files
from muniment.model import codec
from muniment.sources.base import Found, SourceFile, found_session, head_of, names_begin, source_file
from muniment.sources.gemini import checkpoints, history
from muniment.sources.homes import Home
from muniment.sources.places import Places
from muniment.sources.raw_json import unmarked

NAME = "gemini"
FOLDER = "chats"
MARKER = ".project_root"
OUTPUTS = "tool-outputs"

PLACES = Places(
    main=(
        f"tmp/**/{FOLDER}/*.jsonl",
        f"tmp/**/{FOLDER}/*.json",
        "tmp/*/checkpoint.json",
        "tmp/*/checkpoint-*.json",
    ),
    sidechain=(f"tmp/**/{FOLDER}/{{id}}/**",),
    side=(f"tmp/**/{OUTPUTS}/session-{{id}}/**", f"tmp/**/{MARKER}"),
)

HOME = Home(
    ".gemini",
    shown_by=("tmp",),
    places=Places(
        main=PLACES.main,
        sidechain=tuple(f"tmp/**/{FOLDER}/*/*{end}" for end in (".json", ".jsonl")),
        history=(f"tmp/*/{history.FILE}",),
    ),
    named=r"session-.*\.jsonl?",
    filled=("tmp",),
    outputs=((OUTPUTS, FOLDER), (OUTPUTS, history.FILE)),
)

SERVER = "a2a-server"
"""The id that every session of the server has."""

_LOOKED_AT = 20
_BEGINS = re.compile(rb'\s*\{\s*"sessionId"\s*:\s*"([^"\\]{1,128})"\s*,\s*"projectHash"\s*:')
_ID = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,128})"')
_BEGUN = re.compile(rb'"startTime"\s*:\s*"([^"\\]{1,64})"')
_SAVED = re.compile(r"checkpoint(?:-.+)?\.json")
_TYPES = ("user", "gemini", "info", "error", "warning")


def homes(env: Mapping[str, str]) -> list[Path]:
    """`.gemini` in `$GEMINI_CLI_HOME`, else in the user's folder."""
    return [Path(env.get("GEMINI_CLI_HOME") or env.get("HOME") or Path.home()) / ".gemini"]


def candidates(home: Path) -> Iterator[Path]:
    """Transcripts below a home."""
    for entry in files.walk(home / "tmp"):
        path = Path(entry.path)
        in_chats = path.suffix in (".json", ".jsonl") and FOLDER in (path.parent.name, path.parent.parent.name)
        in_chats = in_chats and OUTPUTS not in path.parts
        if in_chats or (path.parent.parent == home / "tmp" and _SAVED.fullmatch(path.name)):
            yield path


def is_side_file(path: Path) -> bool:
    """Return whether the place of a file says that it is no transcript, whatever is in it."""
    return HOME.has_side_file(path)


def matches(path: Path, head: bytes) -> bool:
    """The fields that every session begins with, or changes as only this client writes them."""
    if _BEGINS.match(unmarked(head)) or (checkpoints.may_be(path.name) and checkpoints.matches(head)):
        return True
    if b'"projectHash"' not in head and b'"$' not in head:
        return False
    return any(_is_own(line) for line in head.split(b"\n")[:_LOOKED_AT])


def _is_own(line: bytes) -> bool:
    try:
        record = codec.mapping(codec.loads(line))
    except ValueError:
        return False
    if record.keys() >= {"sessionId", "projectHash"}:
        return True
    change = codec.mapping(record.get("$set"))
    return len(record) == 1 and (isinstance(record.get("$rewindTo"), str) or "lastUpdated" in change)


def gather(paths: Iterable[Path], root: Path, known_homes: Sequence[Path]) -> Iterator[Found]:
    """One session per id and folder, with the subagents that lie below it."""
    mains: dict[tuple[Path, str], list[Path]] = {}
    agents: dict[tuple[Path, str], list[Path]] = {}
    for path in (path for path in paths if not is_side_file(path)):
        if path.parent.parent.name == FOLDER and path.parent.name != FOLDER:
            agents.setdefault((path.parent.parent, path.parent.name), []).append(path)
        else:
            mains.setdefault((path.parent, _native_id(path)), []).append(path)
    for key, found in mains.items():
        yield _found(key, found, agents.get((key[0], own_id(key[1])), []), root, known_homes)
    with_main = {(folder, own_id(native_id)) for folder, native_id in mains}
    for key, found in ((key, found) for key, found in agents.items() if key not in with_main):
        yield _found(key, [], found, root, known_homes)


def _found(
    key: tuple[Path, str], mains: list[Path], agents: list[Path], root: Path, known_homes: Sequence[Path]
) -> Found:
    folder, native_id = key
    home = _home_of(folder) or (root if root in known_homes else None)
    own = own_id(native_id)
    in_home = folder.name == FOLDER and _is_name(own)
    top = home or (names_begin(root, folder.parent) if in_home else root)
    below = set(agents)
    if in_home:
        below |= {Path(entry.path) for entry in files.walk(folder / own)}
    present = _mains(mains, top)
    present += [source_file(path, top, "sidechain", path.stem) for path in sorted(below)]
    present += _beside(folder, own, top) if in_home else []
    return found_session(NAME, native_id, top, home in known_homes, [file for file in present if file])


def _is_name(native_id: str) -> bool:
    """Whether a folder can be named by it; an id that is a path leads elsewhere."""
    return native_id not in ("", "..") and "\0" not in native_id and Path(native_id).name == native_id


def _home_of(chats: Path) -> Path | None:
    """The home that a folder of sessions lies in, told by the folders above it."""
    return chats.parents[2] if chats.name == FOLDER and chats.parent.parent.name == "tmp" else None


def _mains(paths: list[Path], top: Path) -> list[SourceFile | None]:
    """The file that holds the conversation, and the others with the same id: lines before documents, then by size."""
    found = [file for path in paths if (file := source_file(path, top, "main"))]
    found.sort(key=lambda file: (file.name.endswith(".json"), -file.size, file.name))
    return [*found[:1], *(source_file(Path(file.path), top, "side") for file in found[1:])]


def _beside(chats: Path, native_id: str, top: Path) -> list[SourceFile | None]:
    """Long outputs of the session, and the marker of its project."""
    outputs = chats.parent / OUTPUTS / f"session-{native_id}"
    walked = [Path(entry.path) for entry in files.walk(outputs)]
    return [source_file(path, top, "side") for path in [*walked, chats.parent / MARKER]]


def own_id(native_id: str) -> str:
    """The id that a session has in its file."""
    return SERVER if native_id.startswith(f"{SERVER} ") else native_id


def _native_id(path: Path) -> str:
    """The id in the first object, else one made of the content."""
    head = head_of(path)
    if checkpoints.matches(head):
        return checkpoints.native_id(files.chunks(path))
    found = _BEGINS.match(unmarked(head)) or _ID.search(head)
    own = found[1].decode("utf-8", "replace") if found else ""
    if own == SERVER and (begun := _BEGUN.search(head)):
        return f"{SERVER} {begun[1].decode('utf-8', 'replace')}"
    if own:
        return own
    return hashlib.sha256(head.split(b"\n", 1)[0]).hexdigest()
