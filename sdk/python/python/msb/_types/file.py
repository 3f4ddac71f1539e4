"""Files of a sandbox."""

from __future__ import annotations

from dataclasses import dataclass

from .words import _Words


class FileType(_Words):
    """The type of a file."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    FIFO = "fifo"
    SOCKET = "socket"
    CHAR_DEVICE = "char-device"
    BLOCK_DEVICE = "block-device"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class FileInfo:
    """The attributes of a file of a sandbox."""

    name: str
    """The name, without its directory. Bytes that are not UTF-8 are surrogates, as with `os.fsdecode`."""
    type: FileType
    """The type."""
    mode: int = 0
    """The 12 permission bits."""
    uid: int = 0
    """User id of the owner."""
    gid: int = 0
    """Group id of the owner."""
    size_bytes: int = 0
    """The size, in bytes."""
    mtime_s: int = 0
    """The time of the last change of content, in seconds since the epoch."""
    mtime_ns: int = 0
    """Nanoseconds after `mtime_s`."""
    target: str | None = None
    """The target of a symlink; `None` for other files."""
    device: tuple[int, ...] | None = None
    """Major and minor number of a device; `None` for other files."""

    @property
    def is_directory(self) -> bool:
        """True if the file is a directory."""
        return self.type == FileType.DIRECTORY


@dataclass(frozen=True)
class Copied:
    """The result of a copy."""

    entries: int
    """Number of files, directories and links that were copied."""
    devices_left_out: int = 0
    """Number of device nodes of the sandbox that were left out."""
