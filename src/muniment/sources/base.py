"""The door: what a source of sessions must offer, and the values that pass through it.

A source knows where an agent keeps its files, which files make up one session, and how to turn records into
rounds. It never writes to the store and never changes the agent's files.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from muniment import files
from muniment.errors import NotFound, Unsupported
from muniment.model import Event as Happening
from muniment.model import Facts, Loss, Round
from muniment.sources.dialect import Dialect
from muniment.sources.lines import Record
from muniment.sources.tools import SharedTool

HEAD_BYTES = 1 << 16

NAMESPACE = uuid.UUID("6d0f5f5e-64a8-5a52-9b4e-6d756e696d65")
"""Of session ids made from native ids that are no UUIDs."""

CONVERSATION = (
    "text", "thinking", "signature", "tool call", "tool input", "tool output", "error flag", "image", "time", "id",
    "parent", "message id", "model", "usage",
)  # fmt: skip
"""Claims that make up a conversation."""

DOCUMENT = ("text", "thinking", "tool input", "tool output", "image")
"""Claims that the document alone carries."""

MediaBytes = Callable[[str], bytes]
"""The bytes of a media file by its name."""

Closed = Callable[[int], Round]
"""The closed rounds of a session, by their number."""


class Former(Struct, frozen=True):
    """What reading may ask about the rounds that it has given so far, and those before them."""

    load: Closed
    facts: Callable[[], Facts]
    """The facts once all these rounds are known."""


_COMMON_ID = re.compile(r"[A-Za-z0-9_.:][A-Za-z0-9_.:-]{0,127}")
"""What agents make ids of; none begins like an option of a command."""

FileRole = Literal["main", "sidechain", "side", "history", "old"]


class SourceFile(Struct, frozen=True):
    """One file of a session, as found on disk."""

    path: str
    """Absolute."""
    name: str
    """Path below the agent's home or the folder that was given; what a restore puts it at."""
    role: FileRole
    size: int
    mtime_ns: int
    inode: int = 0
    id: str | None = None
    """Of a sidechain: its own id."""
    text: bytes | None = None
    """Its bytes, where they cannot be read from disk: lines of a history, or what a database held."""
    start: int | None = None
    """Of a file that several sessions share: where the bytes of this one begin."""


class Found(Struct, frozen=True):
    """All files of one session."""

    source: str
    session_id: str
    root: str
    """Folder that the names are relative to."""
    home: bool
    """Whether that folder is the agent's own home, so that a restore may follow a moved home."""
    files: tuple[SourceFile, ...]
    native_id: str | None = None

    @property
    def main(self) -> SourceFile | None:
        return next((f for f in self.files if f.role == "main"), None)


class Claim(Struct, frozen=True, gc=False):
    """One thing that a record says; `check` compares the claims of a source with those of an export."""

    key: str
    """Names the record, so that the same one is found again."""
    field: str
    value: Any = None


class Start(Struct, frozen=True):
    """Where a session begins whose own file goes on from that of another."""

    session: str
    """The other, by the agent's own id."""
    end: int
    """The first record there that is no part of it, as the agent counts them (`Source.ordinal`)."""


class Hints(Struct, frozen=True):
    """What an event tells of the surroundings of a session."""

    instructions: tuple[tuple[str, str], ...] = ()
    """Files with instructions that were given to the model: path and text."""
    window: int | None = None
    """How many tokens fit into the context of the model."""
    commit: str | None = None
    """The commit that was checked out."""
    start: Start | None = None
    """Of the first record of a file: what comes before it in another."""


class InstructionFiles(Struct, frozen=True):
    """In which files an agent looks for standing instructions."""

    names: tuple[str, ...] = ()
    """Paths below every folder from the project's root down to the working folder."""
    folders: tuple[str, ...] = ()
    """Folders beside them in which every markdown file counts."""
    in_home: tuple[str, ...] = ()
    """Paths below the agent's own home."""
    only_first: bool = False
    """Of the names, only the first that a folder has counts."""
    above_root: bool = False
    """Whether folders above the root of the repository count too."""
    when_touched: bool = False
    """Whether a folder below the working folder counts once one of its files is touched."""
    imports: bool = False
    """Whether `@path` in a file stands for another file."""


class Move(Struct, frozen=True):
    """What changes when a session is written for another place."""

    session_id: str | None = None
    """A new identity: a fork."""
    cwd: str | None = None
    """A new working folder."""


