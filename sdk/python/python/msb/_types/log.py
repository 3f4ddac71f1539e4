"""Logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class LogRecord:
    """A part of a log."""

    stream: Literal["stdout", "stderr"] | None
    """The stream of the command; `None` in the logs of the console and the machine."""
    data: bytes
    """The bytes, as they came."""
    time_s: float | None = None
    """Seconds since the epoch; `None` if the log has no times."""

    @property
    def text(self) -> str:
        """The bytes as text; those that are not UTF-8 are replaced."""
        return self.data.decode("utf-8", "replace")
