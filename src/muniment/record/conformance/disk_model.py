"""What an honest but merciless disk keeps of a traced program's writes. Pure: a trace goes in, bytes come out.

Kept are the bytes that were written before an fsync began that succeeded, in files whose name was synced by an fsync of
the folder. What an fsync failed on is gone for good, whatever a later one says: that is what Linux does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

_WHOLE = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+)(.*)$")
_BEGUN = re.compile(r"^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (-?\d+)(.*)$")
_DESCRIPTOR = re.compile(r"^\d+<([^>]*)>")
_QUOTED = re.compile(r'"([^"]*)"')
_UNKNOWN = {"pwrite64", "ftruncate", "truncate", "rename", "renameat2", "linkat", "unlink"}


class UnknownCall(Exception):
    """The program does something to its files that the model does not know."""


class Call(Struct, frozen=True):
    """The beginning or the end of a system call, or both at once."""

    name: str
    path: str
    result: int
    begun: bool
    ended: bool
    creates: bool = False


def calls_of(lines: Iterable[str]) -> list[Call]:
    """A trace (`strace -f -y -s 0`) as calls in the order of their events; threads begin and end in between."""
    calls: list[Call] = []
    waiting: dict[str, tuple[str, str]] = {}
    for line in lines:
        if match := _WHOLE.match(line):
            calls.append(_call(match[2], match[3], match[4], match[5], begun=True))
        elif match := _BEGUN.match(line):
            waiting[match[1]] = (match[2], match[3])
            calls.append(Call(match[2], _path(match[2], match[3], ""), 0, begun=True, ended=False))
        elif (match := _RESUMED.match(line)) and match[1] in waiting:
            name, arguments = waiting.pop(match[1])
            calls.append(_call(name, arguments + match[3], match[4], match[5], begun=False))
    return calls


def _call(name: str, arguments: str, result: str, rest: str, begun: bool) -> Call:
    path = _path(name, arguments, rest)
    return Call(name, path, int(result), begun, ended=True, creates="O_CREAT" in arguments or name == "mkdir")


def _path(name: str, arguments: str, rest: str) -> str:
    """The file that a call concerns: behind its descriptor, or by its name."""
    if name == "openat" and (opened := re.match(r"^<([^>]*)>", rest)):
        return opened[1]
    if name not in ("openat", "mkdir") and (found := _DESCRIPTOR.match(arguments)):
        return found[1]
    quoted = _QUOTED.search(arguments)
    return quoted[1] if quoted else ""


class _File:
    """One file: how much was written, how much of it is safe, and what is gone."""

    def __init__(self) -> None:
        self.size = 0
        self.safe = 0
        self.gone: list[tuple[int, int]] = []
        self.syncing = 0
        self.named = False


class Disk:
    """The folder of a subject, empty at first, as the disk has it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, _File] = {}

    def follow(self, call: Call) -> None:
        """Take note of a call. What is not in the folder does not matter."""
        if Path(call.path) == self._folder:
            self._folder_synced(call)
        elif call.path and Path(call.path).parent == self._folder:
            self._changed(self._files.setdefault(Path(call.path).name, _File()), call)

    def _folder_synced(self, call: Call) -> None:
        if call.name in ("fsync", "fdatasync") and call.ended and call.result == 0:
            for file in self._files.values():
                file.named = True

    def _changed(self, file: _File, call: Call) -> None:
        if call.name in _UNKNOWN and call.result >= 0:
            raise UnknownCall(call.name)
        if call.name in ("write", "writev") and call.ended:
            file.size += max(0, call.result)
        if call.name in ("fsync", "fdatasync"):
            self._synced(file, call)

    def _synced(self, file: _File, call: Call) -> None:
        if call.begun:
            file.syncing = file.size
        if not call.ended:
            return
        if call.result == 0:
            file.safe = max(file.safe, file.syncing)
        else:
            file.gone.append((file.safe, file.size))

    def kept(self, path: Path) -> bytes | None:
        """What is left of a file after a power cut: None if its name is gone, zeros where its bytes are."""
        file = self._files.get(path.name)
        if file is None or not file.named:
            return None
        content = bytearray(path.read_bytes()[: file.safe])
        for start, end in file.gone:
            end = min(end, len(content))
            content[start:end] = bytes(max(0, end - start))
        return bytes(content)