class Source:
    """One agent's format. Subclasses set the names and fill in the methods; `write` is optional."""

    name: str
    title: str
    family: str
    """Bucket of sessions without a registered role."""
    retention_days: int | None = None
    """After how many days without change the agent deletes a session."""
    dialect: Dialect | None = None
    """How a recorder writes this format; None for formats that are only read or written whole."""
    resume_command: str = ""
    """How a person resumes a session, with `{id}` in place of its id."""
    resumed_by_path: bool = False
    """Whether the command takes the path of a written file in place of an id, wherever the file lies."""
    import_command: str = ""
    """What is typed before, with `{path}` in place of the written file; most agents find it by themselves."""
    session_variable: str = ""
    """The variable by which the agent tells the programs that it runs which session it is."""
    instruction_files: InstructionFiles = InstructionFiles()
    """Where the agent looks for standing instructions; none if nothing is known of it."""
    named_by_content: bool = False
    """Whether a file's id is made of what is said in it, and may be another one when more is said."""
    tools: tuple[SharedTool, ...] = ()
    """Those of the agent's tools that other agents have too, the one to be written first among those of a kind."""

    def homes(self, env: Mapping[str, str]) -> list[Path]:
        """The folders in which this agent keeps its data on this machine."""
        raise NotImplementedError

    def candidates(self, home: Path) -> Iterator[Path]:
        """The files below the agent's home that sessions are gathered from; no need to look inside them."""
        raise NotImplementedError

    def matches(self, path: Path, head: bytes) -> bool:
        """Whether a file with this name and beginning belongs to a session of this source."""
        raise NotImplementedError

    def is_side_file(self, path: Path) -> bool:
        """Whether a file is beside a session by its place alone, whatever is in it, so that it is nobody's transcript.

        `gather` is given such files as well, for sessions of which nothing else is left."""
        return False

    def gather(self, paths: Iterable[Path], root: Path, homes: Sequence[Path]) -> Iterator[Found]:
        """The sessions that these files make up, each with all side files that lie beside them."""
        raise NotImplementedError

    def content(self, file: SourceFile, start: int = 0, end: int | None = None) -> Iterable[bytes]:
        """The bytes of a found file from `start` to `end`: what lies at its path, unless the source makes them.

        One that takes them from a database or puts them together from many files marks such a file's path, which
        then ends with `#` and the session's id."""
        return bytes_of(file, start, end)

    def given_back(self, name: str) -> bool:
        """Whether a restore writes a file with this name; not one that was put together from others of the session."""
        return True

    def owns(self, name: str, role: FileRole, native_id: str | None = None) -> bool:
        """Whether a session with this id, or any session, may have a file of this name below the agent's home.

        A closed list (`sources.places`): a restore writes nothing else there, so that no manifest, whoever wrote it,
        can bring settings, instructions, hooks or skills. A source that declares nothing has no session restored
        into its home."""
        return False

    def notes(self, name: str, line: bytes, native_id: str) -> bool:
        """Whether a line of the agent's history of this name is about this session: a restore adds no other."""
        return False

    def packed(self, name: str) -> bool:
        """Whether a file with this name is compressed or one document, so that its records are not its bytes."""
        return False

    def open(self, name: str, pieces: Iterable[bytes]) -> Iterable[bytes]:
        """The records' bytes of a file: the pieces themselves, unless the file is `packed`."""
        return pieces

    def objects(self, lines: Iterable[Record]) -> Iterator[Record]:
        """What `claims` is asked about: the lines, unless a file can be one document that is spread over lines."""
        return iter(lines)

    def read(self, records: Iterable[Record], facts: Facts) -> Iterator[Round]:
        """The rounds of these records; `facts` are those before the first of them.

        `facts.prompts_only` says that the records are lines of a history, as `remembered` gave them."""
        raise NotImplementedError

    def read_on(self, records: Iterable[Record], facts: Facts, former: Former) -> Iterator[Round]:
        """Read like `read`, where the rounds before can be asked for: some agents write old records again, and rounds
        may grow too large for one."""
        return self.read(records, facts)

    def ordinal(self, record: Record) -> int | None:
        """The number of a record as the agent counts them, for sessions that begin in another (`Hints.start`)."""
        return None

    def write(
        self, rounds: Iterable[Round], facts: Facts, move: Move, media: MediaBytes, losses: list[Loss]
    ) -> Iterator[bytes]:
        """The session as lines of this agent's file; what cannot be carried is added to `losses` on the way.

        Sources that cannot be written leave this as it is."""
        raise NotImplementedError

    def resumed(self, facts: Facts) -> str:
        """What a person types to resume a session of this agent where it lies; empty if the agent cannot."""
        return self.command_for(facts.native_id or facts.session_id)

    def command_for(self, id_: str) -> str:
        """The command that resumes a session; none for an id that no agent makes.

        An id comes out of a file and the command goes into a shell: such an id may be meant for the shell."""
        return self.resume_command.format(id=shlex.quote(id_)) if _COMMON_ID.fullmatch(id_) else ""

    def resuming(self, id_: str, path: str) -> str:
        """What a person types to resume a session that was written to a path; empty for a format without an agent."""
        return " && ".join(command for command in (self.taking_in(path), self.going_on(id_, path)) if command)

    def going_on(self, id_: str, path: str) -> str:
        """The same where the agent knows of the session."""
        return self.resume_command.format(id=shlex.quote(path)) if self.resumed_by_path else self.command_for(id_)

    def belongs(self, path: str, facts: Facts, move: Move, env: Mapping[str, str]) -> str | None:
        """Where a session that was written to a path must be put before it can be resumed; None if it need not."""
        if not self.resume_command or self.resumed_by_path or self.import_command:
            return None
        places = [home / self.place(facts, move) for home in self.homes(env)]
        there = Path(path).resolve() in [place.resolve() for place in places]
        return None if there or not places else str(places[0])

    def taking_in(self, path: str) -> str:
        """What a person types before that, if the agent does not find the file by itself."""
        return self.import_command.format(path=shlex.quote(path))

    def place(self, facts: Facts, move: Move) -> str:
        """Where a written session belongs below the agent's home, so that the agent finds it."""
        raise NotImplementedError

    def identity(self, facts: Facts, move: Move) -> str:
        """The id under which the agent knows a written session: its own if the session is one of this agent's."""
        own = facts.native_id if facts.source == self.name else None
        return move.session_id or own or facts.session_id

    def claims(self, line: bytes) -> Iterator[Claim]:
        """Everything a line says. Fields named in `CONVERSATION` are what must never be lost.

        It looks at the line itself, not through the reader: the reader is what is being checked."""
        raise NotImplementedError

    def moved(self, name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
        """An original file for another place or identity: its new name and its bytes with what must change."""
        raise Unsupported(f"files of {self.title} cannot be moved", "restore them where they were, or with --to")

    def live(self, home: Path, native_id: str) -> int | None:
        """The process that has the session open now, if the agent tells."""
        return None

    def remembered(self, home: Path) -> Iterator[Found]:
        """Sessions that the agent's histories know, whether or not their transcripts are still there.

        Each has the histories' lines about it, the one to be read in place of a transcript first, and nothing that
        `gather` finds."""
        return iter(())

    def hints(self, event: Happening) -> Hints:
        """What an event, as this source reads it, tells of the session's surroundings."""
        return Hints()

    @property
    def writable(self) -> bool:
        return type(self).write is not Source.write


def session_id_of(source: str, native_id: str) -> str:
    """The canonical identity: the native id if it is a UUID, else one made from it."""
    try:
        return str(uuid.UUID(native_id))
    except ValueError:
        return str(made_id(f"{source}:{native_id}"))


def made_id(name: str) -> uuid.UUID:
    """The id that is made from a name, always the same; JSON may hold half a character."""
    return uuid.uuid5(NAMESPACE, name.encode("utf-8", "backslashreplace").decode())


def found_session(source: str, native_id: str, root: Path, home: bool, present: Iterable[SourceFile]) -> Found:
    """Files as a session under its canonical identity; the agent's own id is kept where it is another."""
    files_ = tuple(present)
    named = f"{native_id} {_beginning(files_)}" if is_redacted(native_id) else native_id
    session_id = session_id_of(source, named)
    return Found(source, session_id, str(root), home, files_, None if session_id == native_id else native_id)


def is_redacted(native_id: str) -> bool:
    """Whether a tool that removes secrets took an id for one: many files have the same in its place."""
    return "redacted" in native_id.lower()


def _beginning(present: Sequence[SourceFile]) -> str:
    """Return what tells files without an id apart, wherever they lie: the first line that has a time."""
    first = next((file for file in present if file.text is None and file.role in ("main", "sidechain")), None)
    lines = head_of(Path(first.path)).split(b"\n") if first else []
    timed = next((line for line in lines if b'"timestamp"' in line or b'"time' in line), b"".join(lines[:1]))
    return hashlib.sha256(timed).hexdigest()


def names_begin(root: Path, folder: Path) -> Path:
    """The folder that names of a session's files begin at: the given one, or that of the session if it lies above."""
    return folder if root.is_relative_to(folder) else root


def source_file(path: Path, root: Path, role: FileRole, id_: str | None = None) -> SourceFile | None:
    """A file as found, or None if it is gone, a link, or no regular file."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    name = path.relative_to(root).as_posix()
    return SourceFile(str(path), name, role, status.st_size, status.st_mtime_ns, status.st_ino, id_)


def bytes_of(file: SourceFile, start: int = 0, end: int | None = None) -> Iterable[bytes]:
    """The bytes of a found file, or of a session's part of it, from `start` to `end`."""
    end = file.size if end is None else end
    if file.text is not None:
        return (file.text[start:end],)
    first = file.start or 0
    return files.chunks(file.path, first + start, first + end)


def head_of(path: Path) -> bytes:
    """The first bytes of a file, enough to tell its format; none if it is gone since it was found."""
    try:
        with files.open_regular(path) as file:
            return file.read(HEAD_BYTES) or b""
    except NotFound:
        return b""
