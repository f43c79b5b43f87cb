"""The server lives through what happens to it: news, an archive that goes and comes back, crowds, and the end."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import itertools
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.requests import Request

from muniment.archive import Archive
from muniment.store.index import Index
from muniment.surfaces.web import api
from muniment.surfaces.web.server import Taken, listen
from muniment.surfaces.web.view import View
from muniment.viewing import shapes
from muniment.viewing.kept import Kept
from tests.web.served import (
    CANARY,
    MAIN,
    OTHER,
    PATIENCE_SECONDS,
    PYTHON,
    Viewer,
    conversation,
    environment,
    paths,
    read_invitation,
    viewing,
)


@pytest.fixture
def own(filled: Archive) -> Iterator[Viewer]:
    with viewing(filled) as running:
        yield running


@contextlib.contextmanager
def listening(viewer: Viewer) -> Iterator[Iterator[tuple[str, dict[str, str]]]]:
    """Events as they come."""
    connection = http.client.HTTPConnection("127.0.0.1", viewer.port, timeout=PATIENCE_SECONDS)
    try:
        connection.request(
            "GET", "/api/live", headers={"Authorization": f"Bearer {viewer.token}", "Accept-Encoding": "gzip"}
        )
        answer = connection.getresponse()
        assert answer.getheader("content-type") == "text/event-stream; charset=utf-8"
        assert answer.getheader("content-encoding") is None
        yield _events(answer)
    finally:
        connection.close()


def _events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, dict[str, str]]]:
    name = ""
    while line := answer.readline():
        if line.startswith(b"event: "):
            name = line[7:].decode().strip()
        elif line.startswith(b"data: "):
            yield name, json.loads(line[6:])


# -- news


def test_an_append_is_told_to_all_who_listen(own: Viewer, filled: Archive, home: Path) -> None:
    with listening(own) as first, listening(own) as second:
        beginning = next(first)
        assert beginning[0] == "state"
        assert next(second) == beginning
        longer = conversation()
        longer.exchange("one more", "said")
        longer.write(home, "-proj-shop")
        filled.inscribe()
        for events in (first, second):
            *states, grown = _until_grown(events)
            assert {name for name, _ in states} == {"state"}
            assert beginning not in states
            assert grown == ("session", {"session_id": MAIN})
    assert own.get(f"/api/session/{MAIN}", shapes.SessionAnswer).session.rounds == 7


def _until_grown(events: Iterator[tuple[str, dict[str, str]]]) -> Iterator[tuple[str, dict[str, str]]]:
    """What is told until a session has grown; a run commits more than once, and a look may fall in between."""
    for event in events:
        yield event
        if event[0] == "session":
            return


def test_an_answer_follows_a_change_at_once(own: Viewer, filled: Archive) -> None:
    """Not only after the next look: what is kept belongs to one state."""
    before = own.get("/api/sessions", shapes.Sessions)
    filled.summarise(MAIN, "changed")
    after = own.get("/api/sessions", shapes.Sessions)
    assert after.state != before.state
    assert "changed" in after.columns.summary
    assert own.get("/api/sessions", shapes.Sessions).state == after.state


# -- an archive that changes under it


def test_it_serves_while_the_archive_is_written(own: Viewer, filled: Archive, home: Path) -> None:
    session, wrong, stop = conversation(), [], threading.Event()

    def look() -> None:
        while not stop.is_set():
            for path in ("/api/sessions", f"/api/session/{MAIN}", f"/api/session/{MAIN}/items", "/api/search?q=step"):
                status, _, body = own.ask(path)
                wrong.extend([(path, status, body)] if status != 200 else [])

    looker = threading.Thread(target=look)
    looker.start()
    try:
        for number in range(10):
            session.exchange(f"more {number}", "yes")
            session.write(home, "-proj-shop")
            filled.inscribe()
        filled.ingest()
        filled.reindex()
    finally:
        stop.set()
        looker.join()
    assert wrong == []
    assert own.get(f"/api/session/{MAIN}", shapes.SessionAnswer).session.rounds == 16


def test_an_index_of_a_development_version_is_named_as_such(own: Viewer, filled: Archive) -> None:
    with Index(filled.layout, write=True) as index:
        index.db.execute("DROP TABLE tags")
    status, _, body = own.ask("/api/overview")
    told = json.loads(body)
    assert status == 503
    assert "of another version (no such table: tags)" in told["error"]
    assert "muniment reindex" in told["hint"]
    filled.reindex()
    assert own.get("/api/overview", shapes.Overview).sessions == 2


def test_an_archive_that_is_deleted_and_made_again(own: Viewer, filled: Archive) -> None:
    root = filled.layout.root
    with listening(own) as events:
        next(events)
        shutil.rmtree(root / "data")
        for method, path in paths():
            if method == "GET" and path.startswith(("/api/", "/doc", "/raw", "/media")) and path != "/api/live":
                status, _, body = own.ask(path)
                assert (status, "muniment" in json.loads(body)["hint"]) == (503, True), path
        assert own.post(f"/api/session/{MAIN}/tags", {"tags": ["x"]})[0] == 503
        assert next(events)[0] == "state"
    assert not (root / "data").exists(), "looking made nothing"
    filled.inscribe()
    filled.ingest()
    assert own.get("/api/overview", shapes.Overview).sessions == 2
    assert own.get(f"/api/session/{MAIN}/items", shapes.ItemsAnswer).items


def test_an_index_that_is_lost_or_damaged_is_told_with_what_to_do(own: Viewer, filled: Archive) -> None:
    database = filled.layout.database
    kept = database.read_bytes()
    for suffix in ("", "-wal", "-shm"):
        Path(f"{database}{suffix}").unlink(missing_ok=True)
    status, _, body = own.ask("/api/sessions")
    assert (status, "reindex" in json.loads(body)["hint"]) == (503, True)
    database.write_bytes(b"not a database at all" * 100)
    status, _, body = own.ask("/api/sessions")
    assert (status, "reindex" in json.loads(body)["hint"]) == (503, True)
    database.unlink()
    database.write_bytes(kept)
    assert own.get("/api/overview", shapes.Overview).sessions == 2


def test_a_round_that_is_gone_or_damaged_is_told_and_the_rest_is_shown(own: Viewer, filled: Archive) -> None:
    shelf = filled.shelf(filled.session(MAIN))
    shelf.round_file(2).write_bytes(b'{"round":2,')
    status, _, body = own.ask(f"/api/session/{MAIN}")
    assert (status, "reindex" in json.loads(body)["hint"]) == (503, True)
    assert own.ask(f"/api/session/{OTHER}")[0] == 200
    assert own.ask("/api/sessions")[0] == 200


# -- crowds


def test_two_hundred_clients_at_once(own: Viewer) -> None:
    asked = [path for method, path in paths() if method == "GET" and path != "/api/live"]
    with contextlib.ExitStack() as stack:
        for _ in range(50):
            next(stack.enter_context(listening(own)))
        with ThreadPoolExecutor(200) as crowd:
            statuses = list(crowd.map(lambda n: own.ask(asked[n % len(asked)])[0], range(1000)))
    assert set(statuses) <= {200, 404}
    assert statuses.count(200) > 800
    assert own.rss() < 256 << 20
    assert own.ask("/api/overview")[0] == 200


SLOW = """
import sys
from muniment.surfaces.web import server
server.REQUEST_SECONDS = 0.5
from muniment.surfaces.cli.main import main
main(sys.argv[1:])
"""


def test_who_never_says_what_it_wants_is_cut_off(filled: Archive) -> None:
    with viewing(filled, command=[sys.executable, "-c", SLOW]) as viewer:
        beginnings = [
            b"",
            b"G",
            b"GET / HTTP/1.1\r\nHost: x\r\nX-A: ",
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
        ]
        with contextlib.ExitStack() as stack:
            slow = [stack.enter_context(socket.create_connection(("127.0.0.1", viewer.port))) for _ in range(80)]
            for number, connection in enumerate(slow):
                connection.sendall(beginnings[number % len(beginnings)])
            assert viewer.ask("/api/overview")[0] == 200
            for connection in slow:
                connection.settimeout(PATIENCE_SECONDS)
                while _received(connection):
                    pass
            trickling = stack.enter_context(socket.create_connection(("127.0.0.1", viewer.port)))
            assert _is_cut_off_while_it_trickles(trickling)
        assert viewer.ask("/api/overview")[0] == 200


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1000)
    except ConnectionResetError:
        return b""


def _is_cut_off_while_it_trickles(connection: socket.socket) -> bool:
    """Whether the line is cut while a byte is sent every tenth of a second, for a minute at the most."""
    for sign in itertools.islice(itertools.chain(b"GET / HTTP/1.1\r\n", itertools.cycle(b"X: y\r\n")), 600):
        try:
            connection.sendall(bytes([sign]))
            if select.select([connection], [], [], 0.1)[0] and not _received(connection):
                return True
        except (BrokenPipeError, ConnectionResetError):
            return True
    return False


# -- the port, and the end


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_ends_well_when_it_is_told_to(filled: Archive, number: int) -> None:
    with viewing(filled) as viewer, listening(viewer) as first, listening(viewer) as second:
        next(first), next(second)
        assert viewer.end(number) == 0
        assert list(first) == []
    assert (filled.layout.root.parent / "viewer.err").read_text() == ""


BUSY = """
import sys, time
from pathlib import Path
from muniment.surfaces.web import server
from muniment.viewing.families import Families
server.GRACE_SECONDS = 0.2
folder, families = Path(sys.argv.pop(1)), Families.of
def of(*asked):
    (folder / "begun").touch()
    while not (folder / "go on").exists():
        time.sleep(0.01)
    return families(*asked)
