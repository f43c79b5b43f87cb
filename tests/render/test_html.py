"""`muniment html`: one page that needs nothing else, tells everything, and overwrites nothing of others."""

from __future__ import annotations

import difflib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.archive import Archive
from muniment.errors import Conflict, NotFound
from muniment.render import html, known, page, pictures, site
from muniment.render.html import Request, Written
from muniment.render.known import Known
from tests.builder import ClaudeSession, conversation, text, tool

from . import hostile, sample
from .markup import MARKDOWN, Reader, read

GOLDEN = Path(__file__).with_name("golden") / "session.html"
_BARE = ("head", "body", "title", "style", "script", "dt", "dd", "del", "ins", "b", "h1", "h2", "h4", "small", "footer")
_CLASSED = ("p", "pre", "dl", "ul", "summary", "header", "main", "figure", "h3", "article")
PAGE_TAGS = {
    **MARKDOWN,
    **{tag: set[str]() for tag in _BARE},
    **{tag: {"class"} for tag in _CLASSED},
    "html": {"lang"},
    "meta": {"charset", "http-equiv", "content", "name"},
    "a": {"class", "href", "title", "rel"},
    "details": {"class", "open"},
    "section": {"class", "id"},
    "div": {"class", "id", "role", "aria-label", "hidden"},
    "nav": {"aria-label"},
    "time": {"title"},
    "span": {"class", "title"},
    "li": {"class", "value"},
    "img": {"alt", "loading", "src"},
    "input": {"type", "placeholder", "aria-label"},
    "output": {"aria-live"},
    "button": {"type", "class", "data-filter", "data-do", "aria-pressed", "aria-label"},
}


@pytest.fixture
def kettle(archive: Archive, home: Path) -> Known:
    sample.archived(archive, home)
    return known.find(archive.layout, archive.session("last"))


def made(session: Known, **options: object) -> str:
    out = io.BytesIO()
    html.write_to(session, out, Request(**options))  # pyright: ignore
    return out.getvalue().decode()


def shown(session: Known, **options: object) -> str:
    """The words of the page."""
    return " ".join(" ".join(read(made(session, **options)).text).split())


def assert_page(page_: str) -> Reader:
    """Only the tags and attributes of our pages; addresses that lead nowhere by themselves; one style, one script."""
    reader = read(page_)
    for tag, attributes in reader.found:
        assert tag in PAGE_TAGS, tag
        assert attributes.keys() <= PAGE_TAGS[tag], (tag, attributes)
        assert (attributes.get("src") or "data:image/").startswith("data:image/")
        link = attributes.get("href") or "#"
        assert re.match(r"#|https?://|mailto:|sessions/[0-9a-f-]{36}\.html", link, re.IGNORECASE), link
    assert [tag for tag, _ in reader.found].count("script") == 1
    assert [tag for tag, _ in reader.found].count("style") == 1
    return reader


# -- what the page is


def test_the_page_of_a_small_session(kettle: Known) -> None:
    """`make golden` writes it anew; read the diff. Style and script are files of their own."""
    found = made(kettle).replace(page.asset("page.css"), "…").replace(page.asset("page.js"), "…")
    found = re.sub(r"sha256-[\w+/=]+", "sha256-…", re.sub(r"(a page of muniment) \w+", r"\1 …", found))
    if os.environ.get("MUNIMENT_GOLDEN") == "write":
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(found, encoding="utf-8")
    expected = GOLDEN.read_text(encoding="utf-8")
    diff = difflib.unified_diff(expected.split("\n"), found.split("\n"), "expected", "found", lineterm="", n=1)
    assert found == expected, "\n".join(diff)


def test_the_page_tells_everything(kettle: Known) -> None:
    words = shown(kettle)
    for said in (
        "Make the kettle whistle at 98 degrees",
        "The threshold is in kettle.py .",
        "$ grep -n limit kettle.py",
        "3:limit = 100",
        "- limit = 100",
        "+ limit = 98",
        "▸ Change it",
        "1 failed",
        "Steam <b>rises</b>.",
        "Steam, of course.",
        "Reed (plumber)",
        "/proj/kettle",
        "claude-x",
        "no new parts",
        "repair the test",
        "The limit is 98; one test fails.",
        "in-progress",
    ):
        assert said in words, said


