"""What killed runs leave behind: sessions that were being unpacked from a bundle, or put together to be inscribed.

Both lie outside of what anybody reads, and hold what a person may want to be gone. Whoever has the lock of the store
removes them, so the next command that writes does, `forget` among them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from muniment import files
from muniment.store.layout import Layout

_STAGING = ".unbundling-"


@contextmanager
def staging_folder(layout: Layout) -> Generator[Path]:
    """A folder on the disk of the store, held by a lock that ends with its process.

    The caller has the lock of the store when it begins, so that nobody takes a new folder for one that was left."""
    folder = Path(tempfile.mkdtemp(dir=layout.data, prefix=_STAGING))
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    files.locked(descriptor)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def remove(layout: Layout) -> None:
    """Remove what killed runs left. The caller has the lock of the store, and has put nothing together yet."""
    shutil.rmtree(layout.unseen, ignore_errors=True)
    for folder in layout.data.glob(f"{_STAGING}*"):
        _remove_unless_held(folder)


def _remove_unless_held(folder: Path) -> None:
    """A run that is at work holds the lock of its folder."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # gone by now, or nothing of ours
        return
    try:
        if files.locked(descriptor):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)
