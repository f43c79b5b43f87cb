"""The evidence gives back every byte, or says where it cannot."""

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.errors import MunimentError, StoreError, Unsupported
from muniment.store import evidence
from muniment.store.evidence import Kept, Manifest

FILE = Kept("projects/-w/a.jsonl", "main", "/agent/projects/-w/a.jsonl")


def append(folder: Path, kept: Kept, pieces: Iterable[bytes]) -> Kept:
    appender = evidence.Appender(folder, kept)
    assert b"".join(appender.through(pieces)) == b"".join(pieces)
    return appender.close()


def content(folder: Path, kept: Kept, start: int = 0) -> bytes:
    return b"".join(evidence.read(folder, kept, start))


def test_appending_twice_gives_one_file(tmp_path: Path) -> None:
    once = append(tmp_path, FILE, [b"one\n", b"two\n"])
    twice = append(tmp_path, once, [b"three\n"])
    assert content(tmp_path, twice) == b"one\ntwo\nthree\n"
    assert content(tmp_path, once) == b"one\ntwo\n"
    assert (once.size, twice.size, len(twice.frames)) == (8, 14, 2)


def test_appending_nothing_changes_nothing(tmp_path: Path) -> None:
    kept = append(tmp_path, FILE, [b"one"])
    assert append(tmp_path, kept, []) == kept
    assert append(tmp_path, kept, [b""]) == kept
    assert append(tmp_path, FILE, []) == FILE


@settings(max_examples=50)
@given(st.lists(st.lists(st.binary(max_size=40), max_size=3), max_size=4), st.integers(0, 200))
def test_every_byte_comes_back_from_any_place_on(
    tmp_path_factory: pytest.TempPathFactory, runs: list[list[bytes]], start: int
) -> None:
    folder, kept = tmp_path_factory.mktemp("e"), FILE
    for pieces in runs:
        kept = append(folder, kept, pieces)
    whole = b"".join(b"".join(pieces) for pieces in runs)
    assert content(folder, kept, start) == whole[start:]
    assert kept.size == len(whole)


def test_frames_larger_than_one_are_written_as_they_fill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "FRAME_BYTES", 1000)
    pieces = [random.Random(seed).randbytes(700) for seed in range(9)]
    kept = append(tmp_path, append(tmp_path, FILE, pieces), pieces)
    assert len(kept.frames) > 4
    assert content(tmp_path, kept) == b"".join(pieces) * 2


def test_what_a_killed_append_left_behind_the_manifest_does_not_count(tmp_path: Path) -> None:
    kept = append(tmp_path, FILE, [b"one\n"])
    append(tmp_path, kept, [b"never listed\n" * 50])
    assert content(tmp_path, kept) == b"one\n"
    again = append(tmp_path, kept, [b"two\n"])
    assert content(tmp_path, again) == b"one\ntwo\n"
    assert evidence.packed_path(tmp_path, again).stat().st_size == again.packed_size


def test_a_killed_first_append_does_not_count_either(tmp_path: Path) -> None:
    append(tmp_path, FILE, [b"never listed\n"])
    assert content(tmp_path, append(tmp_path, FILE, [b"one\n"])) == b"one\n"


@pytest.mark.parametrize("size", [10, 300, 70_000])
def test_a_flipped_bit_is_noticed_and_its_place_named(tmp_path: Path, size: int) -> None:
    """Whatever is flipped, the bytes come back as they were or the place is named."""
    before = append(tmp_path, FILE, [b"before"])
    noise = random.Random(1).randbytes(size)
    kept = append(tmp_path, before, [noise])
    path = evidence.packed_path(tmp_path, kept)
    good, start = path.read_bytes(), before.packed_size
    noticed: list[str] = []
    for at in [*range(start, start + 16), len(good) - 1]:
        for bit in range(8):
            hurt = bytearray(good)
            hurt[at] ^= 1 << bit
            path.write_bytes(hurt)
            try:
                assert content(tmp_path, kept) == b"before" + noise
            except StoreError as error:
                noticed.append(error.message)
    assert len(noticed) > 120
    assert set(noticed) == {f"the evidence of {FILE.name} is damaged at byte 6"}