def test_the_page_is_whole_and_only_of_our_making(kettle: Known) -> None:
    assert_page(made(kettle))


def test_the_page_is_the_same_every_time(kettle: Known) -> None:
    assert made(kettle) == made(kettle)


def test_the_policy_names_the_very_style_and_script(kettle: Known) -> None:
    import base64
    import hashlib

    text_ = made(kettle)
    policy = re.search(r'Security-Policy" content="([^"]+)"', text_)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        inner = re.search(rf"<{tag}>(.*?)</{tag}>", text_, re.DOTALL)
        assert inner is not None
        digest = base64.b64encode(hashlib.sha256(inner[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]


@pytest.mark.parametrize("payload", hostile.PAYLOADS[::11])
def test_a_hostile_session_stays_words(tmp_path: Path, payload: str) -> None:
    session = hostile.known(tmp_path, (payload,))
    assert_page(made(session, redact=False))
    assert_page(site.index([session], Request(redact=False)).decode())


# -- colours


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def themes() -> Iterator[dict[str, str]]:
    for block in re.findall(r"color-scheme: (?:light|dark);(.*?)}", page.asset("page.css"), re.DOTALL):
        yield dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})", block))


def test_every_colour_of_text_can_be_read_on_its_ground() -> None:
    """WCAG AA: 4.5 to 1."""
    found = list(themes())
    assert len(found) == 3
    assert found[1] == found[2], "chosen dark and the system's dark are one"
    for theme in found:
        tinted = [name for name in theme if name.endswith("-bg") and name != "--bg"]
        tints = ["--bg", "--panel", *tinted]
        pairs = [(ink, ground) for ink in ("--text", "--muted", "--link", "--bad") for ground in tints]
        pairs += [(name.removesuffix("-bg"), name) for name in tinted]
        pairs += [(name, "--bg") for name in theme if name.startswith("--m-")]
        pairs += [("--add-text", "--add"), ("--del-text", "--del"), ("--hit-text", "--hit")]
        pairs += [("--shell-text", "--shell"), ("--shell-sign", "--shell")]
        low = [(a, b, round(contrast(theme[a], theme[b]), 2)) for a, b in pairs if contrast(theme[a], theme[b]) < 4.5]
        assert low == []


# -- choosing


def test_rounds_can_be_chosen(kettle: Known) -> None:
    words = shown(kettle, first=2, last=2)
    assert "Steam, of course." in words
    assert "3:limit = 100" not in words
    assert "Make the kettle whistle" not in words.split("Round 2")[0].replace(kettle.facts.display_title, "")


def test_an_engagement_can_be_chosen(kettle: Known) -> None:
    words = shown(kettle, engagement=kettle.engagements[0].engagement_id)
    assert "3:limit = 100" in words
    assert "Steam" not in words


@pytest.mark.parametrize("options", [{"first": 7}, {"engagement": "nothing"}, {"first": 2, "last": 1}])
def test_rounds_that_are_not_there_are_an_error(kettle: Known, options: dict[str, object]) -> None:
    with pytest.raises(NotFound):
        made(kettle, **options)


def test_a_title_can_be_given(kettle: Known) -> None:
    assert "<h1>A &amp; B</h1>" in made(kettle, title="A & B")


def test_long_outputs_are_clipped_with_a_word_unless_all_is_asked_for(archive: Archive, home: Path) -> None:
    session = ClaudeSession(sample.session_id("long"), "/proj/long")
    session.user("go")
    session.answer(tool("t1", "Bash", {"command": "seq"}))
    session.result("t1", "\n".join(f"line {n}" for n in range(5_000)))
    session.write(home)
    archive.inscribe()
    found = known.find(archive.layout, archive.session("last"))
    assert "characters not shown" in shown(found)
    assert "line 2500" not in shown(found)
    whole = shown(found, full=True)
    assert "line 2500" in whole
    assert "characters not shown" not in whole


