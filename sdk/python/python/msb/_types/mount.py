"""Mounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .._values import Size, Text
from ..errors import InvalidArgument

if TYPE_CHECKING:
    import os

    from .._names import Name

RuleState = Literal["allow", "write-ask", "read-only", "ask", "deny", "hide"]
"""The state of a file of a staged directory, from the one that permits most to the one that permits least."""


@dataclass(frozen=True)
class Rule:
    """A rule for files of a staged directory. The text `PATH=STATE` stands for one, too."""

    path: Text
    """A pattern of paths relative to the directory, as gitignore has them; it matches what is below, too."""
    state: RuleState
    """The state of the files."""


@dataclass(frozen=True)
class Mount:
    """A mount of a sandbox. Use `bind`, `staged`, `volume`, `unnamed_volume` or `tmpfs` to make one."""

    type: Literal["bind", "staged", "volume", "tmpfs"]
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
    rules: Sequence[Rule | str] = ()
    """The rules of the files of a staged directory; of two rules for the same path the later one wins."""
    default_rules: bool = True
    """False if the default rules of staged directories do not count: they hide secrets, and keep changes back that make
    programs of this host run commands."""

    @classmethod
    def bind(cls, source: str | os.PathLike[str], target: str, *, read_only: bool = False) -> Mount:
        """Returns a mount of a directory or a file of the host."""
        import os

        return cls("bind", target, source=os.fspath(source), read_only=read_only)

    @classmethod
    def staged(
        cls,
        source: str | os.PathLike[str],
        target: str,
        *,
        rules: Sequence[Rule | str] = (),
        default_rules: bool = True,
        read_only: bool = False,
    ) -> Mount:
        """Returns a mount of a directory of the host as it is when the sandbox is created.

        The sandbox's changes stay in the sandbox until `apply` puts them into the directory.
        """
        import os

        if isinstance(rules, str):
            raise InvalidArgument(f"'{rules}' is not a list of rules", hint=f"pass ['{rules}']")
        return cls(
            "staged",
            target,
            source=os.fspath(source),
            read_only=read_only,
            rules=tuple(rules),
            default_rules=default_rules,
        )

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
