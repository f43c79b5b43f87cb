"""Which sessions touched a file: by whole path, end of a path or name, changed or only named, subagents too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muniment import search
from muniment.archive import Archive
from muniment.errors import NotFound
from muniment.search import Query
from tests.builder import ClaudeSession, text, tool
from tests.search.worked import engagement, session_id, understand


def call(session: ClaudeSession, name: str, value: dict[str, Any]) -> None:
    id_ = f"toolu_{len(session.lines):04d}"
    session.answer(tool(id_, name, value))
    session.result(id_, "done", is_error=False)


@pytest.fixture
def filled(archive: Archive, home: Path, inscribe: Callable[..., object]) -> Archive:
    one = ClaudeSession(session_id("one"), cwd="/proj/app")
    one.user("look at it")
    call(one, "Read", {"file_path": "/proj/app/src/login.ts", "offset": 5})
    one.user("change it")
    call(one, "Edit", {"file_path": "/proj/app/src/login.ts", "old_string": "a", "new_string": "see src/other.ts"})
    one.write(home)
    two = ClaudeSession(session_id("two"), cwd="/proj/app")
    two.user("count it")
    call(two, "Bash", {"command": "wc -l src/login.ts && cat ./notes/my plan.md"})
    two.answer(text("src/unsaid.ts is only spoken of"))
    two.write(home)
    three = ClaudeSession(session_id("three"), cwd="/home/ada")
    three.user("another")
    call(three, "Read", {"file_path": "/home/ada/lib/login.ts"})
    call(three, "Read", {"file_path": "/home/ada/lib/login.ts.bak"})
    call(three, "Bash", {"command": "echo src login ts; ls xsrc/login.ts; touch 登录页.md"})
    three.write(home)
    inscribe()
    return archive


def touched(archive: Archive, path: str, **more: Any) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    names = {session_id(name): name for name in ("one", "two", "three")}
    found = search.find_touched(archive.layout, Query(file=path, **more))
    return {names[file.session_id]: (file.changed, file.named) for file in found}


ONE, TWO, THREE = {"one": ((2,), (1,))}, {"two": ((), (1,))}, {"three": ((), (1,))}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/proj/app/src/login.ts", ONE | TWO),
        ("src/login.ts", ONE | TWO),
        ("./src/login.ts", ONE | TWO),
        ("login.ts", ONE | TWO | THREE),
        ("app/src/login.ts", ONE),
        ("/home/ada/lib/login.ts", THREE),
        ("/app/src/login.ts", {}),
        ("ogin.ts", {}),
        ("login", THREE),
        ("login.ts.bak", THREE),
        ("src/", ONE | TWO),
        ("/proj/app/src/", ONE | TWO),
        ("other.ts", {"one": ((), (2,))}),
        ("my plan.md", TWO),
        ("登录页.md", THREE),
        ("unsaid.ts", {}),
        ("nothing.ts", {}),
    ],
)
def test_a_file_is_met_however_it_is_named(filled: Archive, path: str, expected: dict[str, Any]) -> None:
    assert touched(filled, path) == expected


def test_the_other_filters_hold_too(filled: Archive) -> None:
    assert touched(filled, "login.ts", session=session_id("two")[:8]) == TWO
    assert touched(filled, "login.ts", until="2020-01-01") == {}


def test_engagements_and_text_are_those_of_sessions_that_touched_it(filled: Archive) -> None:
    understand(
        filled, "one", engagement("one", 1, (1, 1), topic="reading"), engagement("one", 2, (2, 2), topic="typing")
    )
    understand(filled, "three", engagement("three", 1, (1, 1), topic="elsewhere"))
    assert [e.topic for e in filled.find_engagements(Query(file="src/login.ts"))] == ["typing", "reading"]
    found = search.find(filled.layout, Query("another OR login", file="login.ts"))
    assert (found.hits, len(found.files)) == ((), 3)
    assert {hit.session_id for hit in filled.search(Query("done", file="src/login.ts"))} == {
        session_id("one"),
        session_id("two"),
    }


def test_a_path_without_a_name_is_said(filled: Archive) -> None:
    with pytest.raises(NotFound, match="names no file"):
        touched(filled, "///")


def test_the_work_of_a_subagent_counts_for_the_round_that_began_it(
    archive: Archive, home: Path, inscribe: Callable[..., object]
) -> None:
    main = ClaudeSession(session_id("one"))
    for number in range(3):
        main.exchange(f"prompt {number}", "answer")
    path = main.write(home)
    side = ClaudeSession(session_id("one"), agentId="a1b2c3")
    side.fixed["isSidechain"] = True
    side.seconds = 6
    side.user("look around")
    call(side, "Write", {"file_path": "/w/deep/found.txt", "content": "unheardof"})
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1b2c3.jsonl").write_bytes(side.data)
    inscribe()
    assert touched(archive, "found.txt") == {"one": ((2,), ())}
    (hit,) = archive.search(Query("unheardof"))
    assert (hit.sidechain, hit.round, hit.opens) == ("a1b2c3", 1, 2)
    understand(archive, "one", engagement("one", 1, (1, 1)), engagement("one", 2, (2, 3), method="debug"))
    assert len(archive.search(Query("unheardof", method="debug"))) == 1
    assert archive.search(Query("unheardof", method="build")) == []
