"""Other files that stand in a file of instructions as `@path`: found in its text, outside of code."""

from __future__ import annotations

import re

MAX_DEPTH = 5
"""So many steps from the first file; what lies deeper is not read by the agents either."""

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_IMPORT = re.compile(r"(?<![^\s(*_>])@(~?[\w./\\-][^\s`\"'<>|]*)")


def imports(text: str) -> list[str]:
    """The paths that a text imports, in order, each once. A name without dot and slash is somebody spoken to."""
    for pattern in (_FENCE, _COMMENT, _CODE):
        text = pattern.sub(" ", text)
    found = (match[1].rstrip(".,;:!?)*_") for match in _IMPORT.finditer(text))
    return list(dict.fromkeys(path for path in found if "." in path.rpartition("/")[2] or "/" in path))
