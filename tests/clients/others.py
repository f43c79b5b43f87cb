"""The other clients: where each keeps settings and sessions, how one prompt is run, and what its tools are called."""

import contextlib
import json
import shlex
import sqlite3
from pathlib import Path

from .client import MODEL, Client, write_json
from .model_server import SMALL_MODEL
from .wires import Json, call_block

PROVIDER = "stand-in-provider"

CODEX_MODEL = "gpt-5.5"
"""One that the client knows: others are not given the tool for edits."""

CODEX_SETTINGS = """
model = "{model}"
model_provider = "{provider}"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.{provider}]
name = "{provider}"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "STAND_IN_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false
"""


class Codex(Client):
    """OpenAI's Codex, told by `exec`."""

    name = "codex"
    program_name = "codex"

    @property
    def config(self) -> Path:
        return self.home / ".codex"

    def settle(self) -> None:
        self.config.mkdir(parents=True, exist_ok=True)
        settings = CODEX_SETTINGS.format(model=CODEX_MODEL, provider=PROVIDER, url=self.model.url)
        (self.config / "config.toml").write_text(settings)

    def variables(self) -> dict[str, str]:
        return {"STAND_IN_KEY": "none"}

    def asking(self, prompt: str, options: tuple[str, ...]) -> list[str]:
        return ["exec", "--skip-git-repo-check", *options, prompt]

    def resuming(self, session_id: str) -> tuple[str, ...]:
        return ("resume", session_id)

    def forking(self, session_id: str) -> tuple[str, ...]:
        return ("fork", session_id)

    def session_ids(self) -> list[str]:
        return [path.stem[-36:] for path in sorted(self.config.glob("sessions/**/rollout-*.jsonl"))]

    def shell(self, command: str) -> Json:
        return call_block("exec_command", cmd=command)

    def reads(self, path: Path) -> Json:
        return self.shell(f"cat {path}")

    def looks_at(self, path: Path) -> Json:
        return call_block("view_image", path=str(path))

    def edits(self, path: Path, old: str, new: str) -> Json:
        return patches(f"*** Update File: {path}\n@@\n-{old}\n+{new}\n")

    def writes(self, path: Path, line: str) -> Json:
        return patches(f"*** Add File: {path}\n+{line}\n")


def patches(change: str) -> Json:
    """A call of the tool for edits, which takes any text."""
    return {**call_block("apply_patch"), "input": f"*** Begin Patch\n{change}*** End Patch\n"}


class Pi(Client):
    """The pi coding agent, told by `-p`."""

    name = "pi"
    program_name = "pi"

    @property
    def config(self) -> Path:
        return self.home / ".pi" / "agent"

    def settle(self) -> None:
        model = {"id": MODEL, "reasoning": True, "input": ["text", "image"], "contextWindow": 200000, "maxTokens": 8000}
        provider = {"baseUrl": self.model.url, "api": "anthropic-messages", "apiKey": "none", "models": [model]}
        write_json(self.config / "models.json", {"providers": {PROVIDER: provider}})

    def variables(self) -> dict[str, str]:
        return {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}

    def asking(self, prompt: str, options: tuple[str, ...]) -> list[str]:
        return ["--provider", PROVIDER, "--model", MODEL, *options, "-p", prompt]

    def resuming(self, session_id: str) -> tuple[str, ...]:
        return ("--session", session_id)

    def forking(self, session_id: str) -> tuple[str, ...]:
        return ("--fork", session_id)

    def session_ids(self) -> list[str]:
        return [json.loads(first_line(path))["id"] for path in sorted(self.config.glob("sessions/**/*.jsonl"))]

    def shell(self, command: str) -> Json:
        return call_block("bash", command=command)

    def reads(self, path: Path) -> Json:
        return call_block("read", path=str(path))

    def edits(self, path: Path, old: str, new: str) -> Json:
        return call_block("edit", path=str(path), edits=[{"oldText": old, "newText": new}])

    def writes(self, path: Path, line: str) -> Json:
        return call_block("write", path=str(path), content=f"{line}\n")


