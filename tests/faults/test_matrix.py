"""Every kind of file of an archive, damaged in every way: it is noticed, told of, mended or kept, and never dropped.

Some hundred damages by default; `CONFORMANCE_SCALE=full` (`make faults`) tries thousands.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from muniment import tagging
from muniment.archive import Archive
from muniment.check import DAMAGED
from muniment.errors import MunimentError
from muniment.inscribe import Outcome
from muniment.store.damage_table import Damage
from tests.builder import ClaudeSession, conversation

from .checks import view

FEW = 2
TRIES = {"full": 40, "soak": 200}.get(os.environ.get("CONFORMANCE_SCALE", ""), FEW)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


# -- how files are damaged


def flip(path: Path, noise: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[noise.randrange(len(data))] ^= 1 << noise.randrange(8)
    path.write_bytes(data)


def truncate(path: Path, noise: random.Random) -> None:
    os.truncate(path, noise.randrange(path.stat().st_size))


def zero(path: Path, noise: random.Random) -> None:
    data = bytearray(path.read_bytes())
    at = noise.randrange(len(data))
    until = min(len(data), at + 1 + noise.randrange(512))
    data[at:until] = bytes(until - at)
    path.write_bytes(data)


def delete(path: Path, _: random.Random) -> None:
    path.unlink()


def replace_by_folder(path: Path, _: random.Random) -> None:
    path.unlink()
    path.mkdir()


WAYS = [flip, truncate, zero, delete, replace_by_folder]

# -- what is damaged

EVIDENCE = {
    "manifest": "claude/{id}/source/manifest.json",
    "transcript": "claude/{id}/source/{id}.jsonl.zst",
    "subagent's transcript": "claude/{id}/source/agent-*.jsonl.zst",
    "side file": "claude/{id}/source/note*.zst",
    "history": "claude/{id}/source/history*.zst",
}
DERIVED = {
    "round": "claude/{id}/rounds/*.json",
    "document": "claude/{id}.md",
    "image": "claude/{id}/media/*",
    "database": "claude/{id}/session.db",
    "listing": "claude/{id}/index.md",
    "subagent's round": "claude/{id}/sidechains/*/rounds/*.json",
    "subagent's document": "claude/{id}/sidechains/*.md",
    "subagent's image": "claude/{id}/sidechains/*/media/*",
    "old manifest": "claude/{id}/versions/*/{id}/source/manifest.json",
    "old transcript": "claude/{id}/versions/*/{id}/source/{id}.jsonl.zst",
    "old round": "claude/{id}/versions/*/{id}/rounds/*.json",
    "old document": "claude/{id}/versions/*/{id}.md",
}
WHOLE = {
    "index": "sessions.db",
    "edits": "edits.jsonl",
    "engagements": "engagements.jsonl",
    "listing of an agent": "claude/index.md",
    "listing of all": "index.md",
    "listing of engagements": "engagements-index.md",
    "roster": "../agent-roster.jsonl",
}
NEVER_MENDED = {"old manifest", "old transcript", "edits", "engagements", "roster"}
"""No source has them."""
WRITTEN_BY_PEOPLE = {"roster"}
"""Any line that can be read may be what somebody wrote."""


class World:
    """An archive with everything that an archive can hold, and the home that it came from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {"HOME": str(folder / "user")}
        self.home = folder / "user" / ".claude"
        self.archive = Archive(folder / "store", self.env)

    @property
    def sessions(self) -> Path:
        return self.archive.layout.sessions

    def make(self) -> None:
        first = self._session("first")
        self.inscribe()
        self.main(first).write_bytes(first.data.replace(b"reply 1", b"quite other words"))
        self._session("second")
        self.inscribe()
        for id_ in (first.id, conversation(3, cwd="/second").id):
            tagging.set_tags(self.archive.layout, self.archive.session(id_), ["a tag"])
            self.archive.tag(id_, [1], "by-hand")
            self.archive.register(id_, "Reed", "historian")
        self.archive.ingest()

    def _session(self, name: str) -> ClaudeSession:
        session = conversation(3, cwd=f"/{name}")
        session.chain("user", message={"role": "user", "content": [_image()]})
        session.exchange("and then", "done")
        path = session.write(self.home)
        side = conversation(2, session.id, cwd=f"/{name}/side")
        side.chain("user", message={"role": "user", "content": [_image()]})
        folder = path.with_suffix("")
        (folder / "subagents").mkdir(parents=True)
        data = side.data.replace(b'"isSidechain":false', b'"isSidechain":true')
        (folder / "subagents" / "agent-a1.jsonl").write_bytes(data)
        (folder / "tool-results").mkdir()
        (folder / "tool-results" / "note.txt").write_bytes(b"what a tool gave back\n" * 40)
        line = json.dumps({"display": f"prompt of {name}", "sessionId": session.id, "project": "/w"})
        with (self.home / "history.jsonl").open("a") as history:
            history.write(line + "\n")
        return session

    def main(self, session: ClaudeSession) -> Path:
        return next(self.home.rglob(f"{session.id}.jsonl"))

    def inscribe(self) -> list[Outcome]:
        outcomes: list[Outcome] = []
        self.archive.inscribe([], outcomes.append)
        return outcomes

    def files(self, pattern: str) -> list[Path]:
        ids = [row.session_id for row in self.archive.sessions()]
        return [path for id_ in ids for path in sorted(self.sessions.glob(pattern.format(id=id_)))]

    def damage(self) -> list[Damage]:
        return list(self.archive.doctor().damage)

    def is_whole(self) -> bool:
        return not any(one.note == DAMAGED for one in self.archive.check_stored())


