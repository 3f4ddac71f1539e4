"""Snapshots of the files of a sandbox."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SnapshotInfo:
    """The description of a snapshot."""

    sandbox: str
    """Name of the sandbox."""
    name: str
    """The name, unique in the sandbox."""
    number: int
    """The number: a later snapshot of the sandbox has a higher one."""
    created_s: int
    """The creation time, in seconds since the epoch."""
    message: str | None = None
    """The user's note."""
    automatic: bool = False
    """True if msb took the snapshot by itself: before a rollback or a command."""
    origin: str = "user"
    """The reason for which the snapshot was taken: `user`, `rollback` or `command`."""
    command: int | None = None
    """Number of the command in the history that the snapshot was taken before."""
    consistency: str = "crash"
    """State of the filesystem at that moment: `clean` (the sandbox was stopped), `frozen` by its running guest, or
    `crash`, as after a power cut."""
    size_bytes: int = 0
    """Size of the disk, in bytes."""
    image_digest: str = ""
    """Digest of the manifest of the sandbox's image."""


@dataclass(frozen=True)
class RolledBack:
    """A rollback that was made."""

    to: SnapshotInfo
    """The snapshot that the sandbox's files are those of."""
    kept: SnapshotInfo
    """The snapshot of the files as they were before."""
    restarted: bool = False
    """True if the sandbox was running: its processes were ended, and its command was started again."""
    booted: bool = False
    """True if its machine was booted anew for that, because the guest did not do its part."""


@dataclass(frozen=True)
class VerifiedSnapshot:
    """The result of verifying a snapshot."""

    sandbox: str
    """Name of the sandbox."""
    name: str
    """Name of the snapshot."""
    content: str
    """`intact`, `recorded` if a part had no digest before, or `damaged`."""
    problem: str | None = None
    """The first fault that was found; `None` if it is not damaged."""
