"""How quick the viewer is in a real Chromium, beside agentsview's page.

The tree holds so many sessions that every one of them matters little: the small ones of the corpus, grown, with the
large ones as they are and one of 70 MB. Both servers run on loopback, one after the other, with everything taken in
before; what a page wants from elsewhere (a font) is refused, so that nobody waits for the network. Times are taken by
the page's own clock, from the navigation, the click or the last key until two frames after what was wanted is there.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import sync_playwright
from tests.browser import executable

from muniment.archive import Archive

from .compare import told
from .contenders import Agentsview, Home, NotInstalled, rival
from .process import end_session, high_water_bytes, members
from .searching import draw
from .tables import figure, table
from .trees import Corpus, Tree, described, discard, fresh, has_uuid, is_session, lay_out, warm

SESSIONS = 10_000
FEWER_SESSIONS = 1_000
"""A second tree: with ten thousand, the list of agentsview 0.46.1 never comes (its server gives up after 30 s)."""
SMALL_BYTES = 40_000
FIRST_VIEWS = 5
OPENED = 20
WORDS = 20
SCROLL_SECONDS = 3
KEY_SECONDS = 0.06
"""Between keys: somebody who types well."""
SIZE = {"width": 1440, "height": 900}
WAIT_MS = 60_000
REST_MS = 1_000
SEED = 20260319
NOTHING_ELSE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
"""No other machine is found. Stopping every request to ask where it leads would slow down the page."""


@dataclass(frozen=True)
class Page:
    """Where on a page its parts are."""

    name: str
    first: tuple[str, ...]
    """All of these are there when the first view is complete."""
    row: str
    session: str
    """The address of a session, after the origin."""
    block: str
    """What an opened session shows."""
    search: str
    """The key that leads to the search."""
    found: str


OURS = Page(
    "muniment", ("a.row", ".timeline canvas"), "a.row", "/s/{}", "main.session article:not(:has(.wait))", "/", "a.hit"
)
THEIRS = Page(
    "agentsview",
    (".session-item", ".card-value"),
    ".session-item",
    "/sessions/{}",
    ".message .message-body",
    "Control+k",
    ".palette-item",
)


@dataclass
class Seen:
    """What was measured of one page. Milliseconds, frames in a second, bytes."""

    name: str
    first_view: list[float] = field(default_factory=list)
    by_address: dict[str, float] = field(default_factory=dict)
    """Opening a session in a new page, by its id."""
    in_page: dict[str, float] = field(default_factory=dict)
    """Opening it from the list; only of our page."""
    search: list[float] = field(default_factory=list)
    list_fps: float = 0
    session_fps: float = 0
    timeline_fps: float = 0
    """Zooming in and out; only of our page."""
    server_bytes: int = 0
    outside: int = 0
    """Requests to anywhere else."""
    failures: list[str] = field(default_factory=list)
    """What never came, so that there is no figure for it."""


@dataclass(frozen=True)
class Viewing:
    tree: Tree
    pages: list[Seen]
    missing: list[str]


# -- what is looked at


def grown(corpus: Corpus, sessions: int = SESSIONS) -> Tree:
    """So many sessions: the small ones of the corpus grown, the large ones as they are, and one of 70 MB."""
    one = corpus.one("70M").projects
    projects = corpus.work / "trees" / f"viewing-{sessions}"
    if not projects.is_dir():
        corpus.many("30M")  # unpacks
        unfinished = fresh(projects.with_name(f"{projects.name}.part"))
        _grow(corpus, sessions, unfinished)
        shutil.copytree(one, unfinished, copy_function=os.link, dirs_exist_ok=True)
        unfinished.rename(projects)
    return described(projects)


def _grow(corpus: Corpus, sessions: int, into: Path) -> None:
    unpacked = corpus.work / "corpus" / "claude-code"
    found = [path for path in sorted(unpacked.rglob("*.jsonl")) if _is_main(path)]
    small = [path for path in found if path.stat().st_size <= SMALL_BYTES and is_conversation(path)]
    source = fresh(corpus.work / "small")
    for number, path in enumerate(small):
        (source / f"-{number}").mkdir()
        os.link(path, source / f"-{number}" / path.name)
    size = sum(path.stat().st_size for path in small) * sessions // len(small)
    grow = [sys.executable, str(corpus.shared / "grow.py"), str(source), str(into), "--bytes", str(size)]
    subprocess.run(grow, check=True, stdout=sys.stderr)
    for path in set(found) - set(small):
        target = into / f"-home-dev-{path.parent.name.strip('-')}"
        target.mkdir(exist_ok=True)
        shutil.copy(path, target / path.name)


def is_conversation(path: Path) -> bool:
    """Whether there is anything to show; many small files hold only snapshots."""
    return b'"type":"assistant"' in path.read_bytes()


def _is_main(path: Path) -> bool:
    return "subagents" not in path.parts and not path.name.startswith("agent-")


def sample(tree: Tree, count: int) -> list[str]:
    """The ids of sessions to open: the largest, and some at random."""
    paths = sorted(path for path in tree.projects.rglob("*.jsonl") if is_session(path, tree.projects))
    paths = [path for path in paths if has_uuid(path)]
    paths.sort(key=lambda path: -path.stat().st_size)
    largest, others = paths[: count // 4], paths[count // 4 :]
    random.Random(SEED).shuffle(others)
    drawn = islice((path for path in others if is_conversation(path)), count - len(largest))
    return [path.stem for path in [*largest, *drawn]]


# -- servers


@dataclass(frozen=True)
class Server:
    """One that runs."""

    pid: int
    link: str
    code: str = ""
    """What a browser has to give there before anything else."""

    @property
    def origin(self) -> str:
        return "/".join(self.link.split("/")[:3])

    def peak_bytes(self) -> int:
        """The most memory so far, of it and of what it started."""
        return sum(high_water_bytes(pid) for pid in members(self.pid))


@contextmanager
def served_muniment(muniment: Path, home: Home) -> Iterator[Server]:
    """Our viewer of what is in a home; the archive is made if there is none."""
    command = [str(muniment), "--store", str(home.root / "store")]
    env = {"HOME": str(home.root), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    if not (home.root / "store").is_dir():
        for words in (["inscribe", str(home.projects)], ["ingest"]):
            subprocess.run([*command, *words], check=True, env=env, stdout=subprocess.DEVNULL)
    with _running([*command, "view", "--no-open", "--no-watch", "--port", "0"], env) as process:
        assert process.stdout
        link, code = (process.stdout.readline().decode() for _ in range(2))
        yield Server(process.pid, link.strip(), code.split()[1])


@contextmanager
def served_agentsview(tool: Agentsview, home: Home) -> Iterator[Server]:
    """Theirs, with everything taken in before it starts."""
    env = tool.environment(home)
    subprocess.run(tool.command(home), check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    port = _free_port()
    words = ["serve", "--no-browser", "--no-update-check", "--no-sync", "--host", "127.0.0.1", "--port", str(port)]
    with _running([str(tool.executable), *words], env) as process:
        link = f"http://127.0.0.1:{port}/"
        _until_it_answers(link)
        yield Server(process.pid, link)


@contextmanager
def _running(command: Sequence[str], env: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        end_session(process.pid)
        process.communicate()


def _free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return asked.getsockname()[1]


def _until_it_answers(link: str) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(link, timeout=5).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(f"no answer from {link}")


# -- what the page's clock says

_CLOCK = """
performance.setResourceTimingBufferSize(100000);
addEventListener("input", () => (window.lastKey = performance.now()), true);
window.frames2 = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
window.until = async (isThere) => {
  const end = performance.now() + 60000;
  while (!isThere()) {
    if (performance.now() > end) throw new Error("it never came");
    await new Promise((done) => requestAnimationFrame(done));
  }
  await window.frames2();
  return performance.now();
};
window.there = (...selectors) => () => selectors.every((one) => document.querySelector(one));
window.answered = (word) => performance.getEntriesByType("resource").some((one) =>
  one.responseEnd && new URL(one.name).searchParams.get("q") === word);
