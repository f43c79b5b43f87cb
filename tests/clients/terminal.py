"""The interactive client in a tmux window, for what `-p` cannot do: the session picker, and sessions shown in it."""

import json
import os
import signal
import subprocess
import uuid

from .claude import ALLOWED, API_KEY, Claude
from .client import wait_until
from .model_server import says

PROMPT_MARK = "❯"
LIST_HINT = "Esc to"

# A session is titled after its last prompt or, without a record of that, after its first; here both begin like this.
TITLE = "typed into the terminal"


class Terminal:
    """One client in a window of a tmux server of its own, which ends with it."""

    def __init__(self, claude: Claude, *options: str) -> None:
        answer_first_questions(claude)
        self._socket = f"muniment-{uuid.uuid4().hex[:8]}"
        settings = [part for name, value in claude.env().items() for part in ("-e", f"{name}={value}")]
        window = ("-x", "140", "-y", "50", "-c", str(claude.project))
        start = ("new-session", "-d", "-P", "-F", "#{pane_pid}", "-s", "client")
        self._pid = int(self._tmux(*start, *window, *settings, str(claude.program), *options))

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the client, if it is still there: one that ends in its own time would write into the next test."""
        if not self.is_gone():
            os.kill(self._pid, signal.SIGKILL)
            self._tmux("kill-server")

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "client")

    def wait_for(self, text: str) -> None:
        try:
            wait_until(lambda: text in self.screen())
        except TimeoutError:
            raise TimeoutError(f"{text!r} did not appear:\n{self.screen()}") from None

    def enter(self, text: str) -> None:
        """Type a line and press Enter once the client shows it; a faster Enter would be taken as pasted text."""
        self._tmux("send-keys", "-t", "client", "-l", text)
        self.wait_for(text)
        self._tmux("send-keys", "-t", "client", "Enter")

    def leave(self) -> None:
        """Ask the client to exit and wait until it is gone."""
        self.enter("/exit")
        self._tmux("send-keys", "-t", "client", "Enter")
        wait_until(self.is_gone)

    def is_gone(self) -> bool:
        """Whether the client has ended; its window and its tmux server end with it."""
        return not self._tmux("list-sessions")

    def _tmux(self, *arguments: str) -> str:
        return subprocess.run(["tmux", "-L", self._socket, *arguments], capture_output=True, text=True).stdout


def answer_first_questions(claude: Claude) -> None:
    """Settle what a first start asks: theme, API key, trust in the folder."""
    path = claude.home / ".claude.json"
    settings = json.loads(path.read_text()) if path.exists() else {}
    settings |= {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [API_KEY], "rejected": []},
        "projects": {str(claude.project): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }
    path.write_text(json.dumps(settings))


def typed(claude: Claude) -> str:
    """A session typed by a person: two prompts, which also go to the client's prompt history."""
    claude.model.play(says("First answer."), says("Second answer."))
    with Terminal(claude, *ALLOWED) as terminal:
        terminal.wait_for(PROMPT_MARK)
        for prompt, answer in ((f"{TITLE}: one", "First answer."), (f"{TITLE}: two", "Second answer.")):
            terminal.enter(prompt)
            terminal.wait_for(answer)
        terminal.leave()
    (transcript,) = claude.config.glob("projects/*/*.jsonl")
    assert transcript.stem in (claude.config / "history.jsonl").read_text()
    return transcript.stem


def picker_screen(claude: Claude) -> str:
    """What `claude --resume` lists for the project."""
    with Terminal(claude, "--resume") as terminal:
        terminal.wait_for(LIST_HINT)
        return terminal.screen()
