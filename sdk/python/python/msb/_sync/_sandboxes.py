# Generated from _async/_sandboxes.py by generate_sync.py: edit that file.
from __future__ import annotations

import builtins
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from .. import _options
from .._core import Link
from .._types import SandboxInfo, SandboxOptions, SandboxState
from .._values import decode
from ._bridge import call, opening
from ._sandbox import Sandbox, opened

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Sandboxes:
    """The sandboxes of one home."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def run(self, image: str = "", **options: Unpack[SandboxOptions]) -> Sandbox:
        """Creates a sandbox of an image and starts it. The result owns the sandbox.

        The options are those of `SandboxOptions`. No image is given with `from_sandbox` and `root_disk`.

        Leaving its `with` block, or closing it, ends and removes the sandbox; so does the end of this process.
        Without a `command` the sandbox runs none, and lives until then. At the end of its scope the guest
        has 2 s to shut down before it is killed; `stop` before it gives it more time.

        Raises what `Images.pull` raises, `InvalidArgument`, `NameTaken`, `PortInUse`, `VolumeInUse`, or one of
        `StartError`. Nothing is left of the sandbox then, and neither if the call is interrupted.
        """
        return opening(self._run(image, options))

    def _run(self, image: str, options: SandboxOptions) -> Sandbox:
        parameters = _options.sandbox(image, "run", options)
        reply = call(self._link, "sandboxes.run", parameters, shows=False)
        return opened(reply)

    def create(self, image: str = "", **options: Unpack[SandboxOptions]) -> Sandbox:
        """Creates a sandbox of an image, which is kept and not started. The options are those of `run`."""
        parameters = _options.sandbox(image, "create", options)
        reply = call(self._link, "sandboxes.create", parameters, shows=False)
        return opened(reply)

    def import_snapshot(
        self, path: str | os.PathLike[str], name: str | None = None
    ) -> Sandbox:
        """Makes a sandbox of a snapshot that `Snapshots.export` wrote. It has the snapshot, and is not started.

        Without a name it has that of the exported sandbox. Its image has to be in the store. Host directories, volumes,
        ports and destinations that the network allowed are left out, and a warning names each. Raises `ImageNotFound`,
        `NameTaken`, and `InvalidArgument` for a file that is damaged; nothing is left of the sandbox then.
        """
        parameters = {"path": os.fspath(path), "name": name}
        reply = call(self._link, "sandboxes.import", parameters, shows=False)
        return opened(reply)

    def get(self, name: str) -> Sandbox:
        """Returns the sandbox with this name or id, or the beginning of its id. The result owns nothing.

        Raises `SandboxNotFound`.
        """
        reply = call(self._link, "sandboxes.get", {"name": name})
        return Sandbox(reply)

    def list(
        self,
        *,
        labels: Mapping[str, str | None] | None = None,
        state: SandboxState
        | Literal["created", "running", "paused", "stopped", "unreadable"]
        | None = None,
        name: str | None = None,
        image: str | None = None,
    ) -> builtins.list[SandboxInfo]:
        """Returns the sandboxes that all conditions select, oldest first.

        A label of `None` accepts any value. `name` is a part of the name.
        """
        parameters = {
            "labels": dict(labels or {}),
            "state": None if state is None else str(state),
            "name": name,
            "image": image,
        }
        reply = call(self._link, "sandboxes.list", parameters)
        return [decode(SandboxInfo, info) for info in reply.value]
