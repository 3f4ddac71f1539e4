from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from .. import _core, _names, _values
from .._core import Core
from .._names import Side
from .._types import Finding, Version
from .._values import Text, decode
from ._bridge import Opening, call, opening, run_blocking
from ._diff import AsyncDiff
from ._images import AsyncImages
from ._sandboxes import AsyncSandboxes
from ._scope import AsyncScope
from ._volumes import AsyncVolumes


class AsyncMsb(AsyncScope):
    """A client of msb: the way to its images, sandboxes and volumes.

    A client needs no server. Sandboxes of all clients with one `home` are the same. Close it, or use it with
    `async with`; sandboxes that it owns end with it.

    `home` is the directory of all of msb's data (`MSB_HOME`; `~/.msb`). `program` is the program `msb` of the same
    version (`MSB_PROGRAM`; the one in this package). `kernel` is the guest kernel (`MSB_KERNEL`; the one in the
    package `msb-kernel`). `qemu` is the QEMU program (`MSB_QEMU`). `vmm` chooses the virtual machine monitor
    (`MSB_VMM`), and `jail` the strictness of its confinement (`MSB_JAIL`).
    """

    def __init__(
        self,
        *,
        home: str | os.PathLike[str] | None = None,
        program: str | os.PathLike[str] | None = None,
        kernel: str | os.PathLike[str] | None = None,
        qemu: str | os.PathLike[str] | None = None,
        vmm: Literal["auto", "krun", "qemu"] | None = None,
        jail: Literal["auto", "required", "off"] | None = None,
    ) -> None:
        parameters = _core.parameters(
            home=home, program=program, kernel=kernel, qemu=qemu, vmm=vmm, jail=jail
        )
        self._core = Core(parameters)
        self._images = AsyncImages(self._core.root)
        self._sandboxes = AsyncSandboxes(self._core.root)
        self._volumes = AsyncVolumes(self._core.root)

    @property
    def images(self) -> AsyncImages:
        """The images in the store."""
        return self._images

    @property
    def sandboxes(self) -> AsyncSandboxes:
        """The sandboxes."""
        return self._sandboxes

    @property
    def volumes(self) -> AsyncVolumes:
        """The volumes."""
        return self._volumes

    @property
    def version(self) -> Version:
        """The versions of this library."""
        return self._core.version

    async def doctor(self) -> list[Finding]:
        """Inspects everything that sandboxes need on this host."""
        reply = await call(self._core.root, "doctor")
        return [decode(Finding, finding) for finding in reply.value]

    def diff(
        self,
        old: Side,
        new: Side,
        paths: Sequence[Text] = (),
        *,
        exclude: Sequence[Text] = (),
        include: Sequence[Text] = (),
        pause: bool = True,
    ) -> Opening[AsyncDiff]:
        """Compares two sandboxes, snapshots or images: the changes that make the second of the first.

        Each is a name, `SANDBOX@SNAPSHOT`, or the object itself.

        `exclude` and `include` are patterns of paths, as gitignore has them: changes that an `exclude` matches are left
        out, and if there are includes, only the changes that one of them matches are taken.

        `paths` limits the comparison to them and what is below them; symlinks are not followed. Use the result with
        `async with`: until it is closed, stopped sandboxes cannot be started. The disk of a running sandbox is frozen
        while it is cut; with `pause=False` a running sandbox is refused.

        Raises `NotFound` if neither a sandbox nor an image has a name, `PathNotFound` if neither side has one of the
        paths, and `SandboxRunning`, `OutOfSpace` and `Busy` for a running sandbox whose disk cannot be cut.
        """
        options: dict[str, object] = {
            "old": _names.side(old),
            "new": _names.side(new),
            "paths": _values.paths(paths),
            "exclude": _values.paths(exclude),
            "include": _values.paths(include),
            "pause": pause,
        }
        return opening(self._diff(options))

    async def _diff(self, options: dict[str, object]) -> AsyncDiff:
        reply = await call(self._core.root, "diff", options)
        return AsyncDiff(reply.new)

    async def close(self) -> None:
        """Ends the client: sandboxes that it owns end, and calls that run fail."""
        await run_blocking(self._core.close)
