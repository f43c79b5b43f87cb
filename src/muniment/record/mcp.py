"""Recording what an MCP server does: every tool call before it runs, and its result or error after.

    call_tool = recorded(call_tool, recorder)      # any dispatch `(name, arguments) -> result`, sync or async
    attach(server, recorder)                       # a server of the official `mcp` package, version 1 or 2

The recorder is a bystander: what the tool returns or raises reaches the caller unchanged, and a recorder that fails is
told of and does not fail the tool, unless `strict` says that nothing may happen unrecorded. `mcp` is not imported here;
its servers are known by their shape.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import inspect
import math
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol, cast

import msgspec

from muniment.errors import Unsupported
from muniment.model.codec import mapping

_CALL_TOOL = "tools/call"
_DEEPEST = 100

OnError = Callable[[Exception], None]
"""Told when the recorder fails and the tool goes on."""


class ToolRecorder(Protocol):
    """What is needed of a recorder; `muniment.record.Recorder` is one."""

    def tool_call(self, name: str, input: Any) -> Any: ...
    def tool_result(self, call: Any, output: Any, is_error: bool = False) -> Any: ...


def recorded(
    dispatch: Callable[..., Any], recorder: ToolRecorder, *, strict: bool = False, on_error: OnError | None = None
) -> Callable[..., Any]:
    """A dispatch that does the same and is recorded. Further arguments are handed on and not recorded."""
    witness = _Witness(recorder, strict, on_error)

    def run(name: str, arguments: Any = None, *args: Any, **kwargs: Any) -> Any:
        call = witness.call(name, arguments)
        try:
            result = dispatch(name, arguments, *args, **kwargs)
        except BaseException as error:
            witness.failed(call, error)
            raise
        if inspect.isawaitable(result):
            return _awaited(result, call, witness)
        witness.returned(call, result)
        return result

    async def run_async(name: str, arguments: Any = None, *args: Any, **kwargs: Any) -> Any:
        return await run(name, arguments, *args, **kwargs)

    # A coroutine is recorded when it begins to run, not when it is made; frameworks also look at what kind they got.
    return run_async if _is_async(dispatch) else run


async def _awaited(result: Awaitable[Any], call: Any, witness: _Witness) -> Any:
    try:
        value = await result
    except BaseException as error:
        witness.failed(call, error)
        raise
    witness.returned(call, value)
    return value


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def attach(server: Any, recorder: ToolRecorder, *, strict: bool = False, on_error: OnError | None = None) -> None:
    """Record every tool call that clients make of this server. Its tools must be registered, or its handler for them.

    Raises Unsupported for what is no such server."""
    low = getattr(server, "_lowlevel_server", None) or getattr(server, "_mcp_server", None) or server
    if hasattr(low, "get_request_handler") and hasattr(low, "add_request_handler"):
        _attach_by_method(low, recorder, strict, on_error)
    elif isinstance(getattr(low, "request_handlers", None), dict):
        _attach_by_type(low.request_handlers, recorder, strict, on_error)
    else:
        raise Unsupported(
            f"{type(server).__name__} is no MCP server that is known here", "wrap its dispatch: recorded()"
        )


def _attach_by_method(low: Any, recorder: ToolRecorder, strict: bool, on_error: OnError | None) -> None:
    """Version 2: handlers `(context, params) -> result` by the method's name."""
    entry = low.get_request_handler(_CALL_TOOL)
    if entry is None:
        raise _no_handler()

    async def dispatch(name: str, arguments: Any, context: Any, params: Any) -> Any:
        return await entry.handler(context, params)

    run = recorded(dispatch, recorder, strict=strict, on_error=on_error)

    async def handler(context: Any, params: Any) -> Any:
        return await run(params.name, params.arguments or {}, context, params)

    low.add_request_handler(_CALL_TOOL, entry.params_type, handler)


def _attach_by_type(
    handlers: dict[Any, Callable[..., Any]], recorder: ToolRecorder, strict: bool, on_error: OnError | None
) -> None:
    """Version 1: handlers `(request) -> result` by the request's class."""
    key = next((kind for kind in handlers if getattr(kind, "__name__", "") == "CallToolRequest"), None)
    if key is None:
        raise _no_handler()
    inner = handlers[key]

    async def dispatch(name: str, arguments: Any, request: Any) -> Any:
        return await inner(request)

    run = recorded(dispatch, recorder, strict=strict, on_error=on_error)

    async def handler(request: Any) -> Any:
        return await run(request.params.name, request.params.arguments or {}, request)

    handlers[key] = handler


def _no_handler() -> Unsupported:
    return Unsupported("the server has no handler for tool calls yet", "register it first, then attach the recorder")


class _Witness:
    """Tells a recorder what it sees."""

    def __init__(self, recorder: ToolRecorder, strict: bool, on_error: OnError | None) -> None:
        self.recorder = recorder
        self.strict = strict
        self.on_error = on_error

    def call(self, name: str, arguments: Any) -> Any:
        """The recorded call; None if that failed."""
        try:
            return self.recorder.tool_call(name, jsonable(arguments))
        except Exception as error:
            if self.strict:
                raise
            self._tell(error)
            return None

    def returned(self, call: Any, result: Any) -> None:
        if call is None:
            return
        try:
            self.recorder.tool_result(call, output_of(result), is_error=_says_error(result))
        except Exception as error:
            if self.strict:
                raise
            self._tell(error)

    def failed(self, call: Any, error: BaseException) -> None:
        """The caller gets the tool's own error in any case."""
        if call is None:
            return
        try:
            self.recorder.tool_result(call, _words(error), is_error=True)
        except Exception as trouble:
            self._tell(trouble)

    def _tell(self, error: Exception) -> None:
        """Neither a listener that fails nor a warning that is made an error stops the tool."""
        with contextlib.suppress(Exception):
            if self.on_error:
                self.on_error(error)
            else:
                warnings.warn(f"a tool call was not recorded: {error}", RuntimeWarning, stacklevel=3)


def _words(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError) or type(error).__name__ == "Cancelled":
        return "cancelled"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


# -- values


def output_of(result: Any) -> Any:
    """A tool's result as JSON: of an MCP result its list of parts, with what else it says as a last part."""
    said = jsonable(result)
    fields = mapping(said)
    if not isinstance(fields.get("content"), list):
        return said
    parts = cast("list[Any]", fields["content"])
    more = {name: value for name, value in fields.items() if name not in ("content", "isError", "is_error")}
    return [*parts, {"type": "result", **more}] if more else parts


def _says_error(result: Any) -> bool:
    inner: Any = getattr(result, "root", result)
    said = mapping(inner) or {name: getattr(inner, name, None) for name in ("isError", "is_error")}
    return said.get("isError") is True or said.get("is_error") is True


def jsonable(value: Any, depth: int = 0) -> Any:
    """The value as JSON can hold it. What has no such form is given as text; nothing is refused."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, bytes | bytearray):
        return {"type": "bytes", "base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value).items()
        return {str(name): jsonable(inner, depth + 1) for name, inner in pairs}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(inner, depth + 1) for inner in cast("Iterable[Any]", value)]
    with contextlib.suppress(Exception):
        return jsonable(_fields(value), depth + 1)
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


def _fields(value: Any) -> Any:
    """What an object holds. Raises if it does not tell."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return msgspec.to_builtins(value)