"""

_SCROLL = """async ([inside, seconds]) => {
  let place = document.querySelector(inside);
  while (!["auto", "scroll"].includes(getComputedStyle(place).overflowY)) place = place.parentElement;
  const start = performance.now();
  let frames = 0;
  for (let now = start; now - start < seconds * 1000; now = await new Promise(requestAnimationFrame)) {
    place.scrollTop += 40;
    if (place.scrollTop + place.clientHeight >= place.scrollHeight - 1) place.scrollTop = 0;
    frames += 1;
  }
  return (frames * 1000) / (performance.now() - start);
}"""


_ZOOM = """async ([canvas, seconds]) => {
  const place = document.querySelector(canvas);
  const box = place.getBoundingClientRect();
  const at = { clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true, cancelable: true };
  const start = performance.now();
  let frames = 0;
  for (let now = start; now - start < seconds * 1000; now = await new Promise(requestAnimationFrame)) {
    const inward = Math.floor((now - start) / 500) % 2 === 0;
    place.dispatchEvent(new WheelEvent("wheel", { ...at, deltaY: inward ? -60 : 60 }));
    frames += 1;
  }
  return (frames * 1000) / (performance.now() - start);
}"""


class Visitor:
    """A browser that looks at one server."""

    def __init__(self, browser: Any, server: Server, page: Page) -> None:
        self.browser, self.server, self.page, self.seen = browser, server, page, Seen(page.name)
        self.kept: Any = None
        with self.tab() as tab:
            tab.goto(server.link)
            if server.code:
                tab.get_by_label("Code").fill(server.code)
                tab.keyboard.press("Enter")
                tab.wait_for_selector(page.row)
            self.kept = tab.context.storage_state()

    @contextmanager
    def tab(self) -> Iterator[Any]:
        """A new page with nothing in its cache."""
        context = self.browser.new_context(viewport=SIZE, storage_state=self.kept)
        context.set_default_timeout(WAIT_MS)
        context.add_init_script(_CLOCK)
        context.on("request", self._note)
        try:
            yield context.new_page()
        finally:
            context.close()

    def _note(self, request: Any) -> None:
        self.seen.outside += not request.url.startswith((self.server.origin, "data:", "blob:"))

    def first_views(self, times: int) -> None:
        for _ in range(times):
            with self.tab() as tab:
                self.seen.first_view.append(self._arrive(tab, "/", self.page.first))

    def _arrive(self, tab: Any, path: str, selectors: Sequence[str]) -> float:
        tab.goto(self.server.origin + path, wait_until="commit")
        return tab.evaluate("selectors => until(there(...selectors))", list(selectors))

    def sessions(self, ids: Sequence[str]) -> None:
        """Each in the same tab, which knows the page by then."""
        with self.tab() as tab:
            self._arrive(tab, "/", self.page.first[:1])
            for id_ in ids:
                path = self.page.session.format(id_)
                self.seen.by_address[id_] = self._arrive(tab, path, [self.page.block])

    def sessions_in_page(self, ids: Sequence[str]) -> None:
        """As a click in the list opens them, without loading the page anew. Only of ours, whose addresses we know."""
        with self.tab() as tab:
            self._arrive(tab, "/", self.page.first[:1])
            go = "history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate'))"
            for id_ in ids:
                tab.evaluate(f"path => {{ {go}; return until(there('{self.page.row}')) }}", "/")
                timed = "const start = performance.now(); {go}; return (await until(there(block))) - start"
                words = [self.page.session.format(id_), self.page.block]
                took = tab.evaluate(f"async ([path, block]) => {{ {timed.format(go=go)} }}", words)
                self.seen.in_page[id_] = took

    def searches(self, words: Sequence[str]) -> None:
        """From the last key until what was found is there, on a page that has come to rest."""
        with self.tab() as tab:
            self._arrive(tab, "/", self.page.first[:1])
            for word in words:
                tab.wait_for_timeout(REST_MS)
                tab.keyboard.press(self.page.search)
                tab.wait_for_timeout(200)
                tab.keyboard.type(word, delay=KEY_SECONDS * 1000)
                is_there = f"() => answered(word) && there('{self.page.found}')()"
                timed = f"async (word) => (await until({is_there})) - lastKey"
                self.seen.search.append(tab.evaluate(timed, word))
                tab.keyboard.press("Escape")

    def zooming(self) -> None:
        """The timeline, in and out, a step in every frame. Only of ours, whose canvas we know."""
        with self.tab() as tab:
            self._arrive(tab, "/", self.page.first)
            tab.wait_for_timeout(REST_MS)
            self.seen.timeline_fps = tab.evaluate(_ZOOM, [self.page.first[-1], SCROLL_SECONDS])

    def scrolling(self, largest: str) -> None:
        with self.tab() as tab:
            self._arrive(tab, "/", self.page.first[:1])
            self.seen.list_fps = tab.evaluate(_SCROLL, [self.page.row, SCROLL_SECONDS])
            self._arrive(tab, self.page.session.format(largest), [self.page.block])
            self.seen.session_fps = tab.evaluate(_SCROLL, [self.page.block, SCROLL_SECONDS])


def look(browser: Any, server: Server, page: Page, ids: Sequence[str], words: Sequence[str], times: int) -> Seen:
    """Everything, on one server."""
    visitor = Visitor(browser, server, page)
    parts: dict[str, Callable[[], None]] = {
        "first view": lambda: visitor.first_views(times),
        "sessions by address": lambda: visitor.sessions(ids),
        "sessions in the page": lambda: visitor.sessions_in_page(ids) if page is OURS else None,
        "search": lambda: visitor.searches(words),
        "scrolling": lambda: visitor.scrolling(ids[0]),
        "zooming": lambda: visitor.zooming() if page is OURS else None,
    }
    for name, part in parts.items():
        told(f"bench: {page.name}, {name}")
        try:
            part()
        except PlaywrightError as error:
            visitor.seen.failures.append(f"{page.name}, {name}: {str(error).splitlines()[0]}")
            if not visitor.seen.first_view:
                break  # nobody waits a minute each for what stands behind a page that does not come
    visitor.seen.server_bytes = server.peak_bytes()
    return visitor.seen


# -- all of it


def view_all(muniment: Path, tree: Tree, work: Path, agentsview: str, quick: bool = False) -> Viewing:
    """Both pages on one tree, in a folder of their own that is removed at the end; `agentsview` is a version."""
    share = 4 if quick else 1
    ids, missing, pages = sample(tree, OPENED // share), list[str](), list[Seen]()
    warm(tree)
    homes = {page.name: Home(work / page.name) for page in (OURS, THEIRS)}
    try:
        for home in homes.values():
            lay_out(tree, home.projects)
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=executable(), args=["--no-sandbox", NOTHING_ELSE])
            with served_muniment(muniment, homes["muniment"]) as server:
                words = _plain_words(Archive(homes["muniment"].root / "store"), WORDS // share)
                pages.append(look(browser, server, OURS, ids, words, FIRST_VIEWS))
            try:
                tool = rival(Agentsview, agentsview, work.parent)
                assert isinstance(tool, Agentsview)
                with served_agentsview(tool, homes["agentsview"]) as server:
                    pages.append(look(browser, server, THEIRS, ids, words, FIRST_VIEWS))
            except (NotInstalled, TimeoutError, subprocess.CalledProcessError) as absent:
                missing.append(str(absent))
            browser.close()
    finally:
        discard(work)
    return Viewing(tree, pages, [*missing, *(f"{words} ({tree.title})" for seen in pages for words in seen.failures)])


def _plain_words(archive: Archive, count: int) -> list[str]:
    """Words that any search box takes as they are."""
    drawn = (text for text in draw(archive, SEED, count * 20) if re.fullmatch(r"[a-zA-Z]{4,14}", text))
    return list(dict.fromkeys(drawn))[:count]


METHOD = """\
## Viewing

