"""Random sessions against a model: edits by the session and by others, rewinds and undos, in any order.

In the model every content knows which edits of others it goes back to. A rewind may be done if and only if no edit
of others is lost by it; whatever it does can be undone; and it never touches what the session did not edit.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.errors import Conflict, NotFound
from muniment.record.checkpoints import Checkpoints
from muniment.record.rewind import RewindReport, rewind, undo

NAMES = ("a.txt", "b.txt", "sub/c.txt")
KINDS = ("file", "program", "link", "absent")


class Value(NamedTuple):
    """What stands at a path. All contents that are written are different ones."""

    kind: str = "absent"
    text: str = ""
    others: frozenset[int] = frozenset()
    """The edits of others that it goes back to."""

    def same(self, other: Value) -> bool:
        return (self.kind, self.text) == (other.kind, other.text)


class Taken(NamedTuple):
    """A rewind, as the model remembers it."""

    found: dict[str, Value]
    left: dict[str, Value]


class World:
    """The real files, and what they should be."""

    def __init__(self, root: Path) -> None:
        self.root = root / "proj"
        self.folder = root / "checkpoints" / "session"
        self.kept = Checkpoints(self.folder, cwd=self.root)
        (self.root / "sub").mkdir(parents=True)
        (self.root / "theirs.txt").write_text("never announced")
        self.now: dict[str, Value] = dict.fromkeys(NAMES, Value())
        self.noticed = dict(self.now)
        """As the session or a rewind left it: what others do and take back again cannot be noticed."""
        self.deleted_by_others: set[str] = set()
        self.changes: list[tuple[str, str, Value]] = []
        """What made it (the entry or the rewind), the path, and what was there before."""
        self.open: list[Taken] = []
        self.serial = 0

    # -- what happens

    def session(self, name: str, kind: str) -> None:
        self.serial += 1
        entry = f"e{self.serial}"
        self.kept.before_edit(self.root / name, entry)
        self.changes.append((entry, name, self.now[name]))
        self._write(name, kind, self.now[name].others)
        self.noticed[name] = self.now[name]
        self.kept.settle()

    def others(self, name: str, kind: str) -> None:
        self.serial += 1
        self._write(name, kind, self.now[name].others | {self.serial})
        if kind == "absent":
            self.deleted_by_others.add(name)
        if self.now[name].same(self.noticed[name]):
            self.now[name] = self.noticed[name]

    def _write(self, name: str, kind: str, others: frozenset[int]) -> None:
        path, text = self.root / name, f"content {self.serial}" if kind != "absent" else ""
        path.unlink(missing_ok=True)
        if kind == "link":
            path.symlink_to(text)
        elif kind != "absent":
            path.write_text(text)
            path.chmod(0o755 if kind == "program" else 0o644)
        self.now[name] = Value(kind, text, others)

    def back(self, number: int, force: bool) -> None:
        """A rewind to one of the changes there were, or to before them all."""
        if not self.changes:
            return
        number %= len(self.changes) + 1
        to = self.changes[number - 1][0] if number else None
        targets: dict[str, Value] = {}
        for _, name, found in self.changes[self._first(to) :]:
            targets.setdefault(name, found)
        lost = {n for n, target in targets.items() if self._loses(n, target)}
        unclear = self.deleted_by_others & set(targets)
        report = self._allowed(lambda: rewind(self.kept, to, force), force, lost, bool(unclear))
        if report:
            self._went(report.rewind, targets)

    @staticmethod
    def _allowed(act: Callable[[], RewindReport], force: bool, lost: set[str], unclear: bool) -> RewindReport | None:
        """It is refused if and only if something would be lost, or cannot be told from something lost."""
        refused, report = None, None
        try:
            report = act()
        except Conflict as error:
            refused = error
        if refused is None:
            assert force or not lost, f"it lost {lost}"
        else:
            assert not force
            assert all(name in refused.message for name in lost)
            assert lost or unclear, f"refused without a reason: {refused.message}"
        return report

    def _first(self, to: str | None) -> int:
        return 0 if to is None else next(i for i, change in enumerate(self.changes) if change[0] == to)

    def _loses(self, name: str, target: Value) -> bool:
        return not self.now[name].same(target) and bool(self.now[name].others - target.others)

    def _went(self, id_: str | None, targets: dict[str, Value]) -> None:
        moved = {name: target for name, target in targets.items() if not self.now[name].same(target)}
        assert (id_ is not None) == bool(moved)
        if id_:
            self.open.append(Taken({name: self.now[name] for name in moved}, moved))
            self._note(id_, moved)

    def _note(self, id_: str, moved: dict[str, Value]) -> None:
        self.changes += [(id_, name, self.now[name]) for name in moved]
        self.now |= moved
        self.noticed |= moved

    def undo(self, force: bool) -> None:
        if not self.changes:
            return
        if not self.open:
            with pytest.raises(NotFound):
                undo(self.kept, force)
            return
        last = self.open[-1]
        touched = {n for n, left in last.left.items() if not self.now[n].same(left) and not self._is(n, last.found[n])}
        report = self._allowed(lambda: undo(self.kept, force), force, touched, False)
        if report:
            assert report.rewind
            self._note(report.rewind, {n: found for n, found in last.found.items() if not self._is(n, found)})
            self.open.pop()

    def _is(self, name: str, value: Value) -> bool:
        return self.now[name].same(value)

    def reopen(self) -> None:
        digest = self.kept.hash
        self.kept.close()
        self.kept = Checkpoints(self.folder)
        if self.changes:
            assert self.kept.hash == digest

    # -- what must hold

    def check(self) -> None:
        real = {name: self._real(self.root / name) for name in NAMES}
        assert real == {name: (value.kind, value.text) for name, value in self.now.items()}
        others = sorted(p.name for p in self.root.rglob("*") if str(p.relative_to(self.root)) not in NAMES)
        assert others == ["sub", "theirs.txt"]

    @staticmethod
    def _real(path: Path) -> tuple[str, str]:
        if path.is_symlink():
            return "link", os.readlink(path)
        if not path.exists():
            return "absent", ""
        return ("program" if path.stat().st_mode & 0o100 else "file"), path.read_text()


names, kinds, forces = st.sampled_from(NAMES), st.sampled_from(KINDS), st.booleans()
steps = st.one_of(
    st.tuples(st.just("session"), names, kinds),
    st.tuples(st.just("session"), names, kinds),
    st.tuples(st.just("others"), names, kinds),
    st.tuples(st.just("back"), st.integers(0, 30), forces),
    st.tuples(st.just("undo"), forces),
    st.tuples(st.just("reopen")),
)


@settings(max_examples=int(os.environ.get("MUNIMENT_EXAMPLES", "60")))
@given(st.lists(steps, max_size=25))
def test_any_session_can_be_rewound(done: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        try:
            for name, *given_ in done:
                getattr(world, str(name))(*given_)
                world.check()
        finally:
            world.kept.close()