# -- secrets


TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"[:36]


def secretive(archive: Archive, home: Path) -> Known:
    session = ClaudeSession(sample.session_id("secret"), "/proj/s")
    session.user(f"use {TOKEN} please")
    session.answer(text(f"I use {TOKEN}."), tool("t1", "Bash", {"command": f"curl -H 'Authorization: token {TOKEN}'"}))
    session.result("t1", f"{'x ' * 5000}{TOKEN}{' y' * 5000}")
    session.write(home)
    archive.inscribe()
    return known.find(archive.layout, archive.session("last"))


def test_secrets_are_taken_out_and_counted(archive: Archive, home: Path) -> None:
    found = secretive(archive, home)
    page_ = made(found)
    assert "One secret was redacted." in page_
    assert [n for n in range(4, 33) if TOKEN[n : n + 8] in page_] == []
    assert "[redacted:" in page_


def test_a_page_with_a_password_in_an_input_does_not_say_that_it_has_none(archive: Archive, home: Path) -> None:
    session = ClaudeSession(sample.session_id("named"), "/proj/named")
    session.user("deploy it")
    password = "kR7" + "vq2LmX9tZp4W"
    given_ = {"password": password, "options": {"db_password": password[::-1]}}
    session.answer(tool("t1", "Deploy", given_))
    session.write(home)
    archive.inscribe()
    page_ = made(known.find(archive.layout, archive.session("last")))
    assert password not in page_
    assert password[::-1] not in page_
    assert "No secrets were found" not in page_
    assert "2 different secrets were redacted." in page_


def test_a_secret_that_a_title_cut_in_two_is_not_told(archive: Archive, home: Path) -> None:
    session = ClaudeSession(sample.session_id("cut"), "/proj/cut")
    session.user(f"{'word ' * 36} {TOKEN} and more")
    session.write(home)
    archive.inscribe()
    found = known.find(archive.layout, archive.session("last"))
    assert found.facts.display_title.endswith(f"{TOKEN[:19]}…")
    for page_ in (made(found), site.index([found], Request()).decode(), made(found, first=1)):
        assert TOKEN[:10] not in page_


def test_secrets_stay_if_asked_for_and_the_page_warns(archive: Archive, home: Path) -> None:
    page_ = made(secretive(archive, home), redact=False)
    assert TOKEN in page_
    assert "Secrets were not redacted" in page_


# -- pictures


def test_only_real_images_are_embedded(tmp_path: Path) -> None:
    files = {"a.png": sample.png(), "b.png": b"<svg onload=alert(1)>", "c.svg": b"<svg/>", "d.png": b"MZ"}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "e.png").symlink_to(tmp_path / "a.png")
    shown_ = {name: "<img" in pictures.picture(tmp_path, name) for name in (*files, "e.png", "f.png", "../a.png")}
    assert [name for name, embedded in shown_.items() if embedded] == ["a.png"]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b"\0\0\0\x20ftypavif", "image/avif"),
        (b"<svg>", None),
        (b"", None),
    ],
)
def test_images_are_told_by_their_first_bytes(data: bytes, kind: str | None) -> None:
    assert pictures.image_type(data) == kind


# -- files


