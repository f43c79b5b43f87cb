"""Bundles that mean harm: nothing of them reaches the archive, and nothing outside of it is touched."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment import bundle
from muniment.archive import Archive
from muniment.bundle import Limits
from muniment.errors import Conflict, MunimentError
from tests.builder import conversation
from tests.conftest import tree

Members = list[tuple[tarfile.TarInfo, bytes]]


@pytest.fixture
def made(archive: Archive, home: Path, tmp_path: Path) -> Path:
    """An honest bundle."""
    session = conversation(2, cwd="/proj")
    session.write(home, "-proj")
    archive.inscribe()
    target = tmp_path / "honest.bundle"
    archive.bundle([session.id], target)
    return target


@pytest.fixture
def other(tmp_path: Path) -> Archive:
    (tmp_path / "other-home").mkdir()
    return Archive(tmp_path / "other", {"HOME": str(tmp_path / "other-home")})


def opened(path: Path) -> Members:
    data = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return [(one, tar.extractfile(one).read()) for one in tar.getmembers()]  # type: ignore[union-attr]


def closed(members: Members, path: Path) -> Path:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for one, data in members:
            one.size = len(data) if one.isreg() else 0
            tar.addfile(one, io.BytesIO(data))
    path.write_bytes(zstandard.ZstdCompressor().compress(out.getvalue()))
    return path


def header(name: str, type_: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    one = tarfile.TarInfo(name)
    one.type, one.linkname = type_, link
    return one


def reworded(members: Members, change: Callable[[dict[str, Any]], None] = lambda _: None) -> Members:
    """With a manifest that is true of these members, apart from the change."""
    contents = json.loads(members[0][1])
    contents["members"] = [
        {"name": one.name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for one, data in members[1:]
    ]
    change(contents)
    return [(members[0][0], json.dumps(contents).encode()), *members[1:]]


def refused(other: Archive, path: Path, tmp_path: Path, limits: Limits | None = None) -> str:
    before = {n: d for n, d in tree(tmp_path).items() if not n.endswith(".lock")}
    with pytest.raises(MunimentError) as error:
        bundle.unbundle(other.layout, path, limits)
    after = {n: d for n, d in tree(tmp_path).items() if not n.endswith(".lock")}
    assert after == before
    assert list((other.layout.root / "data").glob(".unbundling-*")) == []
    assert other.sessions() == []
    return error.value.message


NAMES = [
    "../outside",
    "/etc/passwd",
    "sessions/../../x",
    "sessions/./x.md",
    "sessions//x.md",
    "sessions/SESSION/../x",
    "sessions/SESSION/.hidden",
    "sessions/SESSION/a\\b",
    "sessions/SESSION/a\x00b",
    "sessions/SESSION/x.",
    "sessions/SESSION/" + "d/" * 20 + "x",
    "sessions/00000000-0000-0000-0000-000000000000/source/x",
    "sessions/other.md",
    "engagements/a/b.md",
    "engagements/x.txt",
    "elsewhere/x",
    "agent-roster.jsonl/x",
    "",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_no_bundle_has_is_refused(made: Path, other: Archive, tmp_path: Path, name: str) -> None:
    members = opened(made)
    session = json.loads(members[0][1])["sessions"][0]["session_id"]
    extra = (header("sessions/placeholder"), b"harm")

    def rename(contents: dict[str, Any]) -> None:
        contents["members"][-1]["name"] = name.replace("SESSION", session)

    path = closed(reworded([*members, extra], rename), tmp_path / "bad")
    assert "which no bundle does" in refused(other, path, tmp_path)


@pytest.mark.parametrize(
    ("type_", "link"),
    [
        (tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.LNKTYPE, "manifest.json"),
        (tarfile.FIFOTYPE, ""),
        (tarfile.CHRTYPE, ""),
        (tarfile.DIRTYPE, ""),
        (tarfile.GNUTYPE_SPARSE, ""),
    ],
)
def test_only_plain_files_are_taken(made: Path, other: Archive, tmp_path: Path, type_: bytes, link: str) -> None:
    members = opened(made)
    at = next(number for number, (one, _) in enumerate(members) if one.name.endswith(".md"))
    members[at] = (header(members[at][0].name, type_, link), b"")
    refused(other, closed(reworded(members), tmp_path / "bad"), tmp_path)


def _swap(members: Members) -> Members:
    return [members[0], members[2], members[1], *members[3:]]


def _changed(members: Members) -> Members:
    return [(one, data[:-1] + b"?") if number == 2 else (one, data) for number, (one, data) in enumerate(members)]


TRICKS: dict[str, Callable[[Members], Members]] = {
    "out of order": _swap,
    "one is missing": lambda m: m[:-1],
    "one too many": lambda m: [*m, (header("sessions/x.md"), b"x")],
    "one twice": lambda m: [*m, m[-1]],
    "one twice, as the manifest says": lambda m: reworded([*m, m[-1]]),
    "twice but for case": lambda m: reworded([*m, (header(m[-1][0].name.upper()), b"x")]),
    "the manifest is not first": lambda m: [*m[1:], m[0]],
    "no manifest": lambda m: m[1:],
    "other content": _changed,
    "no evidence": lambda m: reworded([m[0], *(one for one in m[1:] if "/source/" not in one[0].name)]),
    "a manifest of another kind": lambda m: [(m[0][0], b'{"format":"x"}'), *m[1:]],
    "another format": lambda m: reworded(m, lambda c: c.update(format="other")),
    "a newer version": lambda m: reworded(m, lambda c: c.update(version=99)),
    "no session id": lambda m: reworded(m, lambda c: c["sessions"][0].update(session_id="../x")),
    "a session twice": lambda m: reworded(m, lambda c: c.update(sessions=c["sessions"] * 2)),
    "an unknown source": lambda m: reworded(m, lambda c: c["sessions"][0].update(source="none")),
    "a negative size": lambda m: reworded(m, lambda c: c["members"][-1].update(size=-1)),
    "edits of another session": lambda m: _with_edit(m),
}


def _with_edit(members: Members) -> Members:
    edit = {"at": "2026", "kind": "tags", "session_id": "00000000-0000-0000-0000-000000000000", "value": "[]"}
    return reworded([*members, (header("edits.jsonl"), json.dumps(edit).encode() + b"\n")])


@pytest.mark.parametrize("trick", TRICKS)
def test_a_bundle_that_is_not_what_it_says_is_refused(made: Path, other: Archive, tmp_path: Path, trick: str) -> None:
    refused(other, closed(TRICKS[trick](opened(made)), tmp_path / "bad"), tmp_path)


def test_the_honest_one_is_taken_after_the_same_handling(made: Path, other: Archive, tmp_path: Path) -> None:
    path = closed(reworded(opened(made)), tmp_path / "again")
    assert [p.what for p in other.unbundle(path)] == ["new"]


def _evidence(members: Members, change: Callable[[dict[str, Any]], None]) -> Members:
    """With another manifest of the evidence, and a bundle that vouches for it."""
    made: Members = []
    for one, data in members:
        if one.name.endswith("/source/manifest.json"):
            value = json.loads(data)
            change(value)
            data = json.dumps(value).encode()
        made.append((one, data))
    return reworded(made)


def _frame(number: int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(manifest: dict[str, Any]) -> None:
        manifest["files"][0]["frames"][0][number] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["files"][0].update(name="../../x.jsonl"),
        lambda m: m["files"][0].update(name="/etc/x.jsonl"),
        lambda m: m["files"][0].update(place="../x"),
        lambda m: m.update(session_id="00000000-0000-0000-0000-000000000000"),
        lambda m: m.update(source="codex"),
        lambda m: m.update(version=99),
        lambda m: m.update(files=[]),
        _frame(0, 5),
        _frame(1, 1 << 40),
        _frame(1, 0),
        _frame(2, 7),
        _frame(3, 1 << 40),
        _frame(4, "0" * 64),
    ],
)
def test_evidence_that_is_not_what_it_says_is_refused(
    made: Path, other: Archive, tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    refused(other, closed(_evidence(opened(made), change), tmp_path / "bad"), tmp_path)


def test_files_that_an_agent_would_heed_are_not_put_into_its_home(made: Path, other: Archive, tmp_path: Path) -> None:
    members = opened(made)
    data = b'{"hooks":{"SessionStart":[{"command":"harm"}]}}'
    packed = zstandard.ZstdCompressor().compress(data)
    session = json.loads(members[0][1])["sessions"][0]["session_id"]
    name = f"settings-{hashlib.sha256(b'settings.json').hexdigest()[:8]}.json.zst"

    def add(manifest: dict[str, Any]) -> None:
        frame = [0, len(data), 0, len(packed), hashlib.sha256(data).hexdigest()]
        manifest["files"].append({"name": "settings.json", "role": "side", "path": "/x", "frames": [frame]})

    members.append((header(f"sessions/{session}/source/{name}"), packed))
    path = closed(_evidence(members, add), tmp_path / "bad")
    assert [p.what for p in other.unbundle(path)] == ["new"]
    with pytest.raises(Conflict, match="another machine"):
        other.restore(session)
    assert tree(tmp_path / "other-home") == {}


def test_rounds_and_media_of_a_bundle_are_not_believed(made: Path, other: Archive, tmp_path: Path) -> None:
    members = [
        (one, b'{"round":1,"user":"forged"}' if one.name.endswith("rounds/001.json") else data)
        for one, data in opened(made)
    ]
    session = json.loads(members[0][1])["sessions"][0]["session_id"]
    members.append((header(f"sessions/{session}/media/{'0' * 64}.png"), b"forged"))
    other.unbundle(closed(reworded(members), tmp_path / "bad"))
    assert b"forged" not in b"".join(tree(other.layout.root).values())


# -- bombs


def test_a_stream_that_grows_without_end_is_cut_off(other: Archive, tmp_path: Path) -> None:
    def bomb() -> Iterator[bytes]:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            tar.addfile(header("manifest.json"), None)
        yield out.getvalue()[:512].replace(b"%011o" % 0, b"%011o" % (200 << 20), 1)
        for _ in range(200):
            yield b"\0" * (1 << 20)

    path = tmp_path / "bomb"
    with path.open("wb") as file, zstandard.ZstdCompressor(level=19).stream_writer(file) as packed:
        for piece in bomb():
            packed.write(piece)
    assert path.stat().st_size < 1 << 20
    refused(other, path, tmp_path)


def test_a_member_that_grows_beyond_its_ratio_is_cut_off(made: Path, other: Archive, tmp_path: Path) -> None:
    members = opened(made)
    session = json.loads(members[0][1])["sessions"][0]["session_id"]
    members.append((header(f"sessions/{session}/media/zeros.bin"), b"\0" * (80 << 20)))
    path = closed(reworded(members), tmp_path / "bomb")
    assert path.stat().st_size < 100_000
    assert "far more than it holds" in refused(other, path, tmp_path)


def test_evidence_that_grows_beyond_its_ratio_is_refused(made: Path, other: Archive, tmp_path: Path) -> None:
    members = opened(made)
    packed = zstandard.ZstdCompressor().compress(b"\0" * (80 << 20))
    frame = [0, 80 << 20, 0, len(packed), hashlib.sha256(b"\0" * (80 << 20)).hexdigest()]

    def grow(manifest: dict[str, Any]) -> None:
        manifest["files"][0]["frames"] = [frame]

    members = [(one, packed if one.name.endswith(".jsonl.zst") else data) for one, data in members]
    path = closed(_evidence(members, grow), tmp_path / "bomb")
    assert "far more than it holds" in refused(other, path, tmp_path)


def test_more_than_is_allowed_is_refused(made: Path, other: Archive, tmp_path: Path) -> None:
    assert "more than is allowed" in refused(other, made, tmp_path, Limits(total_bytes=1000))
    assert "more than is allowed" in refused(other, made, tmp_path, Limits(members=3))
    assert "too long" in refused(other, made, tmp_path, Limits(manifest_bytes=100))


def test_headers_without_end_are_refused(made: Path, other: Archive, tmp_path: Path) -> None:
    members = opened(made)
    members[1][0].pax_headers = {"comment": "x" * (3 << 20)}
    assert "header" in refused(other, closed(members, tmp_path / "bad"), tmp_path)


@pytest.mark.parametrize("data", [b"", b"x" * 100, zstandard.ZstdCompressor().compress(b"x" * 2000)])
def test_what_is_no_bundle_is_refused(other: Archive, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad"
    path.write_bytes(data)
    refused(other, path, tmp_path)


def test_what_follows_a_bundle_is_refused(made: Path, other: Archive, tmp_path: Path) -> None:
    made.write_bytes(made.read_bytes() + b"more")
    refused(other, made, tmp_path)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**9), st.integers(0, 255), st.sampled_from(["flip", "cut", "double"]))
def test_no_damage_goes_unseen(made: Path, other: Archive, tmp_path: Path, place: int, value: int, how: str) -> None:
    data = made.read_bytes()
    at = place % len(data)
    changed = {
        "flip": data[:at] + bytes([value]) + data[at + 1 :],
        "cut": data[:at],
        "double": data[:at] + data[max(0, at - 20) :],
    }[how]
    if changed == data:
        return
    path = tmp_path / "damaged"
    path.write_bytes(changed)
    if how == "flip" and says_the_same(changed, data):
        return
    refused(other, path, tmp_path)


def says_the_same(changed: bytes, data: bytes) -> bool:
    """A few bits of zstd's own headers can be others without changing what is unpacked."""
    try:
        return unpacked(changed) == unpacked(data)
    except zstandard.ZstdError:
        return False


def unpacked(data: bytes) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as reader:
        return reader.read()


def test_a_bundle_that_was_cut_off_anywhere_near_its_end_is_refused(made: Path, other: Archive, tmp_path: Path) -> None:
    data = made.read_bytes()
    for missing in range(1, 60):
        made.write_bytes(data[:-missing])
        refused(other, made, tmp_path)