class OpenCode(Client):
    """opencode, told by `run`."""

    name = "opencode"
    program_name = "opencode"

    @property
    def database(self) -> Path:
        return self.home / ".local" / "share" / "opencode" / "opencode.db"

    def settle(self) -> None:
        model = {"tool_call": True, "reasoning": True, "limit": {"context": 200000, "output": 8000}}
        models = {name: {"name": name, **model} for name in (MODEL, SMALL_MODEL)}
        options = {"baseURL": f"{self.model.url}/v1", "apiKey": "none"}
        provider = {"npm": "@ai-sdk/anthropic", "name": PROVIDER, "options": options, "models": models}
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "permission": "allow",
            "provider": {PROVIDER: provider},
            "model": f"{PROVIDER}/{MODEL}",
            "small_model": f"{PROVIDER}/{SMALL_MODEL}",
        }
        write_json(self.home / ".config" / "opencode" / "opencode.json", settings)

    def variables(self) -> dict[str, str]:
        off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
        return {f"OPENCODE_DISABLE_{what}": "1" for what in off} | {"npm_config_offline": "true"}

    def asking(self, prompt: str, options: tuple[str, ...]) -> list[str]:
        return ["run", "-m", f"{PROVIDER}/{MODEL}", *options, prompt]

    def resuming(self, session_id: str) -> tuple[str, ...]:
        return ("-s", session_id)

    def forking(self, session_id: str) -> tuple[str, ...]:
        return ("-s", session_id, "--fork")

    def session_ids(self) -> list[str]:
        with contextlib.closing(sqlite3.connect(self.database)) as db:
            return [row[0] for row in db.execute("SELECT id FROM session ORDER BY time_created")]

    def take_in(self, command: str, cwd: Path | None = None) -> None:
        """opencode finds sessions in its database alone, so that a written one has to be imported."""
        program, *arguments = shlex.split(command)
        assert program == self.program_name
        done = self.run(*arguments, cwd=cwd)
        assert done.exit_code == 0, f"{command}: {done.output}{done.errors}"

    def shell(self, command: str) -> Json:
        return call_block("bash", command=command, description="run a command")

    def reads(self, path: Path) -> Json:
        return call_block("read", filePath=str(path))

    def edits(self, path: Path, old: str, new: str) -> Json:
        return call_block("edit", filePath=str(path), oldString=old, newString=new)

    def writes(self, path: Path, line: str) -> Json:
        return call_block("write", filePath=str(path), content=f"{line}\n")


class Gemini(Client):
    """Google's Gemini CLI, told by `-p`."""

    name = "gemini"
    program_name = "gemini"

    @property
    def config(self) -> Path:
        return self.home / ".gemini"

    def settle(self) -> None:
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False},
        }
        write_json(self.config / "settings.json", settings)

    def variables(self) -> dict[str, str]:
        return {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": self.model.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "1",
        }

    def asking(self, prompt: str, options: tuple[str, ...]) -> list[str]:
        return ["-m", "gemini-2.5-flash", "--yolo", *options, "-p", prompt]

    def resuming(self, session_id: str) -> tuple[str, ...]:
        return ("--resume", session_id)

    def session_ids(self) -> list[str]:
        files = sorted(self.config.glob("tmp/*/chats/session-*.jsonl"))
        return list(dict.fromkeys(json.loads(first_line(path))["sessionId"] for path in files))

    def shell(self, command: str) -> Json:
        return call_block("run_shell_command", command=command, description="run a command")

    def reads(self, path: Path) -> Json:
        return call_block("read_file", file_path=str(path))

    def edits(self, path: Path, old: str, new: str) -> Json:
        return call_block("replace", file_path=str(path), old_string=old, new_string=new, instruction="change a word")

    def writes(self, path: Path, line: str) -> Json:
        return call_block("write_file", file_path=str(path), content=f"{line}\n")


class Copilot(Client):
    """GitHub's Copilot CLI, told by `-p`."""

    name = "copilot"
    program_name = "copilot"

    @property
    def config(self) -> Path:
        return self.home / ".copilot"

    def variables(self) -> dict[str, str]:
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": self.model.url,
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": MODEL,
            "COPILOT_AUTO_UPDATE": "false",
        }

    def asking(self, prompt: str, options: tuple[str, ...]) -> list[str]:
        return ["-p", prompt, "--allow-all-tools", "--no-auto-update", *options]

    def resuming(self, session_id: str) -> tuple[str, ...]:
        return (f"--resume={session_id}",)

    def session_ids(self) -> list[str]:
        return [path.parent.name for path in sorted(self.config.glob("session-state/*/events.jsonl"))]

    def shell(self, command: str) -> Json:
        return call_block("bash", command=command, description="run a command")

    def reads(self, path: Path) -> Json:
        return call_block("view", path=str(path))

    def edits(self, path: Path, old: str, new: str) -> Json:
        return call_block("edit", path=str(path), old_str=old, new_str=new)

    def writes(self, path: Path, line: str) -> Json:
        return call_block("create", path=str(path), file_text=f"{line}\n")


def first_line(path: Path) -> str:
    with path.open() as file:
        return file.readline()