Families.of = of
from muniment.surfaces.cli.main import main
main(sys.argv[1:])
"""


def test_it_ends_well_in_the_middle_of_an_answer(filled: Archive, tmp_path: Path) -> None:
    """One that takes longer than the server waits for its clients: they are cut off, and nobody sees a trace."""
    with viewing(filled, command=[sys.executable, "-c", BUSY, str(tmp_path)]) as viewer:
        with ThreadPoolExecutor(1) as client:
            asked = client.submit(viewer.ask, f"/api/session/{MAIN}/lineage")
            while not (tmp_path / "begun").exists():
                assert not asked.done()
                time.sleep(0.01)
            viewer.process.terminate()
            assert isinstance(asked.exception(PATIENCE_SECONDS), ConnectionResetError)
        (tmp_path / "go on").touch()
        assert viewer.process.wait(PATIENCE_SECONDS) == 0
    assert (filled.layout.root.parent / "viewer.err").read_text() == ""


def test_a_port_that_is_taken_is_said_and_no_other_is_used(filled: Archive) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Taken):
            listen(port)
        command = [*PYTHON, "--store", str(filled.layout.root), "view", "--no-open", "--no-watch", "--port", str(port)]
        thread = threading.Thread(target=_hang_up, args=(taken,), daemon=True)
        thread.start()
        got = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, env=environment(filled))
    assert got.returncode == 1
    assert got.stdout == ""
    assert f"port {port} is taken" in got.stderr
    assert "--port" in got.stderr
    assert "Traceback" not in got.stderr


def _hang_up(taken: socket.socket) -> None:
    """Somebody else's server, which knows nothing of ours."""
    with contextlib.suppress(OSError):
        while True:
            connection, _ = taken.accept()
            connection.recv(1000)
            connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"proof":"aaa"}'[:-1])
            connection.close()


