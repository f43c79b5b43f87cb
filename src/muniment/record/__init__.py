"""Recording: session persistence for programs that run an agent, in five lines and without losing an event.

See `docs/recording.md`.
"""

from __future__ import annotations

from muniment.record.chain import Unanswered, effective
from muniment.record.channels import (
    Appended,
    Prompt,
    TranscriptEvent,
    append_history,
    append_transcript,
    close_all,
    read_history,
    resume,
)
from muniment.record.log import Ack
from muniment.record.permissions import Ledger, Rule
from muniment.record.recorder import Recorder
from muniment.record.seal import Verified, verify
from muniment.record.transcript import Transcript, load
from muniment.record.values import Call, Closed, Outputs, Recorded

__all__ = [
    "Ack",
    "Appended",
    "Call",
    "Closed",
    "Ledger",
    "Outputs",
    "Prompt",
    "Recorded",
    "Recorder",
    "Rule",
    "Transcript",
    "TranscriptEvent",
    "Unanswered",
    "Verified",
    "append_history",
    "append_transcript",
    "close_all",
    "effective",
    "load",
    "read_history",
    "resume",
    "verify",
]
