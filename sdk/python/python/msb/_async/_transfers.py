from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Generic, TypeVar

from .._core import Link
from .._types import ImageInfo, PullEvent, Pushed, PushEvent
from .._values import decode
from ._bridge import call
from ._image import AsyncImage
from ._scope import AsyncScope

_E = TypeVar("_E")
_T = TypeVar("_T")


class _AsyncTransfer(AsyncScope, Generic[_E, _T]):
    """A pull or a push that can be watched. It begins with the first event, or when its result is asked for."""

    #: The operation that begins it, and the one that waits for its result.
    _begin: str
    _end: str
    _event: type[_E]

    def __init__(self, link: Link, options: dict[str, Any]) -> None:
        self._client = link
        self._options = options
        self._link: Link | None = None
        self._result: _T | None = None

    async def result(self) -> _T:
        """Waits until it is complete, and returns its result."""
        if self._result is None:
            reply = await call(await self._begun(), self._end)
            self._result = self._decoded(reply.value)
        return self._result

    async def close(self) -> None:
        """Cancels it, if it is not complete."""
        if self._link is not None:
            self._link.close()

    def __aiter__(self) -> AsyncIterator[_E]:
        return self

    async def __anext__(self) -> _E:
        if self._result is not None:
            raise StopAsyncIteration
        reply = await call(await self._begun(), "next")
        if reply.value is None:
            await self.result()
            raise StopAsyncIteration
        return decode(self._event, reply.value["event"])

    def _decoded(self, value: Any) -> _T:
        raise NotImplementedError

    async def _begun(self) -> Link:
        if self._link is None:
            reply = await call(self._client, self._begin, self._options)
            self._link = reply.new
        return self._link


class AsyncPull(_AsyncTransfer[PullEvent, AsyncImage]):
    """A pull that can be watched. It begins with the first event, or when the image is asked for.

    Leaving the `async with` block before the end cancels the pull; layers that are complete stay in the store.
    """

    _begin = "images.pull"
    _end = "image"
    _event = PullEvent

    @property
    def image(self) -> AsyncImage | None:
        """The image; `None` before the pull is complete."""
        return self._result

    def _decoded(self, value: Any) -> AsyncImage:
        return AsyncImage(self._client, decode(ImageInfo, value))


class AsyncPush(_AsyncTransfer[PushEvent, Pushed]):
    """A push that can be watched. It begins with the first event, or when its result is asked for.

    Leaving the `async with` block before the end cancels the push, which publishes nothing then, unless its manifest was
    on its way already; layers that arrived whole are not sent again.
    """

    _begin = "images.push"
    _end = "pushed"
    _event = PushEvent

    @property
    def pushed(self) -> Pushed | None:
        """The image at the registry; `None` before the push is complete."""
        return self._result

    def _decoded(self, value: Any) -> Pushed:
        return decode(Pushed, value)
