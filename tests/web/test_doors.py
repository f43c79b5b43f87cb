"""Who is not let in: other names, other sites, other pages, no cookie, and no way around it."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from muniment.archive import Archive
from muniment.errors import StoreError
from muniment.surfaces.web import keys, security
from muniment.surfaces.web.keys import Keys
from tests.web.served import CANARY, MAIN, Viewer, paths, viewing

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


def request(method: str, path: str, cookie: str, *headers: str, version: str = "1.1") -> bytes:
    lines = [f"{method} {path} HTTP/{version}", *headers, f"Cookie: {cookie}", "Content-Length: 0", "", ""]
    return "\r\n".join(lines).encode()


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
        sent = b"".join(request(method, path, viewer.cookie, f"Host: {host}") for method, path in asked[:-1])
        sent += request(*asked[-1], viewer.cookie, f"Host: {host}", "Connection: close")
        got = viewer.raw(sent)
        assert got.startswith(b"HTTP/1.1 4"), host
        assert leaked(got) == [], host
        if b" 421 " in got:
            assert got.count(b"HTTP/1.1 421") == len(asked), host
            assert got.count(b"content-length: 0") == len(asked), host


def odd_requests(port: int, cookie: str, method: str, path: str) -> list[bytes]:
    """Ways of naming a server, or of not naming it, that are no single `Host` line."""
    good, evil, close = f"Host: 127.0.0.1:{port}", "Host: evil.example", "Connection: close"
    return [
        request(method, path, cookie, close),
        request(method, path, cookie, close, version="1.0"),
        request(method, path, cookie, evil, close, version="1.0"),
        request(method, path, cookie, good, evil, close),
        request(method, path, cookie, evil, good, close),
        request(method, path, cookie, good, good, close),
        request(method, path, cookie, "Host:", close),
        request(method, path, cookie, "Host", close),
        request(method, path, cookie, f"X-Forwarded-Host: 127.0.0.1:{port}", evil, close),
        request(method, path, cookie, f"Forwarded: host=127.0.0.1:{port}", evil, close),
        request(method, f"http://evil.example{path}", cookie, good, close),
        request(method, f"http://127.0.0.1:{port}{path}", cookie, evil, close),
        request(method, f"http://127.0.0.1:{port}{path}", cookie, good, close),
        request(method, f"evil.example{path}", cookie, good, close),
        request(method, "*", cookie, good, close),
        request(method, path.lstrip("/") or "x", cookie, good, close),
    ]


def test_no_route_answers_to_an_odd_name(viewer: Viewer) -> None:
    for method, path in [
        *paths()[:3],
        ("GET", "/api/live"),
        ("GET", "/"),
        ("OPTIONS", "/"),
        ("GET", f"/doc/{MAIN}.md"),
    ]:
        for sent in odd_requests(viewer.port, viewer.cookie, method, path):
            got = viewer.raw(sent, seconds=2)
            assert leaked(got) == [], sent
            assert got.startswith(b"HTTP/1."), sent


def test_our_own_names_are_answered(viewer: Viewer) -> None:
    """So that the refusals above are refusals of the name."""
    for host in security.hosts(viewer.port):
        got = viewer.raw(request("GET", "/api/overview", viewer.cookie, f"Host: {host}", "Connection: close"))
        assert got.startswith(b"HTTP/1.1 200"), host


# -- the cookie


def wrong_cookies(viewer: Viewer) -> list[str]:
    name, _, value = viewer.cookie.partition("=")
    return [
        "",
        name,
        f"{name}=",
        f"{name}={value[:-1]}",
        f"{name}={value}0",
        f"{name}={value.upper()}",
        f"{name}={value[::-1]}",
        f"{name}x={value}",
        f"x{name}={value}",
        f"muniment_1={value}",
        f"{name.upper()}={value}",
        f"{name}=%00{value}",
        f"{name}=é{value}",
        f"x={value}; y={name}",
        "=" * 100,
        ";" * 1000,
        f"{name}={'a' * 5000}",
    ]


def test_every_route_needs_the_cookie(viewer: Viewer) -> None:
    for method, path in paths():
        for cookie in wrong_cookies(viewer):
            host = f"Host: {viewer.host}"
            got = viewer.raw(request(method, path, cookie, host, "Connection: close").replace("é".encode(), b"\xe9"))
            assert got.startswith((b"HTTP/1.1 403", b"HTTP/1.1 400")), (path, cookie, got[:100])
            assert CANARY.encode() not in got


def test_a_person_without_the_cookie_is_told_where_to_get_it(viewer: Viewer) -> None:
    status, headers, body = viewer.ask("/", cookie="", Accept="text/html,*/*")
    assert (status, headers["content-type"]) == (403, "text/html; charset=utf-8")
    assert b"muniment view" in body


def test_the_link_works_once_and_leaves_no_token_in_the_address(shown: Archive) -> None:
    with viewing(shown) as viewer:
        status, _, body = viewer.ask(viewer.link.partition(str(viewer.port))[2], cookie="")
        assert (status, CANARY.encode() in body) == (403, False)
        own = Keys(keys.load(shown.env), viewer.port, shown.layout.root)
        status, headers, _ = viewer.ask(f"/enter?token={own.mint()}&session={MAIN}", cookie="")
        assert (status, headers["location"]) == (303, f"/s/{MAIN}")
        status, headers, _ = viewer.ask(f"/enter?token={own.mint()}&session=//evil.example", cookie="")
        assert (status, headers["location"]) == (303, "/")
        flags = {part.strip().lower() for part in headers["set-cookie"].split(";")}
        assert {"httponly", "samesite=strict", "path=/"} <= flags
        assert not any(part.startswith("domain") for part in flags)


def test_a_link_that_is_followed_from_elsewhere_begins_anew_here(shown: Archive, viewer: Viewer) -> None:
    """A strict cookie is not sent along with a redirect of a foreign page."""
    own = Keys(keys.load(shown.env), viewer.port, shown.layout.root)
    away = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    status, headers, body = viewer.ask(f"/enter?token={own.mint()}", cookie="", **away)
    assert status == 200
    assert b'http-equiv="refresh" content="0;url=/"' in body
    assert "set-cookie" in headers
    away["Sec_Fetch_Mode"] = "no-cors"
    assert viewer.ask(f"/enter?token={own.mint()}", cookie="", **away)[0] == 403


def test_wrong_tokens_are_refused(shown: Archive, viewer: Viewer) -> None:
    own = Keys(keys.load(shown.env), viewer.port, shown.layout.root)
    token = own.mint()
    other = Keys(keys.load(shown.env), viewer.port + 1, shown.layout.root).mint()
    late, nonce, _ = token.split(".")
    later = f"{int(late, 16) + 99999:x}.{nonce}.{token.split('.')[2]}"
    for wrong in ("", "x", "..", token[:-1], token + "0", token.upper(), other, later, "zz.1.2", "%C3%A9.1.2"):
        assert viewer.ask(f"/enter?token={wrong}", cookie="")[0] == 403, wrong
    assert own.redeem(token)


def test_a_token_grows_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Keys(b"k" * 32, 1, tmp_path)
    token, now = own.mint(), time.time()
    monkeypatch.setattr(keys.time, "time", lambda: now + keys.TOKEN_SECONDS + 1)
    assert not own.redeem(token)


def test_the_key_is_its_owners_alone(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    before = os.umask(0)
    try:
        key = keys.load(env)
    finally:
        os.umask(before)
    path = keys.home(env) / "view.key"
    assert keys.load(env) == key
    assert len(key) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["view.key"]
    path.chmod(0o640)
    with pytest.raises(StoreError):
        keys.load(env)


def test_it_proves_who_it_is_and_says_nothing_more(shown: Archive, viewer: Viewer) -> None:
    own = Keys(keys.load(shown.env), viewer.port, shown.layout.root)
    status, _, body = viewer.ask(f"/who?nonce={'ab' * 16}", cookie="")
    assert (status, body) == (200, b'{"proof":"%s"}' % own.proof("ab" * 16).encode())
    for wrong in ("", "x", "A" * 32, "a" * 200):
        assert viewer.ask(f"/who?nonce={wrong}", cookie="")[0] == 400


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


def test_other_sites_get_nothing_even_with_the_cookie(viewer: Viewer) -> None:
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
    asked = [*paths(), ("GET", "/nowhere.txt"), ("PUT", "/"), ("GET", "/enter"), ("GET", "/who")]
    for method, path in (pair for pair in asked if pair[1] != "/api/live"):
        for cookie in (None, ""):
            _, headers, _ = viewer.ask(path, method, cookie=cookie)
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