def test_a_second_view_of_the_same_archive_gives_a_new_code(filled: Archive, tmp_path: Path) -> None:
    with viewing(filled) as viewer:
        command = [*PYTHON, "--store", str(filled.layout.root), "view", MAIN, "--no-open", "--port", str(viewer.port)]
        got = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, env=environment(filled))
        assert got.returncode == 0, got.stderr
        assert "served already" in got.stderr
        address, code = read_invitation(*(lambda line=line: line.encode() for line in got.stdout.splitlines()))
        assert address == f"http://{viewer.host}/s/{MAIN}"
        assert viewer.ask("/api/overview", token=viewer.redeem(code))[0] == 200
        other = [*PYTHON, "--store", str(tmp_path / "elsewhere"), *command[5:6], "--no-open", "--no-watch"]
        got = subprocess.run(
            [*other, "--port", str(viewer.port)],
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            env=environment(filled),
        )
        assert (got.returncode, got.stdout) == (1, ""), "another archive is not the same viewer"


def test_it_keeps_the_archive_current_and_takes_its_watch_along(filled: Archive, home: Path) -> None:
    command = [*PYTHON, "--store", str(filled.layout.root), "view", "--no-open", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(filled))
    try:
        assert process.stdout
        viewer = Viewer(process).enter()
        longer = conversation()
        longer.exchange("while it is watched", "said")
        longer.write(home, "-proj-shop")
        until = time.monotonic() + PATIENCE_SECONDS
        while viewer.get(f"/api/session/{MAIN}", shapes.SessionAnswer).session.rounds != 7:
            assert time.monotonic() < until, "the append was not seen"
            time.sleep(0.2)
        watch = int(filled.layout.watching.read_text())
        assert viewer.end() == 0
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(PATIENCE_SECONDS)
        process.stdout.close()
    with pytest.raises(ProcessLookupError):
        os.kill(watch, 0)


