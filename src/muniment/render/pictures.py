"""Images inside the page, as data: only what is an image by its first bytes, and never SVG, which is a program."""

from __future__ import annotations

import base64
from pathlib import Path

from muniment import files
from muniment.errors import MunimentError
from muniment.render.blocks import words
from muniment.store.layout import safe_name

MAX_BYTES = 8 << 20
_STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"BM": "image/bmp",
}


def image_type(data: bytes) -> str | None:
    """What kind of image these bytes are, if a page may show them."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:12] == b"ftypavif":
        return "image/avif"
    return next((kind for start, kind in _STARTS.items() if data.startswith(start)), None)


def picture(folder: Path, name: str) -> str:
    """A media file of a session, embedded if it is an image, named if not."""
    data = _load(folder, name)
    if data is None:
        return _named(name, "not in the archive")
    kind = image_type(data)
    if kind is None:
        return _named(name, f"{len(data):,} bytes, not an image")
    if len(data) > MAX_BYTES:
        return _named(name, f"{len(data):,} bytes, too large to embed")
    source = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return f'<figure><img alt="Image of {len(data):,} bytes" loading="lazy" src="{source}"></figure>'


def _named(name: str, why: str) -> str:
    return f'<p class="file-name">{words(name)} <span>{why}</span></p>'


def _load(folder: Path, name: str) -> bytes | None:
    if safe_name(name) != name:
        return None
    try:
        with files.open_regular(folder / name) as file:
            return file.read()
    except (MunimentError, OSError):
        return None
