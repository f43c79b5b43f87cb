"""Who is not let in: other names, other sites, other pages, no token, and no way around it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import socket
import stat
import threading
import time
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from muniment.archive import Archive
from muniment.errors import StoreError
from muniment.surfaces.web import keys, opening, passes, redirect, security
from muniment.surfaces.web.live import Live
from muniment.surfaces.web.passes import Pass, Passes
from muniment.surfaces.web.server import Taken, listen
from muniment.surfaces.web.view import View
from tests.web.served import CANARY, MAIN, PAGE, Viewer, paths, viewing

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE")


def foreign_hosts(port: int) -> list[str]:
    """Names that are not ours, among them many that look like it."""
    p = str(port)
    return [
        "evil.example",
        f"evil.example:{p}",
        "127.0.0.1",
        "localhost",
        "[::1]",
        f"127.0.0.1.evil.example:{p}",
        f"localhost.evil.example:{p}",
        f"evil.127.0.0.1:{p}",
        f"127.0.0.1.:{p}",
        f"localhost.:{p}",
        f"LOCALHOST:{p}",
        f"Localhost:{p}",
        f"localhost.localdomain:{p}",
        f"127.0.0.1:{port + 1}",
        f"127.0.0.1:0{p}",
        f"127.0.0.1:{p}0",
        "127.0.0.1:",
        "127.0.0.1:80",
        "localhost:443",
        f"127.0.0.1:+{p}",
        f"127.0.0.1:{p}.",
        f"127.0.0.1:{p}:80",
        f"user@127.0.0.1:{p}",
        f"user:pw@127.0.0.1:{p}",
        f"127.0.0.1:{p}@evil.example",
        f"evil.example#127.0.0.1:{p}",
        f"127.0.0.1:{p}#",
        f"127.0.0.1:{p}?",
        f"127.0.0.1:{p}/",
        f"http://127.0.0.1:{p}",
        f"//127.0.0.1:{p}",
        f"0.0.0.0:{p}",
        f"0:{p}",
        f"127.1:{p}",
        f"127.0.1:{p}",
        f"2130706433:{p}",
        f"0x7f000001:{p}",
        f"0x7f.0.0.1:{p}",
        f"017700000001:{p}",
        f"0177.0.0.1:{p}",
        f"127.0.0.2:{p}",
        f"127.000.000.001:{p}",
        f"[::]:{p}",
        f"[::ffff:127.0.0.1]:{p}",
        f"[0:0:0:0:0:0:0:1]:{p}",
        f"[::1%25lo]:{p}",
        f"::1:{p}",
        f"[127.0.0.1]:{p}",
        f"[::1]{p}",
        f"10.0.0.1:{p}",
        f"169.254.169.254:{p}",
        f"192.168.0.1:{p}",
        f"ip6-localhost:{p}",
        f"localtest.me:{p}",
        f"127-0-0-1.nip.io:{p}",
        f"127.0.0.1,evil.example:{p}",
        f"127.0.0.1:{p}, 127.0.0.1:{p}",
        f"127.0.0.1:{p} evil",
        f"127.0.0.1:{p};x",
        f"127.0.0.1%3a{p}",
        f"127.0.0.1 :{p}",
        f"127。0。0。1:{p}",
        f"ⓛocalhost:{p}",
        f"xn--localhost:{p}",
        "*",
        "null",
        "-",
        p,
        f":{p}",
    ]


def request(method: str, path: str, token: str, *headers: str, version: str = "1.1") -> bytes:
    shown = f"Authorization: Bearer {token}"
    return "\r\n".join([f"{method} {path} HTTP/{version}", *headers, shown, "Content-Length: 0", "", ""]).encode()


def leaked(answers: bytes) -> list[bytes]:
    """Statuses that say more than no, and whatever has the canary in it."""
    said = [line.split(b" ")[1] for line in answers.split(b"\r\n") if line.startswith(b"HTTP/1.")]
    loud = [status for status in said if status not in (b"421", b"400")]
    return [*loud, *([b"canary"] if CANARY.encode() in answers else [])]


def test_no_route_answers_under_another_name(viewer: Viewer) -> None:
    """All routes with all methods in one go: a refusal keeps the connection open."""
    hosts = foreign_hosts(viewer.port)
    assert len(set(hosts)) >= 60
    asked = [(method, path) for method in METHODS for _, path in paths()]
    for host in hosts:
        sent = b"".join(request(method, path, viewer.token, f"Host: {host}") for method, path in asked[:-1])
        sent += request(*asked[-1], viewer.token, f"Host: {host}", "Connection: close")
        got = viewer.raw(sent)
        assert got.startswith(b"HTTP/1.1 4"), host
        assert leaked(got) == [], host
        if b" 421 " in got:
            assert got.count(b"HTTP/1.1 421") == len(asked), host
            assert got.count(b"content-length: 0") == len(asked), host


def odd_requests(port: int, token: str, method: str, path: str) -> list[bytes]:
    """Ways of naming a server, or of not naming it, that are no single `Host` line."""
    good, evil, close = f"Host: 127.0.0.1:{port}", "Host: evil.example", "Connection: close"
    return [
        request(method, path, token, close),
        request(method, path, token, close, version="1.0"),
        request(method, path, token, evil, close, version="1.0"),
        request(method, path, token, good, evil, close),
        request(method, path, token, evil, good, close),
        request(method, path, token, good, good, close),
        request(method, path, token, "Host:", close),
        request(method, path, token, "Host", close),
        request(method, path, token, f"X-Forwarded-Host: 127.0.0.1:{port}", evil, close),
        request(method, path, token, f"Forwarded: host=127.0.0.1:{port}", evil, close),
        request(method, f"http://evil.example{path}", token, good, close),
        request(method, f"http://127.0.0.1:{port}{path}", token, evil, close),
        request(method, f"http://127.0.0.1:{port}{path}", token, good, close),
        request(method, f"evil.example{path}", token, good, close),
        request(method, "*", token, good, close),
        request(method, path.lstrip("/") or "x", token, good, close),
    ]


def test_no_route_answers_to_an_odd_name(viewer: Viewer) -> None:
    for method, path in [
        *paths()[:3],
        ("GET", "/api/live"),
        ("GET", "/"),
        ("OPTIONS", "/"),
        ("GET", f"/doc/{MAIN}.md"),
    ]:
        for sent in odd_requests(viewer.port, viewer.token, method, path):
            got = viewer.raw(sent, seconds=2)
            assert leaked(got) == [], sent
            assert got.startswith(b"HTTP/1."), sent


def test_our_own_names_are_answered(viewer: Viewer) -> None:
    """So that the refusals above are refusals of the name."""
    for host in security.hosts(viewer.port):
        got = viewer.raw(request("GET", "/api/overview", viewer.token, f"Host: {host}", "Connection: close"))
        assert got.startswith(b"HTTP/1.1 200"), host


# -- the token


def wrong_authorizations(token: str) -> list[str]:
    good = f"Authorization: Bearer {token}"
    return [
        "X: y",
        "Authorization:",
        "Authorization: Bearer",
        f"Authorization: {token}",
        f"Authorization: Basic {token}",
        f"Authorization: Bearer {token[:-1]}",
        f"Authorization: Bearer {token}0",
        f"Authorization: Bearer {token.swapcase()}",
        f"Authorization: Bearer {token[::-1]}",
        f"Authorization: Bearer {token},{token}",
        f"Authorization: Bearer %00{token}",
        f"Authorization: Bearer \xe9{token}",
        f"Authorization: Bearer {'a' * 5000}",
        f"Authorization: Bearer {hashlib.sha256(token.encode()).hexdigest()}",
        f"{good}\r\n{good}",
        f"{good}\r\nAuthorization: Bearer x",
        f"X-Authorization: Bearer {token}",
        f"Cookie: token={token}; muniment-token={token}; Authorization=Bearer {token}",
    ]


def test_every_route_but_the_page_needs_the_token(viewer: Viewer) -> None:
    for method, path in (pair for pair in paths() if pair[1] not in PAGE):
        for wrong in wrong_authorizations(viewer.token):
            lines = [
                f"{method} {path} HTTP/1.1",
                f"Host: {viewer.host}",
                wrong,
                "Content-Length: 0",
                "Connection: close",
            ]
            got = viewer.raw("\r\n".join([*lines, "", ""]).encode("latin-1"))
            assert got.startswith((b"HTTP/1.1 403", b"HTTP/1.1 400")), (path, wrong, got[:100])
            assert CANARY.encode() not in got


def test_a_token_in_the_address_is_none(viewer: Viewer) -> None:
    for name in ("token", "code", "authorization", "access_token"):
        assert viewer.ask(f"/api/overview?{name}={viewer.token}", token="")[0] == 403


def test_the_page_is_the_same_for_everybody(viewer: Viewer) -> None:
    for path in PAGE:
        stranger, own = viewer.ask(path, token=""), viewer.ask(path)
        assert (stranger[0], stranger[2]) == (own[0], own[2])
        assert CANARY.encode() not in stranger[2]


def test_what_nobody_made_a_page_of_is_not_open(viewer: Viewer) -> None:
    """A route that is added later needs the token unless the guard names it."""
    for path in (
        "/later",
        "/later/x.json",
        "/api/later",
        "/api/later.js",
        "/enter",
        "/code",
        "/s/x/y/z",
        "/assets/x/y.js",
    ):
        assert viewer.ask(path, token="")[0] == 403, path
        assert viewer.ask(path, "POST", b"", token="")[0] == 403, path


def test_a_person_without_the_token_is_told_where_to_sign_in(viewer: Viewer) -> None:
    status, headers, body = viewer.ask(f"/doc/{MAIN}.md", token="", Accept="text/html,*/*")
    assert (status, headers["content-type"]) == (403, "text/html; charset=utf-8")
    assert b"Sign in" in body
    status, _, body = viewer.ask(f"/doc/{MAIN}.md", token="")
    assert (status, "muniment view" in json.loads(body)["hint"]) == (403, True)


def enter(viewer: Viewer, code: str, session: str = "", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """A code as a form sends it."""
    body = urlencode({"code": code, "session": session}).encode()
    form = {"Content_Type": "application/x-www-form-urlencoded", "Accept": "text/html,*/*"}
    return viewer.ask("/enter", "POST", body, token="", **(form | headers))


def next_code(archive: Archive, viewer: Viewer) -> str:
    invitation = opening.ask_running(archive, viewer.port, None)
    assert invitation
    return invitation.code


def test_a_code_works_once(shown: Archive, viewer: Viewer) -> None:
    code = next_code(shown, viewer)
    status, headers, body = enter(viewer, code, MAIN)
    assert status == 200
    assert "set-cookie" not in headers
    assert "location" not in headers
    found = re.search(rb'data-token="([\w-]{43})" data-to="([^"]*)"', body)
    assert found
    assert found[2].decode() == f"/s/{MAIN}"
    assert viewer.ask("/api/overview", token=found[1].decode())[0] == 200
    assert enter(viewer, code)[0] == viewer.ask("/enter", "POST", f"code={code}".encode(), token="")[0] == 403
    assert b'data-to="/"' in enter(viewer, next_code(shown, viewer), "//evil.example")[2]
    assert b'data-to="/"' in enter(viewer, next_code(shown, viewer), '"><script>')[2]


def test_a_code_is_typed_as_people_type(shown: Archive, viewer: Viewer) -> None:
    for bend in (str.lower, lambda code: code.replace("-", " "), lambda code: f" {code.replace('-', '')}\n"):
        assert viewer.redeem(quote(bend(next_code(shown, viewer))))


def test_every_token_is_another(shown: Archive, viewer: Viewer) -> None:
    codes = [next_code(shown, viewer) for _ in range(20)]
    tokens = [viewer.redeem(code) for code in codes]
    assert len(set(codes)) == len(set(tokens)) == 20
    assert all(viewer.ask("/api/overview", token=token)[0] == 200 for token in tokens)


def test_a_form_may_come_from_a_file_and_from_no_other_site(shown: Archive, viewer: Viewer) -> None:
    away = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Origin": "null"}
    assert enter(viewer, next_code(shown, viewer), **away)[0] == 200
    code = next_code(shown, viewer)
    assert enter(viewer, code, **away | {"Origin": "http://evil.example"})[0] == 403
    assert enter(viewer, code, **away | {"Sec_Fetch_Mode": "no-cors"})[0] == 403
    assert enter(viewer, code, **away | {"Sec_Fetch_Mode": "cors"})[0] == 403
    assert enter(viewer, code)[0] == 200, "what was refused did not spend the code"


def test_wrong_codes_are_refused(shown: Archive, viewer: Viewer) -> None:
    code = next_code(shown, viewer)
    for wrong in ("", "x", "-", code[:-1], code + "0", code[::-1], "é", "\x00", "A" * 100_000):
        assert enter(viewer, wrong)[0] == 403, wrong
    assert viewer.ask(f"/enter?code={code}", token="")[0] == 403
    assert viewer.ask(f"/enter?code={code}", "POST", b"", token="")[0] == 403
    assert enter(viewer, code)[0] == 200


def test_a_code_grows_old_and_its_page_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Passes(tmp_path, 1)
    code, now = own.invite(), time.monotonic()
    page = redirect.write(tmp_path, 1, "http://127.0.0.1:1/enter", code, None)
    monkeypatch.setattr(passes.time, "monotonic", lambda: now + passes.CODE_SECONDS + 1)
    assert own.redeem(code) is None
    assert not page.exists()


def test_the_page_in_a_file_is_its_owners_alone_and_gone_when_it_was_used(tmp_path: Path) -> None:
    own = Passes(tmp_path / "state", 1)
    codes = [own.invite(), own.invite()]
    before = os.umask(0)
    try:
        pages = [redirect.write(tmp_path / "state", 1, "http://127.0.0.1:1/enter", code, MAIN) for code in codes]
    finally:
        os.umask(before)
    assert {stat.S_IMODE(page.stat().st_mode) for page in pages} == {0o600}
    assert stat.S_IMODE(pages[0].parent.stat().st_mode) == 0o700
    assert not any(sign in page.name for page, code in zip(pages, codes, strict=True) for sign in code.split("-"))
    assert own.redeem(codes[0])
    assert [page.exists() for page in pages] == [False, True]
    own.close()
    assert list((tmp_path / "state").iterdir()) == []
    left = redirect.write(tmp_path / "state", 1, "http://127.0.0.1:1/enter", codes[1], None)
    Passes(tmp_path / "state", 1)
    assert not left.exists(), "a viewer that was killed left it"


def test_signing_out_revokes_one_token_and_ends_its_line(shown: Archive, viewer: Viewer) -> None:
    token, other = viewer.redeem(next_code(shown, viewer)), viewer.redeem(next_code(shown, viewer))
    leave = {"Content_Type": "application/json", "X_Muniment": "edit", "Origin": f"http://{viewer.host}"}
    assert viewer.ask("/leave", "POST", b"{}", token=token)[0] == 403, "not sent by the page"
    assert viewer.ask("/leave", "POST", b"{}", token=token, **leave)[0] == 200
    assert viewer.ask("/api/overview", token=token)[0] == 403
    assert viewer.ask("/leave", "POST", b"{}", token=token, **leave)[0] == 403
    assert viewer.ask("/api/overview", token=other)[0] == 200


def test_a_line_of_news_ends_with_its_token(tmp_path: Path) -> None:
    """At the next news at the latest."""

    async def hear() -> list[bytes]:
        live, own = Live(View(tmp_path, {})), Pass()
        told = live._told(own)
        heard = [await anext(told)]
        own.revoked = True
        live._tell(b"secret")
        return [*heard, *[said async for said in told]]

    assert [said.partition(b"\n")[0] for said in asyncio.run(hear())] == [b"event: state"]


def test_nothing_from_before_a_start_is_good_after_it(filled: Archive) -> None:
    with viewing(filled) as viewer:
        token, code, port = viewer.token, next_code(filled, viewer), viewer.port
        key = keys.load(filled.env, port, filled.layout.root)
        assert key
    assert list(keys.home(filled.env).iterdir()) == [], "nothing is left of it"
    with viewing(filled, "--port", str(port)) as again:
        assert again.ask("/api/overview", token=token)[0] == 403
        assert again.redeem(code) == ""
        proof = f"{'ab' * 8}.{key.prove('ask', 'ab' * 8)}"
        assert again.ask("/code", "POST", b"", token=proof)[0] == 403
        assert again.ask("/api/overview")[0] == 200


def test_the_key_is_its_owners_alone(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    assert keys.load(env, 1, tmp_path) is None
    before = os.umask(0)
    try:
        with keys.publish(env, 1, tmp_path) as own:
            path = keys.locate(env, 1)
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            other = keys.load(env, 1, tmp_path)
            assert other
            assert other.accepts("ask", "x", own.prove("ask", "x"))
            assert not other.accepts("answer", "x", own.prove("ask", "x"))
            path.chmod(0o640)
            with pytest.raises(StoreError):
                keys.load(env, 1, tmp_path)
    finally:
        os.umask(before)
    assert list(path.parent.iterdir()) == []


def test_codes_are_given_to_who_has_the_key_alone(shown: Archive, viewer: Viewer, tmp_path: Path) -> None:
    own = keys.load(shown.env, viewer.port, shown.layout.root)
    assert own
    nonce = "ab" * 16
    good = own.prove("ask", nonce)
    other_store = keys.load(shown.env, viewer.port, tmp_path)
    assert other_store
    wrong = [other_store.prove("ask", nonce), own.prove("answer", nonce), own.prove("ask", ""), good[:-1], "", "é"]
    for proof in [*(f"{nonce}.{one}" for one in wrong), "", ".", good, f".{own.prove('ask', '')}", viewer.token]:
        assert viewer.ask("/code", "POST", b"", token=quote(proof))[0] == 403, proof
    status, _, body = viewer.ask("/code", "POST", b"", token=f"{nonce}.{good}")
    assert (status, set(json.loads(body))) == (200, {"code", "proof"})


def test_a_stranger_at_the_port_of_a_dead_viewer_is_not_believed(filled: Archive) -> None:
    """It gets a proof for a key that is worth nothing, and nothing is opened there."""
    with socket.create_server(("127.0.0.1", 0)) as taken, keys.publish(filled.env, 1, filled.layout.root):
        port = taken.getsockname()[1]
        keys.locate(filled.env, 1).rename(keys.locate(filled.env, port))
        answer = b'HTTP/1.1 200 OK\r\nContent-Length: 34\r\n\r\n{"code":"0000-0000","proof":"abcd"}'
        thread = threading.Thread(target=lambda: _answer_once(taken, answer), daemon=True)
        thread.start()
        assert opening.ask_running(filled, port, None) is None
        thread.join()


def _answer_once(taken: socket.socket, answer: bytes) -> None:
    connection, _ = taken.accept()
    connection.recv(1000)
    connection.sendall(answer)
    connection.close()


# -- other sites

ORIGINS = (
    "null",
    "http://evil.example",
    "https://127.0.0.1:{port}",
    "http://127.0.0.1",
    "http://127.0.0.1:{other}",
    "http://localhost:{port}",
    "http://127.0.0.1:{port}.evil.example",
    "HTTP://127.0.0.1:{port}",
    "http://127.0.0.1:{port}/",
    "file://",
    "chrome-extension://abc",
    "",
)


def test_other_sites_get_nothing_even_with_the_token(viewer: Viewer) -> None:
    for method, path in paths():
        foreign = [{"Origin": origin.format(port=viewer.port, other=viewer.port + 1)} for origin in ORIGINS]
        foreign += [{"Sec_Fetch_Site": site} for site in ("cross-site", "same-site", "other", "")]
        foreign += [{"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}]
        for headers in foreign:
            status, got, body = viewer.ask(path, method, b"{}" if method == "POST" else None, **headers)
            assert (status, body) == (403, b""), (path, headers)
            assert not any(name.startswith("access-control") for name in got)


def test_the_page_itself_is_answered(viewer: Viewer) -> None:
    for headers in ({"Sec_Fetch_Site": "same-origin"}, {"Sec_Fetch_Site": "none"}, {"Origin": f"http://{viewer.host}"}):
        assert viewer.ask("/api/overview", **headers)[0] == 200


def test_every_answer_tells_the_browser_what_it_may_do(viewer: Viewer) -> None:
    asked = [*paths(), ("GET", "/nowhere.txt"), ("PUT", "/"), ("POST", "/enter"), ("POST", "/code")]
    for method, path in (pair for pair in asked if pair[1] != "/api/live"):
        for token in (None, ""):
            _, headers, _ = viewer.ask(path, method, token=token)
            policy = headers["content-security-policy"]
            assert policy == security.POLICY or policy.startswith("sandbox"), path
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cross-origin-resource-policy"] == "same-origin"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["x-frame-options"] == "DENY"
            assert "server" not in headers
            assert not any(name.startswith("access-control") for name in headers)


def test_the_policy_allows_nothing_from_elsewhere() -> None:
    rules = dict(rule.strip().partition(" ")[::2] for rule in security.POLICY.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["frame-ancestors"] == rules["form-action"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert "unsafe" not in security.POLICY
    assert "http" not in security.POLICY


# -- other methods


def test_only_reading_and_edits_are_answered(viewer: Viewer) -> None:
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND"):
        assert viewer.ask("/api/overview", method)[0] == 405
    assert viewer.post("/api/overview", {})[0] == 405
    assert viewer.ask(f"/api/session/{MAIN}/summary")[0] == 404
    status, headers, body = viewer.ask("/api/overview", "HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["content-length"]) > 0


def test_it_listens_to_this_machine_only(viewer: Viewer) -> None:
    listening = Path("/proc/net/tcp")
    if not listening.exists():
        pytest.skip("no /proc/net/tcp here")
    rows = [line.split() for line in listening.read_text().splitlines()[1:]]
    own = {row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{viewer.port:04X}")}
    assert own == {f"0100007F:{viewer.port:04X}"}


def test_nobody_else_can_be_at_a_name_of_ours() -> None:
    """Browsers try `::1` first for `localhost`: a server of another user there would be taken for the viewer."""
    try:
        other = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 here")
    with other, pytest.raises(Taken):
        listen(other.getsockname()[1])
    first, second = listen(0)
    with first, second:
        assert second.getsockname()[:2] == ("::1", first.getsockname()[1])
