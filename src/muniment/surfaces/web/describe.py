"""The shapes of the API as TypeScript: for the page, for `docs/api.md`, and for whoever writes a page against it.

python -m muniment.surfaces.web.describe docs/api.md             prints that document with its shapes made anew
python -m muniment.surfaces.web.describe web/src/lib/types.ts    prints the types of the page
"""

from __future__ import annotations

import ast
import inspect
import sys
import types
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from msgspec import Struct, structs

from muniment.model.engagements import OPEN_PHASES
from muniment.viewing import shapes

_PLAIN: dict[Any, str] = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}
_BEGIN, _END = "```ts\n", "```\n"


def document(page: str) -> str:
    """The page with the shapes as they are now."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}{typescript()}{_END}{after}"


def module() -> str:
    """The types of the page, as a module."""
    interfaces = typescript().replace("\ninterface ", "\nexport interface ")
    phases = f"export const OPEN_PHASES: readonly string[] = {list(OPEN_PHASES)}\n".replace("'", '"')
    return f"// Made by `make docs` from {shapes.__name__}; not to be edited.\n\n{phases}\n{interfaces}"


def typescript() -> str:
    """Every answer and every edit, with what they are made of, as interfaces."""
    own = [value for value in vars(shapes).values() if isinstance(value, type) and value.__module__ == shapes.__name__]
    found: dict[str, type[Struct]] = {}
    for shape in own:
        _collect(shape, found)
    return "\n".join(_interface(shape) for shape in found.values())


def _collect(shape: Any, into: dict[str, type[Struct]]) -> None:
    """A shape after those it is made of."""
    if isinstance(shape, type) and issubclass(shape, Struct) and shape.__name__ not in into:
        for part in get_type_hints(shape).values():
            _collect(part, into)
        into[shape.__name__] = shape
    for part in get_args(shape):
        _collect(part, into)


def _interface(shape: type[Struct]) -> str:
    hints, notes = get_type_hints(shape), _notes(shape)
    lines = [f"/** {' '.join((shape.__doc__ or '').split())} */", f"interface {shape.__name__} {{"]
    for field in structs.fields(shape):
        note = f"  // {notes[field.name]}" if field.name in notes else ""
        left_out = shape.__struct_config__.omit_defaults and not field.required
        lines.append(f"  {field.encode_name}{'?' if left_out else ''}: {_type(hints[field.name])}{note}")
    return "\n".join([*lines, "}", ""])


def _notes(shape: type[Struct]) -> dict[str, str]:
    """What is written below each field; the language itself forgets it."""
    body = cast("ast.ClassDef", ast.parse(inspect.getsource(shape)).body[0]).body
    notes: dict[str, str] = {}
    for field, below in pairwise(body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(value=ast.Constant(value=str(words))):
                notes[name] = " ".join(words.split())
            case _:
                continue
    return notes


def _type(hint: Any) -> str:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " | ".join(_type(part) for part in parts)
    if origin is Literal:
        return " | ".join(f'"{part}"' for part in parts)
    if origin is list or (origin is tuple and parts[-1] is Ellipsis):
        inner = _type(parts[0])
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if origin is tuple:
        return f"[{', '.join(_type(part) for part in parts)}]"
    return _PLAIN.get(hint) or hint.__name__


if __name__ == "__main__":
    asked = Path(sys.argv[1])
    sys.stdout.write(module() if asked.suffix == ".ts" else document(asked.read_text()))
