"""Nothing outside of the archive is read, and nothing in it that no route names, whatever is written for an id."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import anyio
import pytest

from muniment.archive import Archive
from muniment.errors import NotFound
from muniment.surfaces.web import files
from muniment.surfaces.web.view import View
from tests.conftest import tree
from tests.web.served import CANARY, MAIN, PNG, Viewer, paths, viewing

STEPS = (
    "..",
    "../..",
    "../../../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "%252e%252e%252fetc%252fpasswd",
    "....//....//etc/passwd",
    "..;/..;/etc/passwd",
    "..%5c..%5cetc%5cpasswd",
    "..%c0%af..%c0%afetc",
    "..%ef%bc%8f..%ef%bc%8fetc",
    "%2fetc%2fpasswd",
    "/etc/passwd",
    "//etc/passwd",
    "file:%2f%2f%2fetc%2fpasswd",
    "~",
    "~root",
    "%00",
    "x%00.md",
    "%0d%0aSet-Cookie:%20x=1",
    "%0a",
    "%20",
    ".",
    "...",
    "con",
    "nul",
    "aux.md",
    "C:%5cwindows",
    "%5c%5cserver%5cshare",
    "last",
    "*",
    "%25",
    "_",
    "%",
    "%zz",
    "%u002e",
    "sessions.db",
    "index",
    "-",
    "--help",
    "$(id)",
    "`id`",
    "';DROP TABLE sessions;--",
    "%27%20OR%201=1",
    "{id}",
    "null",
    "undefined",
    "0",
    "-1",
    "NaN",
    "%F0%9F%98%80",
    "%FF%FE",
    "a" * 4000,
)
BENT = (
    MAIN.upper(),
    MAIN[:-1],
    MAIN + "0",
    f"%20{MAIN}",
    f"{MAIN}%20",
    f"{MAIN}%0a",
    f"{MAIN}%00",
    f"{MAIN}.",
    f"{MAIN}..",
    f".{MAIN}",
    f"./{MAIN}",
    f"{MAIN}/.",
    f"{MAIN}/..",
    f"x/../{MAIN}",
    f"claude%2f{MAIN}",
    f"claude/{MAIN}",
    f"..%2fclaude%2f{MAIN}",
    f"{MAIN}%2f..%2f{MAIN}",
    f"{MAIN}.md",
    f"{MAIN}.md%00",
    MAIN.replace("-", ""),
    MAIN.replace("-", "_"),
    "{" + MAIN + "}",
    f"urn:uuid:{MAIN}",
    MAIN.replace("7", "%EF%BC%97"),
    MAIN.replace("-", "%E2%80%90"),
    MAIN[:8],
    MAIN[:8] + "%25",
    "7d0f7f0e-____-____-____-____________",
    "00000000-0000-0000-0000-000000000000",
)
TEMPLATES = (
    "/api/session/{}",
    "/api/session/{}/items",
    "/api/session/{}/item/0",
    "/api/session/{}/light",
    "/doc/{}.md",
    "/raw/{}/1.json",
    "/media/{}/" + "0" * 64 + ".png",
    "/assets/{}",
)


def test_no_id_leads_astray(viewer: Viewer) -> None:
    assert len({*STEPS, *BENT}) * len(TEMPLATES) > 500
    for template in TEMPLATES:
        for id_ in (*STEPS, *BENT):
            got = viewer.raw(_get(viewer, template.format(id_.replace(" ", "%20"))))
            assert got.startswith((b"HTTP/1.1 404", b"HTTP/1.1 400")) or _is_the_page(got), (template, id_, got[:200])
            assert b"root:" not in got
            assert CANARY.encode() not in got


def _get(viewer: Viewer, path: str) -> bytes:
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: {viewer.host}",
        f"Authorization: Bearer {viewer.token}",
        "Connection: close",
        "",
        "",
    ]
    return "\r\n".join(lines).encode()


def _is_the_page(got: bytes) -> bool:
    """Paths that end up outside of every route show the page, which holds nothing of the archive."""
    return got.startswith(b"HTTP/1.1 200") and b"content-type: text/html" in got


def test_no_edit_is_made_under_a_bent_id(viewer: Viewer, shown: Archive) -> None:
    before = tree(shown.layout.root / "data")
    for id_ in (*STEPS, *BENT):
        if all(sign.isprintable() and sign not in " " for sign in id_):
            status, _, _ = viewer.post(f"/api/session/{id_}/tags", {"tags": ["x"]})
            assert status in (400, 404, 405), id_
    assert _kept(tree(shown.layout.root / "data")) == _kept(before)


def _kept(files_: dict[str, bytes]) -> dict[str, bytes]:
    """Without what SQLite needs for reading, and the lock."""
    return {name: data for name, data in files_.items() if not name.endswith(("-shm", "-wal", ".lock"))}


@pytest.mark.parametrize(
    "name",
    [
        "../1.json",
        "..%2f001.json",
        "0" * 63 + ".png",
        "0" * 65 + ".png",
        "0" * 64,
        "0" * 64 + ".",
        "0" * 64 + ".PNG",
        "G" * 64 + ".png",
        "0" * 64 + ".png%00",
        "0" * 64 + ".png.html",
        "0" * 64 + ".verylongsuffix",
        ".hidden",
        "%2e%2e",
    ],
)
def test_media_have_names_of_one_form(viewer: Viewer, name: str) -> None:
    assert viewer.ask(f"/media/{MAIN}/{name}")[0] == 404


@pytest.mark.parametrize("number", ["0", "-1", "1.5", "x", "99999999", "1%2f..%2f2", "%31x", "1e3", "001x"])
def test_rounds_are_numbers(viewer: Viewer, number: str) -> None:
    assert viewer.ask(f"/raw/{MAIN}/{number}.json")[0] == 404


def test_no_link_and_no_pipe_in_the_archive_is_followed(filled: Archive, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(PNG + b"secret")
    shelf = filled.shelf(filled.session(MAIN))
    link, pipe = shelf.media / f"{'1' * 64}.png", shelf.media / f"{'2' * 64}.png"
    link.symlink_to(secret)
    os.mkfifo(pipe)
    (shelf.media / f"{'3' * 64}.png").mkdir()
    shelf.round_file(77).symlink_to(secret)
    odd = [f"{'5' * 64}.png.html", "notes.png", f"{'5' * 63}.png"]
    for name in odd:
        (shelf.media / name).write_bytes(PNG)
    with viewing(filled) as viewer:
        for path in (link.name, pipe.name, f"{'3' * 64}.png", *odd):
            assert viewer.ask(f"/media/{MAIN}/{path}")[0] == 404
        assert viewer.ask(f"/raw/{MAIN}/77.json")[0] == 404
        moved = shelf.media.rename(tmp_path / "media")
        (moved / f"{'4' * 64}.png").write_bytes(PNG)
        shelf.media.symlink_to(moved)
        assert viewer.ask(f"/media/{MAIN}/{'4' * 64}.png")[0] == 404


def test_opening_below_a_folder_never_leaves_it(tmp_path: Path) -> None:
    inside = tmp_path / "store"
    inside.mkdir()
    (inside / "file").write_bytes(b"here")
    (inside / "up").symlink_to(tmp_path)
    os.close(files.open_below(inside, inside / "file"))
    for wrong in (inside / "up" / "store" / "file", inside / "up", inside / "nothing", inside):
        with pytest.raises((NotFound, ValueError)):
            files.open_below(inside, wrong)


def test_only_the_edits_can_write(filled: Archive) -> None:
    assert View(filled.layout.root, filled.env).layout.read_only
    folder = Path(files.__file__).parent
    writing = re.compile(r"from muniment(\.archive import|\.tagging import| import .*\b(batch|tagging|reindex)\b)")
    able = {path.name for path in folder.glob("*.py") if writing.search(path.read_text())}
    assert able == {"edits.py", "opening.py"}, "opening.py starts the server and is no part of it"


def test_looking_changes_nothing(filled: Archive) -> None:
    before = _kept(tree(filled.layout.root / "data"))
    with viewing(filled) as viewer:
        for method, path in paths():
            if method == "GET" and path != "/api/live":
                assert viewer.ask(path)[0] in (200, 404)
        assert _kept(tree(filled.layout.root / "data")) == before
    assert _kept(tree(filled.layout.root / "data")) == before


def test_what_is_sent_is_bounded(viewer: Viewer) -> None:
    large = json.dumps({"summary": "x" * 70_000}).encode()
    assert viewer.post(f"/api/session/{MAIN}/summary", large)[0] == 413
    chunks = b"".join(b"4000\r\n" + b" " * 0x4000 + b"\r\n" for _ in range(8)) + b"0\r\n\r\n"
    head = (
        f"POST /api/session/{MAIN}/summary HTTP/1.1\r\nHost: {viewer.host}\r\nAuthorization: Bearer {viewer.token}\r\n"
    )
    head += f"Origin: http://{viewer.host}\r\nX-Muniment: edit\r\nContent-Type: application/json\r\n"
    got = viewer.raw(head.encode() + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunks, seconds=1)
    assert got.startswith(b"HTTP/1.1 413")
    got = viewer.raw(f"GET / HTTP/1.1\r\nHost: {viewer.host}\r\nX: {'y' * 300_000}\r\n\r\n".encode(), seconds=1)
    assert got.startswith(b"HTTP/1.1 4")
    assert viewer.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20, seconds=2)[:12] in (b"", b"HTTP/1.1 400")
    assert viewer.ask("/api/overview")[0] == 200


def test_a_file_is_closed_when_nobody_waits_for_it_any_more(tmp_path: Path) -> None:
    """Who asked is gone before the first piece is read."""
    (tmp_path / "long.md").write_bytes(b"x" * 100)
    descriptor = files.open_below(tmp_path, tmp_path / "long.md")
    scope = {"type": "http", "asgi": {"spec_version": "2.3"}}

    async def gone() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def send(_: object) -> None:
        await anyio.sleep(1)

    anyio.run(files._OpenFile(descriptor, 100, {}), scope, gone, send)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
