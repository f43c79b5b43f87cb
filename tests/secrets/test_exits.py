"""Every kind of secret at every exit: what the scanner finds where it stands is nowhere in what leaves the archive."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable, Iterator
from html import unescape
from io import BytesIO
from pathlib import Path

import pytest
import zstandard
from click.testing import CliRunner

from muniment.archive import Archive
from muniment.context import POLICIES, SPELLERS, Request, Selection, Target, build, sessions
from muniment.ingest import skeleton
from muniment.ingest.models import prompt
from muniment.model import codec
from muniment.prospective.steps import Speaker
from muniment.render import html, known, site
from muniment.search import Query
from muniment.secrets import RULES, Redactor
from muniment.surfaces.cli import secrets
from muniment.surfaces.mcp import finding, packing, reading, telling
from muniment.surfaces.mcp.fence import Answer
from tests.builder import ClaudeSession, text
from tests.secrets.garden import Garden
from tests.secrets.vectors import LINES

Exit = Callable[[Archive, Garden, Path], Iterator[str]]
_TAG = re.compile("<[^>]*>")


@pytest.fixture(scope="module")
def gardens() -> dict[str, Garden]:
    return {rule: Garden(rule) for rule in LINES}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory, gardens: dict[str, Garden]) -> Archive:
    """One session for every rule, inscribed and understood."""
    folder = tmp_path_factory.mktemp("exits")
    for garden in gardens.values():
        garden.write(folder / "user" / ".claude")
    made = Archive(folder / "store", {"HOME": str(folder / "user")})
    made.inscribe()
    made.ingest()
    return made


def _page(data: bytes) -> Iterator[str]:
    """A page as bytes and as a reader sees it."""
    yield data.decode()
    yield unescape(_TAG.sub("", data.decode()))


def _answer(answer: Answer) -> Iterator[str]:
    yield answer.text
    yield codec.encode(answer.values).decode()


# -- the exits


def as_html(archive: Archive, garden: Garden, folder: Path) -> Iterator[str]:
    for full in (False, True):
        path = folder / f"{full}.html"
        archive.html(garden.id, path, html.Request(full=full))
        yield from _page(path.read_bytes())
    yield html.default_name(known.find(archive.layout, archive.session(garden.id)))


def as_site(archive: Archive, garden: Garden, folder: Path) -> Iterator[str]:
    one = known.find(archive.layout, archive.session(garden.id))
    yield from _page(site.index([one], html.Request()))


def as_read(archive: Archive, garden: Garden, folder: Path) -> Iterator[str]:
    session = archive.session(garden.id)
    yield from _answer(reading.overview(archive, garden.id, 1))
    for number in range(1, session.rounds + 1):
        yield from _every_page(lambda page, number=number: reading.some_rounds(archive, garden.id, [number], page))
    yield from _every_page(lambda page: reading.some_rounds(archive, garden.id, [1], page, garden.side_id))
    for one in archive.find_engagements(Query(session=garden.id)):
        yield from _every_page(lambda page, id_=one.engagement_id: reading.engagement(archive, id_, page))


def _every_page(ask: Callable[[int], Answer]) -> Iterator[str]:
    first = ask(1)
    for page in range(1, first.data["pages"] + 1):
        yield from _answer(ask(page))


def as_search(archive: Archive, garden: Garden, folder: Path) -> Iterator[str]:
    for words in ("xylophone", "thanks", "end", "make", "pending", garden.rule):
        yield from _answer(finding.find(archive.layout, Query(words, session=garden.id, limit=25)))
    yield from _answer(finding.find(archive.layout, Query(session=garden.id, file="a.py")))


def as_context(archive: Archive, garden: Garden, folder: Path) -> Iterator[str]:
    selection = Selection(sessions=(garden.id,))
    for policy, form in [*((policy, "markdown") for policy in POLICIES), *((None, form) for form in SPELLERS)]:
        pack = build(archive.layout, Request(selection, policy), form)
        yield pack.text
        yield codec.encode(pack.parts).decode()
    yield from _answer(packing.pack(archive.layout, selection, 4000))
    target = Target("claude", to=folder / "home")
    yield Path(sessions.write(archive.layout, Request(selection), target, archive.env).path).read_text()


def as_prompt(archive: Archive, garden: Garden, folder: Path) -> Iterator[str]:
    session = archive.session(garden.id)
    made = skeleton.make(archive.rounds(session), archive.facts(session)[0], session.agent_id, session.sidechains)
    yield prompt.make(made, Redactor()).text


def as_instructions(archive: Archive, garden: Garden, folder: Path) -> Iterator[str]:
    """What a session worked under, as the transcript recorded it, beside the session before."""
    line = garden.line("instructions")
    for number, words in enumerate(("be brief", f"be brief\n{line}\n"), 1):
        session = ClaudeSession(f"{number:08x}-0000-4000-8000-000000000000", cwd=str(folder))
        session.seconds = 60 * number
        session.user("go")
        memory = {"type": "nested_memory", "path": garden.word("file of instructions", "/w/{}/CLAUDE.md")}
        session.chain("attachment", attachment=memory | {"content": {"type": "Project", "content": words}})
        session.answer(text("done"))
        session.write(folder / "user" / ".claude")
    own = Archive(folder / "store", {"HOME": str(folder / "user")})
    own.inscribe()
    yield codec.encode(own.instructions(session.id)).decode()


def as_places(archive: Archive, garden: Garden, folder: Path) -> Iterator[str]:
    done = CliRunner().invoke(secrets.command, [garden.id, "--json"], obj=str(archive.layout.root))
    assert done.exit_code == 0
    yield done.output


def as_record(archive: Archive, garden: Garden, folder: Path) -> Iterator[str]:
    by = Speaker(None, None)
    words = garden.word("record")
    yield from _answer(
        telling.tell(folder, folder, telling.Said(action="start", text=words, method="build", id="one"), by)
    )
    yield from _answer(telling.tell(folder, folder, telling.Said(action="decide", text=words, id="one"), by))


EXITS: dict[str, Exit] = {
    name.removeprefix("as_"): exit_
    for name, exit_ in list(globals().items())
    if name.startswith("as_") and callable(exit_)
}


@pytest.mark.parametrize("rule", LINES)
@pytest.mark.parametrize("exit_", EXITS)
def test_no_secret_leaves(archive: Archive, gardens: dict[str, Garden], exit_: str, rule: str, tmp_path: Path) -> None:
    garden = gardens[rule]
    for shown in EXITS[exit_](archive, garden, tmp_path):
        assert _seen(shown, garden) == []


def _seen(shown: str, garden: Garden) -> list[str]:
    return [plant.place for plant in garden.plants if any(trace in shown for trace in plant.traces)]


def test_no_secret_leaves_in_a_bundle(archive: Archive, gardens: dict[str, Garden], tmp_path: Path) -> None:
    target = tmp_path / "x.bundle"
    archive.bundle([garden.id for garden in gardens.values()], target, redact=True)
    with zstandard.ZstdDecompressor().stream_reader(target.open("rb")) as packed:
        data = packed.read()
    pieces = [(member.name, member_data) for member, member_data in _members(data)]
    for name, piece in pieces:
        shown = name + piece.decode("utf-8", "replace")
        for rule, garden in gardens.items():
            if garden.id in name or "/" not in name:
                assert _seen(shown, garden) == [], (rule, name)


def _members(data: bytes) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    with tarfile.open(fileobj=BytesIO(data)) as tar:
        for member in tar:
            file = tar.extractfile(member)
            assert file
            content = file.read()
            packed = content.startswith(b"\x28\xb5\x2f\xfd")
            yield (
                member,
                zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True).read()
                if packed
                else content,
            )


def test_every_rule_is_planted_in_most_places(gardens: dict[str, Garden]) -> None:
    """What is expected of the exits rests on what the scanner finds: that must be nearly everything."""
    assert gardens.keys() == {rule.id for rule in RULES}
    planted = {rule: {plant.place for plant in garden.plants} for rule, garden in gardens.items()}
    for place in ("prompt", "output", "thinking", "title", "tool name", "path", "branch", "member", "nested"):
        assert sum(place in places for places in planted.values()) > len(LINES) * 0.8, place
