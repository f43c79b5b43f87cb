"""Every error meant for a person, in one tree; only the command line turns them into words.

    MunimentError                  exit code 1
    ├── NotFound                   3   no such session, file or source
    ├── Ambiguous                  4   a prefix that several sessions share
    ├── UnknownFormat              5   no source recognises the file
    ├── Conflict                   6   the target holds something else, or a step does not follow; nothing was written
    ├── Unsupported                7   a document or store of another version, or a target that cannot hold it
    ├── StoreError                 8   the store cannot be read or written
    │   └── Damaged                    a file of the store is not what it was
    └── NotRecorded                9   an event could not be recorded; nothing was acknowledged

Damage inside a session is no error: it is a `Problem` value that travels beside the good data.
"""

from __future__ import annotations


class MunimentError(Exception):
    """Something a person can act on: one line of what, and a hint of what to do."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NotFound(MunimentError):
    """What was asked for is not there."""

    exit_code = 3


class Ambiguous(MunimentError):
    """Several sessions answer to the name that was given."""

    exit_code = 4


class UnknownFormat(MunimentError):
    """No source recognises the file."""

    exit_code = 5


class Conflict(MunimentError):
    """The target holds something else, and nobody asked to overwrite it; or a step does not follow from the last."""

    exit_code = 6


class Unsupported(MunimentError):
    """A document, store or target that this version cannot handle."""

    exit_code = 7


class StoreError(MunimentError):
    """The store cannot be read or written."""

    exit_code = 8


class Damaged(StoreError):
    """A file of the store is not what it was: the disk, a program or a person changed it."""

    def __init__(self, message: str, hint: str = "", path: str = "", offset: int = 0) -> None:
        super().__init__(message, hint)
        self.path = path
        self.offset = offset


class NotRecorded(MunimentError):
    """An event could not be recorded; whatever was acknowledged before is safe."""

    exit_code = 9
