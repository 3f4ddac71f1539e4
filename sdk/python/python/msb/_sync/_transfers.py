# Generated from _async/_transfers.py by generate_sync.py: edit that file.
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from .._core import Link
from .._types import ImageInfo, PullEvent, Pushed, PushEvent
from .._values import decode
from ._bridge import call
from ._image import Image
from ._scope import Scope

_E = TypeVar("_E")
_T = TypeVar("_T")


class _Transfer(Scope, Generic[_E, _T]):
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

    def result(self) -> _T:
        """Waits until it is complete, and returns its result."""
        if self._result is None:
            reply = call(self._begun(), self._end)
            self._result = self._decoded(reply.value)
        return self._result

    def close(self) -> None:
        """Cancels it, if it is not complete."""
        if self._link is not None:
            self._link.close()

    def __iter__(self) -> Iterator[_E]:
        return self

    def __next__(self) -> _E:
        if self._result is not None:
            raise StopIteration
        reply = call(self._begun(), "next")
        if reply.value is None:
            self.result()
            raise StopIteration
        return decode(self._event, reply.value["event"])

    def _decoded(self, value: Any) -> _T:
        raise NotImplementedError

    def _begun(self) -> Link:
        if self._link is None:
            reply = call(self._client, self._begin, self._options)
            self._link = reply.new
        return self._link


class Pull(_Transfer[PullEvent, Image]):
    """A pull that can be watched. It begins with the first event, or when the image is asked for.

    Leaving the `with` block before the end cancels the pull; layers that are complete stay in the store.
    """

    _begin = "images.pull"
    _end = "image"
    _event = PullEvent

    @property
    def image(self) -> Image | None:
        """The image; `None` before the pull is complete."""
        return self._result

    def _decoded(self, value: Any) -> Image:
        return Image(self._client, decode(ImageInfo, value))


class Push(_Transfer[PushEvent, Pushed]):
    """A push that can be watched. It begins with the first event, or when its result is asked for.

    Leaving the `with` block before the end cancels the push, which publishes nothing then, unless its manifest was
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
