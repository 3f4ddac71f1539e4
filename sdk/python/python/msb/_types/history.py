"""The commands that were run in a sandbox."""

from __future__ import annotations

from dataclasses import dataclass, field

from .snapshot import SnapshotInfo


@dataclass(frozen=True)
class ChangeCounts:
    """The number of changes that a command made, as `diff` lists them."""

    added: int = 0
    """Names that were added."""
    changed: int = 0
    """Names whose file was changed."""
    deleted: int = 0
    """Names that were deleted. What is below a deleted directory does not count."""


@dataclass(frozen=True)
class CommandRecord:
    """A command that was run in a sandbox."""

    number: int
    """The number: a later command of the sandbox has a higher one."""
    started: str
    """Time before the start, in RFC 3339, with milliseconds."""
    argv: list[str]
    """The program and its arguments; bytes that are not UTF-8 are replaced."""
    truncated: bool = False
    """True if the command is longer than `argv`, which has at most 4 KiB."""
    job: int | None = None
    """The number of the job in its run of the sandbox; `None` if the command is none."""
    exit_code: int | None = None
    """The exit code; `None` if the end is not known."""
    duration_ms: int | None = None
    """Time from the start to the end, in ms; `None` if the end is not known."""
    snapshot: str | None = None
    """Name of the snapshot before the command; `None` if there is none."""
    undone: bool = False
    """True if the files went back to a state before the command."""
    changes: ChangeCounts | None = None
    """The changes from the snapshot to the next state that is kept; `None` if they were not asked for, or there is no
    snapshot."""


@dataclass(frozen=True)
class History:
    """The commands of a sandbox."""

    commands: list[CommandRecord] = field(default_factory=list)
    """The commands, the oldest first."""
    damaged_lines: list[str] = field(default_factory=list)
    """The beginnings of damaged lines of the journal of the commands, escaped; of many the first ones."""


@dataclass(frozen=True)
class Undone:
    """An undo that was made."""

    commands: list[CommandRecord]
    """The commands that are undone, those between them without a snapshot too, the newest first."""
    to: SnapshotInfo
    """The snapshot that the sandbox's files are those of."""
    kept: SnapshotInfo | None = None
    """The snapshot of the files as they were before: a rollback to it takes the undo back. `None` after a dry run."""
    restarted: bool = False
    """True if the sandbox was running: its processes were ended, and its command was started again."""
    booted: bool = False
    """True if its machine was booted anew for that, because the guest did not do its part."""
    overlapping: list[CommandRecord] = field(default_factory=list)
    """Earlier commands, the newest first, whose end is not known to be before the oldest of `commands`: they are not
    undone, but what they changed since its start is lost."""
