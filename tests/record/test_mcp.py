"""The MCP middleware: every dispatch is recorded, and nothing that the tool or its caller sees changes."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import subprocess
import sys
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from muniment.errors import Unsupported
from muniment.record import Recorder
from muniment.record.mcp import attach, jsonable, output_of, recorded


class Ledger:
    """A recorder that keeps what it is told in memory, or fails at what it is told to fail at."""

    def __init__(self, *fails: str) -> None:
        self.said: list[tuple[Any, ...]] = []
        self.fails = fails

    def tool_call(self, name: str, input: Any) -> int:
        if "call" in self.fails:
            raise OSError("the disk is full")
        self.said.append(("call", name, input))
        return len(self.said)

    def tool_result(self, call: int, output: Any, is_error: bool = False) -> None:
        if "result" in self.fails:
            raise OSError("the disk is full")
        self.said.append(("result", call, output, is_error))


def add(name: str, arguments: dict[str, int]) -> int:
    if name != "add":
        raise LookupError(name)
    return arguments["a"] + arguments["b"]


async def add_later(name: str, arguments: dict[str, int]) -> int:
    await asyncio.sleep(0)
    return add(name, arguments)


class AddObject:
    """A callable object whose call is a coroutine."""

    async def __call__(self, name: str, arguments: dict[str, int]) -> int:
        return await add_later(name, arguments)


def call(dispatch: Callable[..., Any], *args: Any) -> Any:
    """Call a dispatch of any kind."""

    async def waited() -> Any:
        return await dispatch(*args)

    result = dispatch(*args) if not asyncio.iscoroutinefunction(dispatch) else asyncio.run(waited())
    return asyncio.run(_wait(result)) if asyncio.iscoroutine(result) else result


async def _wait(result: Awaitable[Any]) -> Any:
    return await result


KINDS = [add, add_later, AddObject(), lambda name, arguments: add_later(name, arguments)]


@pytest.mark.parametrize("dispatch", KINDS)
def test_a_call_and_its_result(dispatch: Callable[..., Any]) -> None:
    ledger = Ledger()
    assert call(recorded(dispatch, ledger), "add", {"a": 1, "b": 2}) == 3
    assert ledger.said == [("call", "add", {"a": 1, "b": 2}), ("result", 1, 3, False)]


@pytest.mark.parametrize("dispatch", KINDS)
def test_an_exception_is_recorded_and_raised_unchanged(dispatch: Callable[..., Any]) -> None:
    ledger = Ledger()
    with pytest.raises(LookupError) as raised:
        call(recorded(dispatch, ledger), "subtract", {})
    assert raised.value.args == ("subtract",)
    assert ledger.said[1:] == [("result", 1, "LookupError: subtract", True)]


def test_the_call_is_recorded_before_the_tool_runs() -> None:
    ledger = Ledger()
    seen: list[int] = []
    recorded(lambda name, arguments: seen.append(len(ledger.said)), ledger)("look", {})
    assert seen == [1]


def test_cancellation_is_recorded_as_an_error() -> None:
    ledger = Ledger()

    async def forever(name: str, arguments: Any) -> None:
        await asyncio.Event().wait()

    async def run() -> None:
        task = asyncio.create_task(recorded(forever, ledger)("wait", {}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert ledger.said == [("call", "wait", {}), ("result", 1, "cancelled", True)]


def test_calls_at_the_same_time_keep_their_results() -> None:
    ledger = Ledger()

    async def slow(name: str, arguments: dict[str, float]) -> str:
        await asyncio.sleep(arguments["seconds"])
        return name

    async def run() -> None:
        dispatch = recorded(slow, ledger)
        await asyncio.gather(dispatch("long", {"seconds": 0.02}), dispatch("short", {"seconds": 0}))

    asyncio.run(run())
    assert ledger.said[2:] == [("result", 2, "short", False), ("result", 1, "long", False)]


# -- a recorder that fails


@pytest.mark.parametrize("fails", ["call", "result"])
@pytest.mark.parametrize("dispatch", KINDS)
def test_a_failing_recorder_does_not_break_the_tool(fails: str, dispatch: Callable[..., Any]) -> None:
    told: list[Exception] = []
    assert call(recorded(dispatch, Ledger(fails), on_error=told.append), "add", {"a": 1, "b": 2}) == 3
    with pytest.raises(LookupError):
        call(recorded(dispatch, Ledger(fails), on_error=told.append), "subtract", {})
    assert [str(error) for error in told] == ["the disk is full"] * 2
    with pytest.warns(RuntimeWarning, match="not recorded: the disk is full"):
        assert call(recorded(dispatch, Ledger(fails)), "add", {"a": 1, "b": 2}) == 3


def test_neither_does_a_warning_made_an_error_or_a_listener_that_fails() -> None:
    def listener(error: Exception) -> None:
        raise RuntimeError("me too")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert recorded(add, Ledger("call"))("add", {"a": 1, "b": 2}) == 3
    assert recorded(add, Ledger("call"), on_error=listener)("add", {"a": 1, "b": 2}) == 3


def test_strict_insists() -> None:
    ran: list[str] = []

    def tool(name: str, arguments: Any) -> None:
        ran.append(name)
        if name == "bad":
            raise LookupError(name)

    with pytest.raises(OSError, match="full"):
        recorded(tool, Ledger("call"), strict=True)("one", {})
    assert ran == [], "what cannot be recorded does not happen"
    with pytest.raises(OSError, match="full"):
        recorded(tool, Ledger("result"), strict=True)("two", {})
    with pytest.raises(LookupError), pytest.warns(RuntimeWarning):
        recorded(tool, Ledger("result"), strict=True)("bad", {})


# -- values


@dataclasses.dataclass
class Point:
    x: int
    y: float


class Text:
    """A part of a result, of the same shape as those of the `mcp` package."""

    def __init__(self, text: str) -> None:
        self.text = text

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {"type": "text", "text": self.text}


class Stubborn:
    def model_dump(self, **_: Any) -> dict[str, Any]:
        raise ValueError("no")

    def __str__(self) -> str:
        return "stubborn"


def test_results_become_json() -> None:
    value = {
        1: (Text("hi"), {2}),
        "bytes": b"\xff",
        "nan": float("nan"),
        "point": Point(1, 2.0),
        "path": Path("/proj/a"),
        "odd": Stubborn(),
    }
    made = jsonable(value)
    assert json.loads(json.dumps(made)) == made
    assert made == {
        "1": [{"type": "text", "text": "hi"}, [2]],
        "bytes": {"type": "bytes", "base64": "/w=="},
        "nan": "nan",
        "point": {"x": 1, "y": 2.0},
        "path": "/proj/a",
        "odd": "stubborn",
    }


def test_a_value_that_contains_itself_ends_somewhere() -> None:
    value: list[Any] = []
    value.append(value)
    assert "…" in json.dumps(jsonable(value), ensure_ascii=False)


def test_an_mcp_result_is_its_parts() -> None:
    parts = [{"type": "text", "text": "3"}]
    assert output_of({"content": parts, "isError": False}) == parts
    assert output_of({"content": parts, "structuredContent": {"sum": 3}}) == [
        *parts,
        {"type": "result", "structuredContent": {"sum": 3}},
    ]
    assert output_of([Text("3")]) == parts
    ledger = Ledger()
    recorded(lambda name, arguments: {"content": parts, "isError": True}, ledger)("x", {})
    assert ledger.said[1] == ("result", 1, parts, True)


# -- servers


class Result(Text):
    """What a tool call of a server comes to."""

    def __init__(self, text: str, failed: bool = False) -> None:
        super().__init__(text)
        self.isError = self.is_error = failed

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": self.text}], "isError": self.isError}


class CallToolRequest:
    """Named as in the `mcp` package: version 1 finds its handlers by it."""

    def __init__(self, name: str, arguments: dict[str, Any] | None) -> None:
        self.params = SimpleNamespace(name=name, arguments=arguments)


class ServerOne:
    """The shape of version 1: a high-level server around one with handlers by type."""

    def __init__(self) -> None:
        async def handler(request: Any) -> Any:
            return SimpleNamespace(root=await answer(request.params), model_dump=Result(request.params.name).model_dump)

        self._mcp_server = SimpleNamespace(request_handlers={CallToolRequest: handler})

    async def receive(self, name: str, arguments: dict[str, Any] | None) -> Any:
        return (await self._mcp_server.request_handlers[CallToolRequest](CallToolRequest(name, arguments))).root


class ServerTwo:
    """The shape of version 2: handlers by the method's name."""

    def __init__(self) -> None:
        async def handler(context: Any, params: Any) -> Any:
            return await answer(params)

        self.handlers: dict[str, Any] = {"tools/call": SimpleNamespace(params_type=dict, handler=handler)}

    def get_request_handler(self, method: str) -> Any:
        return self.handlers.get(method)

    def add_request_handler(self, method: str, params_type: type, handler: Any) -> None:
        self.handlers[method] = SimpleNamespace(params_type=params_type, handler=handler)

    async def receive(self, name: str, arguments: dict[str, Any] | None) -> Any:
        return await self.handlers["tools/call"].handler(None, SimpleNamespace(name=name, arguments=arguments))


