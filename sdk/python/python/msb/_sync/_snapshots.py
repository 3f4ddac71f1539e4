# Generated from _async/_snapshots.py by generate_sync.py: edit that file.
from __future__ import annotations

import builtins
import os

from .. import _names
from .._core import Link
from .._names import Name
from .._types import SnapshotInfo, VerifiedSnapshot
from .._values import decode
from ._bridge import call
from ._readable_files import ReadableFiles


class Snapshots:
    """The snapshots of a sandbox's files, running or not. Merging takes a stopped sandbox."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def create(
        self, name: str | None = None, *, message: str | None = None, freeze: bool = True
    ) -> SnapshotInfo:
        """Takes a snapshot of the files, in constant time. Without a name it gets its number.

        The guest of a running sandbox freezes its filesystem meanwhile, unless `freeze` is false: the snapshot is then
        as after a power cut. Volumes and directories of the host are not part of it. Raises `NameTaken`
        and `InvalidArgument`.
        """
        options = {"name": name, "message": message, "freeze": freeze}
        reply = call(self._link, "snapshots.create", options)
        return decode(SnapshotInfo, reply.value)

    def list(self) -> builtins.list[SnapshotInfo]:
        """Returns the snapshots, the oldest first."""
        reply = call(self._link, "snapshots.list")
        return [decode(SnapshotInfo, snapshot) for snapshot in reply.value]

    def get(self, name: Name) -> SnapshotInfo:
        """Returns the snapshot with this name. Raises `NotFound`."""
        reply = call(self._link, "snapshots.get", {"name": _names.name(name)})
        return decode(SnapshotInfo, reply.value)

    def files(self, name: Name) -> ReadableFiles:
        """Returns the files as they are in a snapshot, while the sandbox runs too.

        The first call raises `NotFound` if there is no such snapshot.
        """
        return ReadableFiles(self._link, _names.name(name))

    def remove(self, name: Name) -> None:
        """Removes a snapshot. The sandbox's files stay as they are. Raises `NotFound`."""
        call(self._link, "snapshots.remove", {"name": _names.name(name)})

    def export(self, name: Name, path: str | os.PathLike[str]) -> None:
        """Writes a snapshot to a file that another host imports, without its image. The file is complete, or unchanged.

        Raises `NotFound`.
        """
        options = {"name": _names.name(name), "path": os.fspath(path)}
        call(self._link, "snapshots.export", options)

    def verify(self, name: Name | None = None) -> builtins.list[VerifiedSnapshot]:
        """Reads a snapshot, or all of them, and compares each with its digest.

        Content that has no digest gets one. Damage is a result. Raises `NotFound`.
        """
        reply = call(self._link, "snapshots.verify", {"name": _names.optional(name)})
        return [decode(VerifiedSnapshot, verified) for verified in reply.value]

    def merge(self) -> int:
        """Merges parts of the disk that no snapshot needs apart, and returns the number of bytes that this frees.

        Raises `OutOfSpace`, as merging copies.
        """
        reply = call(self._link, "snapshots.merge")
        return int(reply.value["freed_bytes"])