@pytest.mark.parametrize("cut", [0, 1, 10])
def test_a_file_that_was_cut_short_is_noticed(tmp_path: Path, cut: int) -> None:
    kept = append(tmp_path, FILE, [b"words " * 100])
    path = evidence.packed_path(tmp_path, kept)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(StoreError, match="damaged at byte 0"):
        content(tmp_path, kept)


def test_a_file_that_is_gone_is_an_error_for_a_person(tmp_path: Path) -> None:
    kept = append(tmp_path, FILE, [b"words"])
    evidence.packed_path(tmp_path, kept).unlink()
    with pytest.raises(MunimentError):
        content(tmp_path, kept)


NAMES = ["../../x", "/etc/passwd", "..", ".", "", "a/../..", "con", "NUL.txt", "x\0y", "a\nb", "é" * 300, "\ud800", "-"]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
@pytest.mark.parametrize("role", ["main", "side", "sidechain"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str, role: evidence.FileRole) -> None:
    folder = tmp_path / "source"
    kept = append(folder, Kept(name, role, "/x"), [b"words"])
    assert [path.parent for path in tmp_path.rglob("*.zst")] == [folder]
    assert content(folder, kept) == b"words"


def test_files_of_one_name_in_two_folders_are_kept_apart(tmp_path: Path) -> None:
    first = append(tmp_path, Kept("a/1.txt", "side", "/x"), [b"one"])
    second = append(tmp_path, Kept("b/1.txt", "side", "/x"), [b"two"])
    assert (content(tmp_path, first), content(tmp_path, second)) == (b"one", b"two")


def test_no_side_file_takes_the_place_of_the_main_one_or_of_the_manifest(tmp_path: Path) -> None:
    main = append(tmp_path, Kept("manifest.json", "main", "/x"), [b"main"])
    side = append(tmp_path, Kept("sub/manifest.json", "side", "/x"), [b"side"])
    evidence.save(tmp_path, Manifest("any", "s", "/"))
    assert (content(tmp_path, main), content(tmp_path, side)) == (b"main", b"side")


def test_the_manifest_comes_back_and_an_absent_one_is_none(tmp_path: Path) -> None:
    assert evidence.load(tmp_path) is None
    manifest = Manifest("any", "s", "/r\ud800").put(append(tmp_path, FILE, [b"words"]))
    evidence.save(tmp_path, manifest)
    assert evidence.load(tmp_path) == manifest


def test_a_manifest_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    evidence.save(tmp_path, Manifest("any", "s", "/", version=99))
    with pytest.raises(Unsupported, match="version 99"):
        evidence.load(tmp_path)


@pytest.mark.parametrize("data", [b"", b"\0" * 50, b"{", b"[]", b'{"source":5}'], ids=range(5))
def test_a_damaged_manifest_is_an_error_for_a_person(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(data)
    with pytest.raises(MunimentError):
        evidence.load(tmp_path)


def test_a_file_is_replaced_and_the_main_one_stands_first() -> None:
    side, main = Kept("a.txt", "side", "/a"), Kept("z.jsonl", "main", "/z")
    manifest = Manifest("any", "s", "/").put(side).put(main).put(side)
    assert manifest.files == (main, side)
    assert manifest.main == main


def test_a_copy_is_known_by_how_much_of_the_file_it_holds(tmp_path: Path) -> None:
    kept = append(tmp_path, FILE, [b"words"])
    manifest = Manifest("any", "s", "/").put(kept).seen_at(kept, "/copy", "/", "copy", False, 3)
    assert manifest.size_at(kept, "/copy") == 3
    assert manifest.size_at(kept, kept.path) == 5
    assert manifest.size_at(kept, "/elsewhere") is None
    assert len(manifest.seen_at(kept, "/copy", "/", "copy", False, 5).copies) == 1