def test_a_page_is_replaced_but_no_file_of_others(kettle: Known, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    html.write(kettle, path, Request())
    html.write(kettle, path, Request(title="again"))
    assert "again" in path.read_text()
    path.write_text("<!doctype html> mine")
    with pytest.raises(Conflict):
        html.write(kettle, path, Request())
    assert path.read_text() == "<!doctype html> mine"
    html.write(kettle, path, Request(force=True))
    assert html.is_ours(path)


def test_a_link_is_not_followed_to_a_file_of_others(kettle: Known, tmp_path: Path) -> None:
    target = tmp_path / "target.html"
    html.write(kettle, target, Request())
    (tmp_path / "link.html").symlink_to(target)
    with pytest.raises(Conflict):
        html.write(kettle, tmp_path / "link.html", Request())


def test_a_page_is_private_and_leaves_nothing_beside_it(kettle: Known, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    html.write(kettle, folder / "page.html", Request())
    assert [path.name for path in folder.iterdir()] == ["page.html"]
    assert (folder / "page.html").stat().st_mode & 0o077 == 0


def test_the_default_name_is_harmless(tmp_path: Path) -> None:
    name = html.default_name(hostile.known(tmp_path, ("../../etc/<x>",)))
    assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*\.html", name)


# -- the site


def test_a_site_has_an_index_and_is_written_once(archive: Archive, home: Path, tmp_path: Path) -> None:
    sample.archived(archive, home)
    other = conversation(4, cwd="/proj/other")
    other.write(home)
    archive.inscribe()
    first: list[Written] = []
    done = site.write(archive.layout, tmp_path / "site", Request(), first.append)
    assert (done.pages, done.written, len(first)) == (2, 2, 2)
    index = assert_page((tmp_path / "site" / "index.html").read_text())
    assert "Make the kettle whistle at 98 degrees" in "".join(index.text)
    for link in {attributes["href"] for tag, attributes in index.found if tag == "a"}:
        assert (tmp_path / "site" / str(link).split("#")[0]).exists()
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "site").rglob("*.html")}
    assert site.write(archive.layout, tmp_path / "site", Request(), first.append).written == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "site").rglob("*.html")} == times
    other.exchange("more", "done")
    other.write(home)
    archive.inscribe()
    assert site.write(archive.layout, tmp_path / "site", Request(), first.append).written == 1
    assert other.id in first[-1].path
    archive.forget(other.id)
    (tmp_path / "site" / "sessions" / "notes.html").write_text("mine")
    site.write(archive.layout, tmp_path / "site", Request(), first.append)
    left = [path.stem for path in (tmp_path / "site" / "sessions").iterdir()]
    assert sorted(left) == sorted([sample.session_id(sample.NAME), "notes"])


def test_a_site_does_not_replace_an_index_of_others(archive: Archive, home: Path, tmp_path: Path) -> None:
    sample.archived(archive, home)
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(Conflict):
        site.write(archive.layout, tmp_path, Request(), lambda _: None)
    assert [path.name for path in tmp_path.iterdir() if path.name == "sessions"] == []


# -- the command


def run(store: Path, folder: Path, *args: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "muniment.surfaces.cli.main", "--store", str(store), "html", *args]
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=60)


def test_the_command_writes_a_page(archive: Archive, home: Path, tmp_path: Path) -> None:
    sample.archived(archive, home)
    store, folder = archive.layout.root, tmp_path / "here"
    folder.mkdir()
    done = run(store, folder, "last")
    name = f"2026-03-19-{sample.session_id(sample.NAME)[:8]}.html"
    assert (done.returncode, done.stdout.decode()) == (0, f"{name}\n")
    assert html.is_ours(folder / name)
    piped = run(store, folder, "last", "-o", "-", "--rounds", "1")
    assert piped.stdout.startswith(page.MARK.encode())
    assert piped.stderr == b""
    told = json.loads(run(store, folder, "last", "-o", "x.html", "--json").stdout)
    assert told["bytes"] == (folder / "x.html").stat().st_size
    both = run(store, folder, "last", "-o", "-", "--json")
    assert (both.returncode, both.stdout) == (2, b"")
    assert b"write the page to a file: -o FILE" in both.stderr
    (folder / "mine.html").write_text("mine")
    assert run(store, folder, "last", "-o", "mine.html").returncode == 6
    assert run(store, folder, "last", "--rounds", "9").returncode == 3
    assert run(store, folder).returncode == 2
    assert run(store, folder, "--all").returncode == 2
    assert run(store, folder, "--all", "-o", "site").returncode == 0
    assert sorted(path.name for path in (folder / "site").iterdir()) == ["index.html", "sessions"]