def test_an_empty_place_is_served_too(archive: Archive) -> None:
    with viewing(archive) as viewer:
        assert viewer.ask("/")[0] == 200
        status, _, body = viewer.ask("/api/overview")
        assert (status, "muniment up" in json.loads(body)["hint"]) == (503, True)
        assert not (archive.layout.root / "data").exists()


def test_nothing_of_a_session_is_printed(own: Viewer, filled: Archive) -> None:
    for _, path in paths()[:12]:
        own.ask(path)
    own.end()
    assert CANARY not in (filled.layout.root.parent / "viewer.err").read_text()


# -- what is kept


def test_answers_of_an_earlier_state_are_not_kept(filled: Archive) -> None:
    """Nobody asks for them again: an archive that changes every second would fill the memory with them."""
    view = View(filled.layout.root, filled.env)
    scope = {"type": "http", "method": "GET", "path": "/api/sessions", "query_string": b"", "headers": []}
    request = Request(scope | {"server": ("127.0.0.1", 1), "scheme": "http"})

    async def ask() -> None:
        for _ in range(2):
            await view.answer(request, api.READING["/api/sessions"])

    for number in range(5):
        filled.summarise(MAIN, f"summary {number}")
        asyncio.run(ask())
        assert len(view.answers.known) == 1
        assert view.answers.size == sum(weight for _, weight in view.answers.known.values())
    view.pulse.close()


def test_what_is_kept_stays_below_its_budget_and_is_made_once() -> None:
    kept, made = Kept(1000), []

    def make(name: str) -> str:
        made.append(name)
        time.sleep(0.01)
        return name

    with ThreadPoolExecutor(20) as crowd:
        got = list(crowd.map(lambda _: kept.get("a", lambda: make("a"), lambda _: 100), range(100)))
    assert (got, made) == (["a"] * 100, ["a"])
    for number in range(100):
        kept.get(number, lambda: make("x"), lambda _: 100)
        assert kept.size <= 1000
    assert len(kept.known) == 10
    kept.get("too large", lambda: make("y"), lambda _: 900)
    assert "too large" not in kept.known
    for _ in range(2):
        kept._keep("twice", "z", 100)
    assert kept.size == sum(weight for _, weight in kept.known.values())
    with pytest.raises(ZeroDivisionError):
        kept.get("fails", lambda: 1 // 0, lambda _: 1)
    assert kept.get("fails", lambda: 3, lambda _: 1) == 3
    assert kept.making == {}
