from __future__ import annotations

from collections.abc import AsyncIterator

from .._core import Link
from .._types import Change, Patch, PatchLines
from .._values import decode
from ._bridge import call
from ._scope import AsyncScope


class AsyncDiff(AsyncScope):
    """A comparison of the files of two sandboxes or images.

    Iterating over it yields the changes, parents before children, names in bytewise order. Stopped sandboxes
    cannot be started until it is closed.
    """

    def __init__(self, link: Link) -> None:
        self._link = link

    async def count(self) -> int:
        """Returns the number of changes, those that are implied by another one included."""
        reply = await call(self._link, "count")
        return int(reply.value)

    async def patch(self, change: Change) -> Patch:
        """Returns a change of this comparison in the form of `git diff`."""
        reply = await call(self._link, "patch", {"index": change.index})
        return Patch(
            text=reply.content[0],
            lines=decode(PatchLines, reply.value["lines"]),
            is_partial=reply.value["is_partial"],
        )

    async def close(self) -> None:
        """Ends the comparison."""
        self._link.close()

    async def __aiter__(self) -> AsyncIterator[Change]:
        index = 0
        while True:
            reply = await call(self._link, "changes", {"from": index})
            if not reply.value:
                return
            index += len(reply.value)
            for change in reply.value:
                yield decode(Change, change)
