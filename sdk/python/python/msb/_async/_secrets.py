from __future__ import annotations

import builtins
import os
from collections.abc import Sequence

from .. import _options
from .._core import Link
from .._types import SecretInfo
from .._values import decode
from ._bridge import call


class AsyncSecrets:
    """The secrets of a sandbox: values that its programs use in requests and cannot read.

    They are given when the sandbox is created, as `secrets=[Secret(...)]`.
    """

    def __init__(self, link: Link) -> None:
        self._link = link

    async def list(self) -> builtins.list[SecretInfo]:
        """Returns the secrets, without values, with their states if the sandbox is running."""
        reply = await call(self._link, "secrets.list")
        return [decode(SecretInfo, secret) for secret in reply.value]

    async def set(
        self,
        name: str,
        *,
        env: str | None = None,
        file: str | os.PathLike[str] | None = None,
        command: str | Sequence[str] | None = None,
        value: str | None = None,
    ) -> None:
        """Gives a secret another value, also while the sandbox runs. Without a source, its source is read again.

        Later starts read `env`, `file` and `command`, too; `value` is kept until the sandbox stops. Raises `NotFound`,
        and `NotRunning` if the sandbox is not running and no other source is given.
        """
        source = _options.secret_source(env=env, file=file, command=command, value=value)
        await call(self._link, "secrets.set", {"name": name, **source})

    async def remove(self, name: str) -> None:
        """Removes a secret. In the running sandbox, requests with its placeholder fail from now on. Raises `NotFound`."""
        await call(self._link, "secrets.remove", {"name": name})