def _image() -> dict[str, object]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("matrix"))
    world.make()
    assert world.is_whole()
    assert world.inscribe() == []
    assert world.is_whole()
    return world


def restore(made: World, copy: Path) -> None:
    for name in ("store", "user"):
        shutil.rmtree(made.folder / name)
        shutil.copytree(copy / name, made.folder / name, symlinks=True)


Way = Callable[[Path, random.Random], None]


def says_the_same(kind: str, path: Path, before: bytes, expected: dict[str, object], world: World) -> bool:
    """Whether a change of bytes changed nothing that anybody reads."""
    if kind in WRITTEN_BY_PEOPLE and not path.exists():
        return True
    if not path.is_file():
        return False
    if kind in WRITTEN_BY_PEOPLE:
        return all(_is_json(line) for line in path.read_bytes().splitlines())
    if kind in ("index", "database"):
        try:
            return view(world.folder / "store") == expected
        except Exception:
            return False
    if kind in ("document", "subagent's document", "old document"):
        return _without_peoples_words(path.read_bytes()) == _without_peoples_words(before)
    if path.suffix == ".zst":
        return _unpacked(path.read_bytes()) == _unpacked(before)
    return path.read_bytes() == before


def _unpacked(data: bytes) -> bytes | None:
    """Return the original, which is what the checksums are of: zstd frames have bits that mean nothing."""
    try:
        return zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
    except zstandard.ZstdError:
        return None


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _without_peoples_words(data: bytes) -> bytes:
    """Without the lines that people and other programs may change."""
    kept = [line for line in data.split(b"\n") if not line.startswith((b"role:", b"engagements:", b"source:"))]
    at = next((i for i, line in enumerate(kept) if line.startswith(b"# ")), 0)
    return b"\n".join(kept[:at] + kept[at + 3 :])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [*EVIDENCE, *DERIVED, *WHOLE])
def test_damage(made: World, tmp_path: Path, kind: str, way: Way) -> None:
    copy = tmp_path / "copy"
    for name in ("store", "user"):
        shutil.copytree(made.folder / name, copy / name, symlinks=True)
    listed = [row.session_id for row in made.archive.sessions()]
    expected = view(made.folder / "store")
    noise = random.Random(f"{kind} {way.__name__}")
    wrong: list[str] = []
    for number in range(TRIES if way in (flip, truncate, zero) else 1):
        path = noise.choice(made.files((EVIDENCE | DERIVED | WHOLE)[kind]))
        before = path.read_bytes()
        way(path, noise)
        at = next((i for i, (a, b) in enumerate(zip(before, _bytes(path), strict=False)) if a != b), len(_bytes(path)))
        try:
            said = is_blind(made, kind, path, before, expected)
            said += complaints(made, kind, listed) if not said and is_followed(kind, way, number) else []
        finally:
            restore(made, copy)
        wrong += [f"{path.name}, byte {at}: {words}" for words in said]
    assert not wrong, "\n".join(wrong)


def is_followed(kind: str, way: Way, number: int) -> bool:
    """Whether it is also seen what becomes of a damage: with many tries always, else for some, as it takes long."""
    ways = random.Random(kind).sample(WAYS, 2)
    return TRIES > FEW or (number == 0 and (kind in EVIDENCE or way in ways))


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def is_blind(world: World, kind: str, path: Path, before: bytes, expected: dict[str, object]) -> list[str]:
    """Damage that a check does not notice."""
    same = says_the_same(kind, path, before, expected, world)
    return ["a check does not notice it"] if world.is_whole() and not same else []


def complaints(world: World, kind: str, listed: list[str]) -> list[str]:
    """What should happen once damage was noticed, and does not."""
    if world.is_whole():
        return []
    wrong: list[str] = []
    try:
        if world.archive.doctor().healthy:
            wrong.append("the doctor says that nothing is at risk")
        wrong += [f"an inscription fails: {o.note}" for o in world.inscribe() if o.what == "failed"]
    except MunimentError as error:  # the index cannot be read, and that is what it says
        wrong += [f"it ends with: {error}"] if kind != "index" else []
    if kind in EVIDENCE and not world.is_whole():
        wrong.append(f"it is not mended from the source: {world.damage()}")
    world.archive.reindex()
    if kind not in NEVER_MENDED and (
        left := [str(p) for c in world.archive.check_stored() if c.note for p in c.problems]
    ):
        wrong.append(f"a rebuild does not mend it: {left}")
    if sorted(row.session_id for row in world.archive.sessions()) != sorted(listed):
        wrong.append("a session is no longer listed")
    return wrong
