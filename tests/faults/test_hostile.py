"""Names and ids that want out of the store, and texts that want to command the terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from muniment.archive import Archive
from muniment.errors import MunimentError
from muniment.export import Request

from .checks import control_characters, differences, tampered, view
from .world import CLI, Ran, Session, contents, done, environment, every, identity, run, small, write

IDS = [
    "../../x",
    "../../../../../../x",
    "/absolute/x",
    "%2e%2e%2fx",
    "..",
    ".",
    "",
    "CON",
    "nul.txt",
    "~root",
    "a" * 4096,
    "a\0b",
    "a\nb",
    "x ",
    "-rf",
    "..\\..\\x",
    "\u2025\u2215x",
    "\ud800",
]


def everything(root: Path, *apart: Path) -> dict[str, bytes | None]:
    """All below a folder but what lies in these: what nobody may change."""
    return {
        str(path): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in every(root)
        if not any(path == own or own in path.parents for own in apart)
    }


def hostile_tree(home: Path) -> None:
    """Every id in every place that an id can have."""
    for number, id_ in enumerate(IDS):
        session = Session(number)
        session.id = id_
        write(home / "loose" / f"file{number}.jsonl", b"".join(session.lines(2)))
        session = Session(500 + number)
        session.id = id_
        lines = [line.replace(b'"isSidechain":false', b'"isSidechain":true') for line in session.lines(1)]
        lines = [line.replace(b'"type":', b'"agentId":' + json.dumps(id_).encode() + b',"type":', 1) for line in lines]
        write(home / "projects" / "-p" / f"agent-h{number}.jsonl", b"".join(lines))
    for number, name in enumerate(["..", "...", "%2e%2e", "CON", "nul", "a" * 200, "~", "-rf", "a\\..\\b", "a b"]):
        session = Session(1000 + number)
        write(home / "projects" / "-p" / f"{session.id}.jsonl", b"".join(session.lines(1)))
        write(home / "projects" / "-p" / session.id / "subagents" / f"agent-{name}.jsonl", b"".join(session.lines(1)))
        write(home / "projects" / "-p" / session.id / "tool-results" / f"{name}.txt", b"a side file")


def test_hostile_ids_stay_inside(tmp_path: Path) -> None:
    home, store, out = tmp_path / "home", tmp_path / "a" / "b" / "store", tmp_path / "c" / "d" / "out"
    hostile_tree(home)
    out.mkdir(parents=True)
    store.mkdir(parents=True)
    before = everything(tmp_path, store, out)
    ran = run(store, "inscribe", home)
    assert ran.code == 0, ran
    ran = run(store, "restore", "--all", "--to", out / "restored")
    assert "Traceback" not in ran.err, ran
    given = contents(out / "restored")
    assert {name: data for name, data in contents(home).items() if given.get(name) != data} == {}
    archive = Archive(store, {"HOME": str(out)})
    for session in archive.sessions():
        for source in ("claude-code", "codex"):
            with suppress(MunimentError, OSError):
                archive.export(session.session_id, Request(source, to=out / source))
            with suppress(MunimentError, OSError):
                archive.export(session.session_id, Request(source, to=out / f"{source}2", document_only=True))
    done(store, "reindex")
    assert everything(tmp_path, store, out) == before


PLACES = ["../../etc/x", "/absolute/x", "a/../../../x", "..", "a\0b", "link/x", "link", "./../x"]


@pytest.mark.parametrize(
    ("field", "role"), [("name", "main"), ("place", "main"), ("place", "side"), ("place", "history")]
)
def test_tampered_manifest(tmp_path: Path, field: str, role: str) -> None:
    """A manifest that names a place outside, or below a link that leads outside: refused, nothing is written there."""
    tree = small(tmp_path / "home", 2)
    store, out, outside = tmp_path / "a" / "store", tmp_path / "b" / "c" / "out", tmp_path / "outside"
    done(store, "inscribe", tree.home)
    out.mkdir(parents=True)
    outside.mkdir()
    (out / "link").symlink_to(outside)
    session = tree.sessions[1].id
    manifest = store / "data" / "sessions" / "claude" / session / "source" / "manifest.json"
    original = manifest.read_bytes()
    before = everything(tmp_path, store, out)
    for place in PLACES:

        def change(value: dict, place: str = place) -> None:
            kept = next(kept for kept in value["files"] if kept["role"] == role)
            kept[field] = place

        manifest.write_bytes(original)
        tampered(manifest, change)
        ran = run(store, "restore", session, "--to", out)
        assert everything(tmp_path, store, out) == before, (place, ran)
        assert ran.code in (3, 6, 8), (place, ran)
        assert "Traceback" not in ran.err, (place, ran)


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("what", ["transcript", "history.jsonl", "file-history", "projects"])
def test_restore_follows_no_link(tmp_path: Path, what: str, force: list[str]) -> None:
    """A link waits at the very place of a file or of a folder above it: nothing behind it changes."""
    tree = small(tmp_path / "home", 2)
    store, outside, out = tmp_path / "store", tmp_path / "outside", tmp_path / "out"
    done(store, "inscribe", tree.home)
    victim = write(outside / "victim", b"not yours\n")
    link = out / (tree.transcript(1).relative_to(tree.home) if what == "transcript" else what)
    link.parent.mkdir(parents=True)
    link.symlink_to(victim if link.suffix == ".jsonl" else outside)
    ran = run(store, "restore", tree.sessions[1].id, "--to", out, *force)
    assert "Traceback" not in ran.err, ran
    assert contents(outside) == {"victim": b"not yours\n"}, ran


def test_restore_waits_for_no_pipe(tmp_path: Path) -> None:
    tree = small(tmp_path / "home", 2)
    done(tmp_path / "store", "inscribe", tree.home)
    for name in ("history.jsonl", tree.transcript(1).relative_to(tree.home)):
        pipe = tmp_path / f"out-{Path(name).name}" / name
        pipe.parent.mkdir(parents=True)
        os.mkfifo(pipe)
        out = tmp_path / f"out-{Path(name).name}"
        ran = run(tmp_path / "store", "restore", tree.sessions[1].id, "--to", out, timeout=60)
        assert ran.code in (6, 8), ran


def test_links_in_the_store_are_not_followed(tmp_path: Path) -> None:
    """Somebody puts links where the next append writes."""
    tree = small(tmp_path / "home", 2)
    store, outside = tmp_path / "store", tmp_path / "outside"
    done(store, "inscribe", tree.home)
    own = store / "data" / "sessions" / "claude" / tree.sessions[1].id
    for number, path in enumerate([own.with_suffix(".md"), own / "rounds" / "003.json", own / "index.md"]):
        victim = write(outside / str(number), path.read_bytes())
        path.unlink()
        path.symlink_to(victim)
    before = contents(outside)
    tree.grow()
    ran = run(store, "append")
    assert "Traceback" not in ran.out + ran.err, ran
    assert contents(outside) == before


# -- the terminal

EVIL = [
    "\x1b[2J\x1b[31mred",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
    "\x1bPdcs\x1b\\",
    "\x9b2J c1 \x90 \x9d52;c;x\x9c",
    "\x07\x08\x7f\r\v\f",
    "\u202eoverride\u202c \u2066isolate\u2069 \u200f",
]
ALL = " ".join(EVIL)


def in_a_terminal(store: Path, *words: object, **more: str) -> Ran:
    """Run a command whose output is a terminal, so that nothing is taken out because it is none."""
    ours, theirs = pty.openpty()
    env = environment(store.parent / "nobody", TERM="xterm-256color", **more)
    command = [*CLI, "--store", str(store), *map(str, words)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True) as p:
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            said += piece
    os.close(ours)
    return Ran(p.returncode, said.decode("utf-8", "replace"), "")


def evil_tree(home: Path) -> list[Path]:
    """Each field of a record in turn, and names of files."""
    paths = []
    for number, field in enumerate(["cwd", "gitBranch", "timestamp", "version", "uuid", "message", "type", "slug"]):
        session = Session(2000 + number)
        records = [json.loads(line) for line in session.lines(2)]
        for record in records:
            if field == "message":
                _poison(record["message"])
            elif field != "type" or record is records[-1]:
                record[field] = ALL
        records.append({"type": "custom-title", "customTitle": f"title {ALL}", "sessionId": session.id})
        records.append({"type": "summary", "summary": f"summary {ALL}", "leafUuid": "x"})
        records.append({"type": ALL, "sessionId": session.id, ALL: ALL})
        data = b"".join(json.dumps(record).encode() + b"\n" for record in records) + b'{"damaged \x1b[2J\n'
        paths.append(write(home / "projects" / f"-p{EVIL[0]}" / f"{session.id}.jsonl", data))
        write(paths[-1].with_suffix("") / "subagents" / f"agent-{EVIL[1][:9]}.jsonl", b"".join(session.lines(1)))
    return paths


def _poison(message: dict) -> None:
    if isinstance(message["content"], str):
        message["content"] += ALL
    else:
        for block in message["content"]:
            for key in set(block) - {"type", "id", "tool_use_id"}:
                block[key] = ALL if isinstance(block[key], str) else {ALL: ALL}
        message["model"] = ALL


def test_no_text_commands_the_terminal(tmp_path: Path) -> None:
    home, store = tmp_path / f"home{EVIL[4]}\x1b[31m", tmp_path / "store"
    paths = evil_tree(home)
    env = {"CLAUDE_CONFIG_DIR": str(home)}
    commands: list[tuple[object, ...]] = [("up",), ("sources",), ("doctor",), ("sessions",)]
    for path in paths:
        commands += [("show", path.stem), ("show", path.stem, "1")]
    commands += [
        ("sessions", "--json"),
        ("show", paths[5].stem, "--document"),
        ("check", paths[0]),
        ("check", "--stored"),
        ("restore", "--all", "--to", tmp_path / f"out{EVIL[4]}"),
        ("export-claude", paths[5].stem, "--into", tmp_path / f"export{EVIL[4]}"),
        ("export", paths[5].stem, "--to", "codex", "--into", tmp_path / f"export{EVIL[4]}"),
        ("reindex",),
        ("show", EVIL[1]),
        ("show", f"/{ALL}"),
        ("show", "last", EVIL[1]),
        ("inscribe", f"/{ALL}"),
        ("export", "last", "--to", ALL),
        ("export-claude", "last", "--rounds", ALL),
        (ALL,),
        ("sessions", f"--{ALL}"),
        ("sessions", "--source", ALL),
    ]
    wrong: list[str] = []
    for words in commands:
        ran = run(store, *words, env=env) if words == ("up",) else in_a_terminal(store, *words, **env)
        found = control_characters(ran.out + ran.err)
        if words == ("sessions", "--json"):
            found = [text for text in found if "\\x1b" in text]
        if "Traceback" in ran.out + ran.err:
            found.append(ran.out[-200:])
        wrong += [f"{' '.join(map(str, words))[:60]!r}: {len(found)} like {found[0]}"] if found else []
    assert not wrong, "\n".join(wrong)


def test_evil_texts_are_kept_all_the_same(tmp_path: Path) -> None:
    home, store = tmp_path / "home", tmp_path / "store"
    evil_tree(home)
    done(store, "inscribe", home)
    expected = view(store)
    done(store, "restore", "--all", "--to", tmp_path / "back")
    assert contents(tmp_path / "back") == contents(home)
    done(store, "reindex")
    assert differences(store, expected) == []
    assert identity("session 2000")[:8] in done(store, "sessions").out
