"""How the objects of the three APIs are told apart."""

from __future__ import annotations

from typing import Any

TIMES = ("timestamp", "created_at", "createdAt", "created", "time", "ts")
"""Fields in which programs note when something was said."""

BESIDE = ("_metadata", "metadata")
"""Fields that may hold one of those in an object."""

BEGUN = frozenset({"created_at", "createdAt", "created"})
"""Those of them that tell of a document when it was begun."""

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
ITEMS = frozenset(
    {
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "web_search_call",
        "file_search_call",
        "computer_call",
        "computer_call_output",
        "image_generation_call",
        "code_interpreter_call",
        "local_shell_call",
        "local_shell_call_output",
        "mcp_call",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "item_reference",
    }
)
"""Types of the items of the Responses API."""

FOREIGN = frozenset(
    [
        "sessionId",
        "projectHash",
        "info",
        "parts",
        "mapping",
        "chat_messages",
        "schema_version",
        "session",
        "items",
        "session_id",
        "kind",
        "payload",
        "parentUuid",
        "uuid",
        "parentId",
        "parent_id",
        "record_type",
        "steps",
        "data",
        "sessionID",
        "messageID",
    ]
)
"""Fields that tell of somebody's own format."""

ROW = FOREIGN | {"conversation_id", "conversationId", "thread_id", "threadId", "chat_id", "chatId"}
"""The same of a message: one that names its conversation is a row of a table, where many are mixed."""


def is_message(value: dict[str, Any]) -> bool:
    """A message of any of the APIs. Every provider and program adds fields, so all but those of a row may be there."""
    if not known(value.get("role"), ROLES) or value.keys() & ROW:
        return False
    said = value.get("content")
    spoken = "content" in value and (said is None or isinstance(said, (str, list)))
    return spoken or isinstance(value.get("tool_calls"), list) or isinstance(value.get("function_call"), dict)


def known(name: Any, names: frozenset[str]) -> bool:
    """Whether a field that may hold anything, a list too, holds one of these names."""
    return isinstance(name, str) and name in names


def is_item(value: dict[str, Any]) -> bool:
    """An item of the Responses API other than a message."""
    kind = value.get("type")
    if value.keys() & FOREIGN:
        return False
    if kind in ("function_call_output", "custom_tool_call_output"):
        return "call_id" in value and "output" in value
    if kind in ("function_call", "custom_tool_call"):
        return "call_id" in value and "name" in value
    return known(kind, ITEMS) and kind != "message" and ("id" in value or "summary" in value)


def is_exchange(value: dict[str, Any]) -> bool:
    """A request, an answer, or both."""
    if value.keys() & FOREIGN:
        return False
    inner = [value.get(name) for name in ("request", "response") if isinstance(value.get(name), dict)]
    if inner:
        return any(is_exchange(body) for body in inner if isinstance(body, dict))  # pyright: ignore[reportUnknownArgumentType]
    return any(says(value.get(name)) for name in ("messages", "input", "output")) or _chooses(value)


def says(listed: Any) -> bool:
    """A list whose first entry is a message or an item."""
    if not isinstance(listed, list) or not listed or not isinstance(listed[0], dict):
        return False
    return is_message(listed[0]) or is_item(listed[0])  # pyright: ignore[reportUnknownArgumentType]


def _chooses(value: dict[str, Any]) -> bool:
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return False
    message: Any = choices[0].get("message")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return isinstance(message, dict) and is_message(message)  # pyright: ignore[reportUnknownArgumentType]
