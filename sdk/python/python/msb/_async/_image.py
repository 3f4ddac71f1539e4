from __future__ import annotations

from typing import Any

from .._core import Link
from .._types import ImageInfo
from ._bridge import call


class AsyncImage:
    """An image in the store."""

    def __init__(self, link: Link, info: ImageInfo) -> None:
        self._link = link
        self._info = info

    def __repr__(self) -> str:
        return f"<AsyncImage {self.reference or self.digest}>"

    @property
    def info(self) -> ImageInfo:
        """The description of the image."""
        return self._info

    @property
    def digest(self) -> str:
        """The digest of the image's manifest."""
        return self._info.digest

    @property
    def reference(self) -> str | None:
        """The name, in docker's short form; `None` if the image has no name."""
        return self._info.reference

    async def inspect(self) -> dict[str, Any]:
        """Returns the image's record and the paths of its artifacts, as `msb image inspect` prints them."""
        reply = await call(self._link, "images.inspect", {"name": self.digest})
        return dict(reply.value)
