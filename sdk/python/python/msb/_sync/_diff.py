# Generated from _async/_diff.py by generate_sync.py: edit that file.
from __future__ import annotations

from collections.abc import Iterator

from .._core import Link
from .._types import Change, Patch, PatchLines
from .._values import decode
from ._bridge import call
from ._scope import Scope


class Diff(Scope):
    """A comparison of the files of two sandboxes or images.

    Iterating over it yields the changes, parents before children, names in bytewise order. Stopped sandboxes
    cannot be started until it is closed.
    """

    def __init__(self, link: Link) -> None:
        self._link = link

    def count(self) -> int:
        """Returns the number of changes, those that are implied by another one included."""
        reply = call(self._link, "count")
        return int(reply.value)

    def patch(self, change: Change) -> Patch:
        """Returns a change of this comparison in the form of `git diff`."""
        reply = call(self._link, "patch", {"index": change.index})
        return Patch(
            text=reply.content[0],
            lines=decode(PatchLines, reply.value["lines"]),
            is_partial=reply.value["is_partial"],
        )

    def close(self) -> None:
        """Ends the comparison."""
        self._link.close()

    def __iter__(self) -> Iterator[Change]:
        index = 0
        while True:
            reply = call(self._link, "changes", {"from": index})
            if not reply.value:
                return
            index += len(reply.value)
            for change in reply.value:
                yield decode(Change, change)
