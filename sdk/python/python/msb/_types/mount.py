"""Mounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .._values import Size

if TYPE_CHECKING:
    import os

    from .._names import Name


@dataclass(frozen=True)
class Mount:
    """A mount of a sandbox. Use `bind`, `volume`, `unnamed_volume` or `tmpfs` to make one."""

    type: Literal["bind", "volume", "tmpfs"]
    """The kind of the source."""
    target: str
    """The path in the sandbox."""
    source: str | None = None
    """The path on the host, or the volume's name."""
    read_only: bool = False
    """True if the sandbox can only read the mount, even as root."""
    size: Size | None = None
    """Size of an unnamed volume, or the maximum size of memory."""
    mode: int | None = None
    """The permission bits of the root directory of memory."""
    exec: bool = False
    """True if programs can be run from memory."""

    @classmethod
    def bind(cls, source: str | os.PathLike[str], target: str, *, read_only: bool = False) -> Mount:
        """Returns a mount of a directory or a file of the host."""
        import os

        return cls("bind", target, source=os.fspath(source), read_only=read_only)

    @classmethod
    def volume(cls, name: Name, target: str, *, read_only: bool = False) -> Mount:
        """Returns a mount of a named volume, which is created if it does not exist."""
        from .._names import name as name_of

        return cls("volume", target, source=name_of(name), read_only=read_only)

    @classmethod
    def unnamed_volume(cls, target: str, *, size: Size | None = None) -> Mount:
        """Returns a mount of a new volume that is removed with the sandbox."""
        return cls("volume", target, size=size)

    @classmethod
    def tmpfs(
        cls, target: str, *, size: Size | None = None, mode: int | None = None, exec: bool = False
    ) -> Mount:
        """Returns a mount of memory, empty at each start."""
        return cls("tmpfs", target, size=size, mode=mode, exec=exec)
