"""Commands: their output and their end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Union

from ..errors import CommandFailed


@dataclass(frozen=True)
class Exit:
    """The end of a command, of a job or of a sandbox's main command."""

    code: int
    """The exit code: the command's own, or 128 plus the fatal signal."""
    signal: int | None = None
    """The signal that killed the command; `None` if none did, or it is not known."""
    reason: str | None = None
    """The limit that has ended the sandbox: `max-duration` or `idle-timeout`."""
    error: str | None = None
    """The reason that the command did not run, or the fate of its sandbox."""
    ended_s: float | None = None
    """Seconds since the epoch; `None` if the end was not observed."""

    @property
    def is_success(self) -> bool:
        """True if the exit code is 0."""
        return self.code == 0


@dataclass(frozen=True)
class Output:
    """The output of a command that has ended."""

    exit_code: int
    """The exit code: the command's own, or 128 plus the signal that killed it."""
    signal: int | None = None
    """The signal that killed the command; `None` if none did."""
    stdout: bytes = b""
    """Everything that the command printed on standard output, or on its terminal."""
    stderr: bytes = b""
    """Everything that the command printed on standard error."""
    failure: str | None = field(default=None, repr=False, compare=False)
    """The failure on one line, with the last line of standard error; `None` if the exit code is 0."""

    @property
    def text(self) -> str:
        """Standard output as text; bytes that are not UTF-8 are replaced."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def error_text(self) -> str:
        """Standard error as text; bytes that are not UTF-8 are replaced."""
        return self.stderr.decode("utf-8", "replace")

    @property
    def is_success(self) -> bool:
        """True if the exit code is 0."""
        return self.exit_code == 0

    def check(self) -> Output:
        """Returns the output if the exit code is 0, and raises `CommandFailed` otherwise."""
        if self.is_success:
            return self
        if self.failure is not None:
            message = self.failure
        elif self.signal is None:
            message = f"the command ended with exit code {self.exit_code}"
        else:
            message = f"the command was killed by signal {self.signal}"
        details = {"exit_code": self.exit_code}
        raise CommandFailed(message, details=details, stdout=self.stdout, stderr=self.stderr)


@dataclass(frozen=True)
class Event:
    """Bytes that a running command printed."""

    stream: Literal["stdout", "stderr"]
    """The stream; the output of a terminal is `stdout`."""
    data: bytes
    """The bytes, as they came: a character of several bytes may be cut."""


@dataclass(frozen=True)
class TextEvent:
    """Text that a running command printed."""

    stream: Literal["stdout", "stderr"]
    """The stream; the output of a terminal is `stdout`."""
    text: str
    """The text; no character is cut, and bytes that are not UTF-8 are replaced."""


@dataclass(frozen=True)
class JobInfo:
    """The description and the state of a job."""

    id: int
    """The job's number."""
    argv: list[str] = field(default_factory=list[str])
    """The command."""
    user: str = ""
    """The user of the command."""
    pid: int | None = None
    """The command's process id in the sandbox."""
    started_s: int = 0
    """Seconds since the epoch of its start."""
    running: bool = False
    """True while the job runs."""
    exit: Exit | None = None
    """The job's end; `None` while it runs."""


Ulimit = Union[int, "tuple[int | None, int | None]"]
"""A limit of one resource, or its soft and its hard limit; `None` is no limit."""


TerminalSize = Union["tuple[int, int]", bool]
"""Rows and columns of a terminal; `True` for 24 rows and 80 columns."""
