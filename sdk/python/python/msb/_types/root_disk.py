"""Disk images as roots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import os


@dataclass(frozen=True)
class RootDisk:
    """A disk image that a sandbox's root begins with, such as a cloud image. The file is only read, and must
    not change while sandboxes begin with it."""

    path: str | os.PathLike[str]
    """The path of the file."""
    format: Literal["raw", "qcow2", "vmdk"] | None = None
    """The format; found out by default."""
    filesystem: Literal["ext4", "xfs", "btrfs"] | None = None
    """The filesystem of the root; found out by default."""
    partition: int | None = None
    """The number of the partition; found out by default."""