Both servers run on loopback, one after the other, with everything taken in before; a real Chromium looks at each. Times
are taken by the page's own clock, from the navigation, the click or the last key until two frames after what was wanted
is there. What a page wants from elsewhere is refused, so that nobody waits for the network.
"""


def viewing_section(viewings: Sequence[Viewing]) -> str:
    """For `docs/benchmarks.md`: the figures beside each other, for each tree."""
    return "\n\n".join([METHOD.rstrip(), *map(_side_by_side, viewings)])


def _side_by_side(viewing: Viewing) -> str:
    milliseconds: list[tuple[str, Callable[[Seen], Any], Any]] = [
        ("first view, median", lambda seen: seen.first_view, median),
        ("opening a session from the list, median", lambda seen: seen.in_page.values(), median),
        ("the worst of them", lambda seen: seen.in_page.values(), max),
        ("opening it by its address, median", lambda seen: seen.by_address.values(), median),
        ("the worst of them", lambda seen: seen.by_address.values(), max),
        ("search after the last key, median", lambda seen: seen.search, median),
        ("the worst of them", lambda seen: seen.search, max),
    ]
    frames: list[tuple[str, Callable[[Seen], float]]] = [
        ("scrolling the list", lambda seen: seen.list_fps),
        ("scrolling the largest session", lambda seen: seen.session_fps),
        ("zooming the timeline", lambda seen: seen.timeline_fps),
    ]
    pages = viewing.pages
    rows = [[words, *(_ms(values(seen), of) for seen in pages)] for words, values, of in milliseconds]
    rows += [[words, *(figure(rate(seen) or None, "fps") for seen in pages)] for words, rate in frames]
    rows.append(["server, most memory", *(figure(seen.server_bytes / 2**20, "MiB") for seen in pages)])
    rows.append(["requests to elsewhere (refused)", *(str(seen.outside) for seen in pages)])
    title = f"{viewing.tree.title}; {len(pages[0].by_address)} sessions opened, {len(pages[0].search)} words searched:"
    return f"{title}\n\n" + table(["", *(seen.name for seen in pages)], rows)


def _ms(values: Any, of: Any) -> str:
    known = list(values)
    return f"{of(known):.0f} ms" if known else "-"
