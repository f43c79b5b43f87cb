"""Where the engagements of a project lie, and how several agents write them at once.

<project>/.engagements/<id>/engagement.md              under way
<project>/.engagements/archive/<id>/engagement.md      over

Whoever writes holds the lock of the folder, reads the file as it is then, and puts a new one in its place.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from muniment import files
from muniment.errors import Ambiguous, Conflict, MunimentError, NotFound, StoreError
from muniment.prospective import sheet, steps
from muniment.prospective.record import ARCHIVE, Record, is_id
from muniment.prospective.sheet import Sheet
from muniment.prospective.steps import Begin, Speaker, Step

NAME = ".engagements"
FILE = "engagement.md"
VARIABLE = "MUNIMENT_ENGAGEMENTS"
WAIT_SECONDS = 10.0


class Told(Struct, frozen=True):
    """One file: its record, or why it cannot be read."""

    path: Path
    data: bytes
    record: Record | None
    problem: str = ""
    archived: bool = False


def root(cwd: Path, env: Mapping[str, str]) -> Path:
    """`$MUNIMENT_ENGAGEMENTS`, else the nearest `.engagements` above the working folder, else one in it."""
    if given := env.get(VARIABLE):
        return Path(given).expanduser().absolute()
    cwd = cwd.absolute()
    near = (folder / NAME for folder in (cwd, *cwd.parents))
    return next((path for path in near if path.is_dir() and not path.is_symlink()), cwd / NAME)


def every(folder: Path) -> Iterator[Told]:
    """All engagements of a folder, those that are over too."""
    for place in (folder, folder / ARCHIVE):
        for path in _files(place):
            yield _told(path, place.name == ARCHIVE and place != folder)


def _files(place: Path) -> list[Path]:
    if place.is_symlink() or not place.is_dir():
        return []
    with os.scandir(place) as entries:
        found = sorted(e.name for e in entries if e.is_dir(follow_symlinks=False) and is_id(e.name))
    return [path for name in found if (path := place / name / FILE).is_file() and not path.is_symlink()]


def _told(path: Path, archived: bool) -> Told:
    data = b""
    try:
        data = _read(path)
        return Told(path, data, sheet.parse(data).record, archived=archived)
    except (MunimentError, OSError) as error:
        return Told(path, data, None, str(error), archived)


def _read(path: Path) -> bytes:
    with files.open_regular(path) as file:
        data = file.read(sheet.MAX_FILE + 1) or b""
    if len(data) > sheet.MAX_FILE:
        raise StoreError(f"{path}: too long for an engagement", f"at most {sheet.MAX_FILE >> 20} MiB are read")
    return data


def find(folder: Path, name: str) -> Told:
    """The engagement with this id, or with this beginning of one; those under way come first."""
    found = [told for told in every(folder) if told.path.parent.name.startswith(name)]
    exact = [told for told in found if told.path.parent.name == name]
    found = exact[:1] or [told for told in found if not told.archived] or found
    if not name or not found:
        raise NotFound(f"no engagement {name!r} in {folder}", "`muniment engagement list --all` lists them")
    if len(found) > 1:
        some = ", ".join(told.path.parent.name for told in found[:3])
        raise Ambiguous(f"{name!r} could be {some}", "give more of the id")
    return found[0]


# -- writing


def begin(folder: Path, given: Begin, by: Speaker) -> Told:
    """A new engagement. Raises Conflict if its id is taken."""
    step = steps.start(given, by)
    with lock(folder):
        taken = [folder / step.record.id, folder / ARCHIVE / step.record.id]
        if any(os.path.lexists(path) for path in taken):
            raise Conflict(f"there is an engagement {step.record.id} already", "give another --id")
        path = folder / step.record.id / FILE
        return _put(path, sheet.new(step.record, step.line), step.record)


def say(folder: Path, name: str, step: Callable[[Record], Step]) -> Told:
    """Take a step with an engagement; one that is over moves to the archive."""
    find(folder, name)  # where there is none, nothing is made
    with lock(folder):
        path = find(folder, name).path
        old = _sheet(path)
        made = step(old.record)
        told = _put(path, sheet.changed(old, made.record, made.line), made.record)
        return _archived(folder, told) if made.record.phase in steps.OVER else told


def _sheet(path: Path) -> Sheet:
    try:
        return sheet.parse(_read(path))
    except StoreError as error:
        raise StoreError(f"{path}: {error.message}", error.hint or "correct the file by hand") from None


def _put(path: Path, data: bytes, record: Record) -> Told:
    files.make_folder(path.parent)
    files.write_durable(path, [data])
    files.sync(path.parent)
    return Told(path, data, record)


def _archived(folder: Path, told: Told) -> Told:
    """By one rename, so that it is here or there."""
    target = folder / ARCHIVE / told.path.parent.name
    if told.path.parent != target:
        files.make_folder(target.parent)
        os.rename(told.path.parent, target)
        files.sync(folder)
    return Told(target / FILE, told.data, told.record, archived=True)


@contextlib.contextmanager
def lock(folder: Path) -> Generator[None]:
    """One writer at a time; freed when its process ends."""
    if folder.is_symlink():
        raise StoreError(f"{folder}: is a link", "links are not followed; name the folder itself")
    files.make_folder(folder)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(folder / ".lock", flags, files.FILE_MODE)
    try:
        until = time.monotonic() + WAIT_SECONDS
        while not files.locked(descriptor):
            if time.monotonic() > until:
                raise StoreError(f"{folder}: another process holds the lock", "try again when it is done")
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
