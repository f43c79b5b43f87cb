"""The page in a file that signs a browser in.

A browser that is started gets its address on its command line, which every user of the machine can read. So it gets
the path of a file that only its owner can read; the page in it sends the code to the server by a form.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from muniment import files

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>muniment</title></head>
<body><form method="post" action="{address}">
<input type="hidden" name="code" value="{code}"><input type="hidden" name="session" value="{session}">
<button>Open muniment</button></form><script>document.forms[0].submit()</script></body></html>
"""


def locate(folder: Path, port: int, code: str) -> Path:
    """Return the place of the page for a code. Its name tells nothing of the code to who sees it."""
    return folder / f"view-{port}-{hashlib.sha256(code.encode()).hexdigest()[:16]}.html"


def write(folder: Path, port: int, address: str, code: str, session: str | None) -> Path:
    """Write the page for a code; `address` is where its form leads."""
    path = locate(folder, port, code)
    files.write_atomic(path, [_PAGE.format(address=address, code=code, session=session or "").encode()])
    return path


def remove_all(folder: Path, port: int) -> None:
    """Remove what a server that was killed has left for its port."""
    for path in folder.glob(f"view-{port}-*.html"):
        path.unlink(missing_ok=True)