async def answer(params: Any) -> Result:
    await asyncio.sleep(0)
    return Result(params.name, failed=params.name == "bad")


@pytest.mark.parametrize("make", [ServerOne, ServerTwo])
def test_a_server_of_either_version(make: Callable[[], Any]) -> None:
    ledger, server = Ledger(), make()
    attach(server, ledger)
    assert asyncio.run(server.receive("good", {"a": 1})).text == "good"
    assert asyncio.run(server.receive("bad", None)).is_error
    assert ledger.said == [
        ("call", "good", {"a": 1}),
        ("result", 1, [{"type": "text", "text": "good"}], False),
        ("call", "bad", {}),
        ("result", 3, [{"type": "text", "text": "bad"}], True),
    ]


@pytest.mark.parametrize("server", [object(), SimpleNamespace(request_handlers={})])
def test_what_is_no_server_with_tools_is_refused(server: Any) -> None:
    with pytest.raises(Unsupported):
        attach(server, Ledger())


def test_a_recorded_server_makes_a_session(tmp_path: Path) -> None:
    server = ServerTwo()
    with Recorder.start(tmp_path, home=tmp_path / "recorder") as rec:
        attach(server, rec)
        asyncio.run(server.receive("good", {"a": 1}))
        asyncio.run(server.receive("bad", {}))
    events = [json.loads(line) for line in rec.path.read_bytes().splitlines()]
    told = [(e["type"], e["payload"]["name"], e["payload"].get("is_error")) for e in events if "tool" in e["type"]]
    assert told == [
        ("tool_call", "good", None),
        ("tool_result", "good", False),
        ("tool_call", "bad", None),
        ("tool_result", "bad", True),
    ]


