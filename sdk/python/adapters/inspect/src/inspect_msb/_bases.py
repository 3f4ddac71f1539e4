"""Base sandboxes: one for each configuration, which the sandboxes of samples are forked of."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import anyio
from msb import AsyncMsb, AsyncSandbox

from ._config import MsbConfig

#: The label of all sandboxes of this package; forks have the labels of their base.
LABEL = "inspect-msb"
_SNAPSHOT = "ready"


@dataclass(frozen=True)
class Ready:
    """A base sandbox that has run once and is stopped: forks of its snapshot boot as it did."""

    sandbox: AsyncSandbox
    working_dir: str
    """The directory that relative paths begin at."""

    async def fork(self) -> AsyncSandbox:
        """Starts a sandbox that begins with the files of the base, and which the result owns."""
        return await self.sandbox.branch(snapshot=_SNAPSHOT)


class Base:
    """The base of one configuration, which is made when it is first needed."""

    def __init__(self, config: MsbConfig) -> None:
        self.holders = 0
        self._config = config
        self._lock = asyncio.Lock()
        self._ready: Ready | None = None

    async def ready(self, client: AsyncMsb) -> Ready:
        """Returns the base; the first call makes it."""
        async with self._lock:
            if self._ready is None:
                self._ready = await self._made(client)
            return self._ready

    async def _made(self, client: AsyncMsb) -> Ready:
        # Owned: it ends with this process, even after SIGKILL.
        options = self._config.options()
        options["labels"] = {LABEL: "1"}
        sandbox = await client.sandboxes.run(self._config.image, **options)
        try:
            await sandbox.stop()
            await sandbox.snapshots.create(_SNAPSHOT)
            info = await sandbox.inspect()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await sandbox.close()
            raise
        return Ready(sandbox, info.rest["process"]["working_directory"] or "/")

    async def close(self) -> None:
        """Removes the base. Its forks are complete without it."""
        if self._ready is not None:
            await self._ready.sandbox.close()
            self._ready = None


class Bases:
    """The bases of the evaluations of this process, and their client, which is there while a base is."""

    def __init__(self) -> None:
        self._client: AsyncMsb | None = None
        self._bases: dict[str, Base] = {}

    async def hold(self, config: MsbConfig) -> Ready:
        """Returns the base of a configuration, which is kept until it was released as often as held."""
        key = config.model_dump_json()
        base = self._bases.setdefault(key, Base(config))
        base.holders += 1
        try:
            return await self.get(config)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.release(config)
            raise

    async def get(self, config: MsbConfig) -> Ready:
        """Returns the base of a configuration that is held."""
        if self._client is None:
            self._client = AsyncMsb()
        return await self._bases[config.model_dump_json()].ready(self._client)

    async def release(self, config: MsbConfig) -> None:
        """Removes the base of a configuration if nobody else holds it, and closes the client after the last."""
        key = config.model_dump_json()
        base = self._bases.get(key)
        if base is None:
            return
        base.holders -= 1
        if base.holders == 0:
            del self._bases[key]
            await base.close()
        if not self._bases and self._client is not None:
            client, self._client = self._client, None
            await client.close()
