from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from .. import _names
from .._core import Link
from .._names import Name
from .._types import VolumeInfo
from .._values import Size, decode
from ._bridge import call


class AsyncVolumes:
    """The volumes: disks that outlive sandboxes."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def create(
        self,
        name: str | None = None,
        size: Size | None = None,
        *,
        labels: Mapping[str, str] | None = None,
    ) -> AsyncVolume:
        """Creates a volume, whose disk is sparse. Without a name it gets one. Raises `NameTaken`."""
        options = {"name": name, "size": size, "labels": dict(labels or {})}
        reply = await call(self._link, "volumes.create", options)
        return self._volume(reply.value)

    async def get(self, name: str) -> AsyncVolume:
        """Returns the volume with this name. Raises `VolumeNotFound`."""
        reply = await call(self._link, "volumes.get", {"name": name})
        return self._volume(reply.value)

    async def list(self) -> builtins.list[AsyncVolume]:
        """Returns all volumes."""
        reply = await call(self._link, "volumes.list")
        return [self._volume(volume) for volume in reply.value]

    async def remove(self, name: Name) -> None:
        """Removes a volume with everything in it. Raises `VolumeNotFound` and `VolumeInUse`."""
        await call(self._link, "volumes.remove", {"name": _names.name(name)})

    async def prune(self) -> builtins.list[str]:
        """Removes the volumes that no sandbox uses, and returns their names."""
        reply = await call(self._link, "volumes.prune")
        return [str(name) for name in reply.value]

    def _volume(self, value: Any) -> AsyncVolume:
        return AsyncVolume(self._link, decode(VolumeInfo, value))


class AsyncVolume:
    """A disk that outlives sandboxes."""

    def __init__(self, link: Link, info: VolumeInfo) -> None:
        self._link = link
        self._info = info

    def __repr__(self) -> str:
        return f"<AsyncVolume {self.name}>"

    @property
    def name(self) -> str:
        """The volume's name."""
        return self._info.name

    @property
    def info(self) -> VolumeInfo:
        """The description of the volume, as it was when it was read."""
        return self._info

    async def remove(self) -> None:
        """Removes the volume with everything in it. Raises `VolumeInUse`."""
        await call(self._link, "volumes.remove", {"name": self.name})
