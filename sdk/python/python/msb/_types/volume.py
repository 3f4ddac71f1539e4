"""Volumes."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class VolumeInfo:
    """The description of a volume."""

    name: str
    """The volume's name."""
    created_s: int = 0
    """The creation time, in seconds since the epoch."""
    size_bytes: int = 0
    """The size of its disk, in bytes."""
    labels: dict[str, str] = field(default_factory=dict[str, str])
    """Labels."""
    allocated_bytes: int = 0
    """The space that its disk takes on the host, in bytes."""
    sandboxes: list[str] = field(default_factory=list[str])
    """Names of the sandboxes that mount it."""
    directory: str = ""
    """The directory of the volume's files on the host."""