def test_the_mcp_package_is_not_imported() -> None:
    code = "import sys, muniment.record.mcp; sys.exit('mcp' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# -- the real package, where it is installed


def test_the_real_server() -> None:
    pytest.importorskip("mcp")
    ledger = Ledger()
    asyncio.run(_real_session(ledger))
    assert [said[:2] for said in ledger.said if said[0] == "call"] == [("call", "add"), ("call", "fail")]
    (_, _, added, wrong), (_, _, failure, failed) = [said for said in ledger.said if said[0] == "result"]
    assert added[0]["text"] == "3"
    assert "fail" in json.dumps(failure), "version 2 tells a client which tool failed, and not why"
    assert (wrong, failed) == (False, True)


async def _real_session(ledger: Ledger) -> None:
    """A client in the same process calls two tools of a real server."""
    server = _real_server()

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @server.tool()
    def fail() -> str:
        """Fail."""
        raise RuntimeError("no luck")

    attach(server, ledger)
    async with _real_client(server) as client:
        assert (await client.call_tool("add", {"a": 1, "b": 2})).content[0].text == "3"
        answered = await client.call_tool("fail", {})
        assert getattr(answered, "isError", False) or getattr(answered, "is_error", False)


def _real_server() -> Any:
    try:
        from mcp.server.mcpserver import MCPServer
    except ModuleNotFoundError:
        from mcp.server.fastmcp import FastMCP

        return FastMCP("test")
    return MCPServer("test")


def _real_client(server: Any) -> Any:
    try:
        from mcp.client import Client
    except ImportError:
        from mcp.shared.memory import create_connected_server_and_client_session

        return create_connected_server_and_client_session(server._mcp_server)
    return Client(server)
