from __future__ import annotations

import os
from typing import Any

from .. import _core, _values
from .._content import is_whole
from .._core import Data, Link
from .._types import Copied
from .._values import Text
from ._bridge import Opening, Parts, call, opening, parts
from ._readable_files import AsyncReadableFiles
from ._streams import AsyncTarUpload


class AsyncFiles(AsyncReadableFiles):
    """The files of a sandbox, which can be changed while it runs."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)

    async def write(
        self,
        path: Text,
        data: Data | Parts,
        *,
        mode: int | None = None,
        parents: bool = False,
    ) -> None:
        """Writes a file, which is complete or unchanged at any time. Text is encoded as UTF-8.

        `data` is bytes or text, or something that is read piece by piece, with memory for a few pieces: an open file,
        or an iterable of bytes or text. If reading it fails, the old file stays.

        An existing file keeps its permission bits, and a new one gets 0644, unless `mode` is given. `parents=True`
        makes missing directories above it.
        """
        options = {"path": _values.text(path), "mode": mode, "parents": parents}
        if is_whole(data):
            whole: Any = data
            await call(self._link, "files.write", options, (_core.as_bytes(whole),))
            return
        streamed: Any = data
        pieces = parts(streamed)
        reply = await call(self._link, "files.write_parts", options)
        upload = reply.new
        try:
            async for part in pieces:
                await call(upload, "write", {}, (part,))
            await call(upload, "finish")
        finally:
            # Given up before its end, it leaves the old file.
            upload.close()

    async def mkdir(self, path: Text, *, mode: int | None = None, parents: bool = False) -> None:
        """Makes a directory. `parents=True` makes those above it, and accepts an existing one."""
        options = {"path": _values.text(path), "mode": mode, "parents": parents}
        await call(self._link, "files.mkdir", options)

    async def remove(
        self, path: Text, *, recursive: bool = False, missing_ok: bool = False
    ) -> None:
        """Removes a file; with `recursive=True` also a directory, with everything in it."""
        options = {
            "path": _values.text(path),
            "recursive": recursive,
            "missing_ok": missing_ok,
        }
        await call(self._link, "files.remove", options)

    async def rename(self, source: Text, destination: Text) -> None:
        """Renames a file, and replaces one that has the new name."""
        options = {"from": _values.text(source), "to": _values.text(destination)}
        await call(self._link, "files.rename", options)

    async def chmod(self, path: Text, mode: int) -> None:
        """Sets the 12 permission bits of a file."""
        await call(self._link, "files.chmod", {"path": _values.text(path), "mode": mode})

    async def upload(
        self,
        host: str | os.PathLike[str],
        guest: Text,
        *,
        keep_owner: bool = False,
        follow_link: bool = False,
        one_file_system: bool = False,
    ) -> Copied:
        """Copies a file or directory of this host into the sandbox, with the rules of `docker cp`."""
        flags = (keep_owner, follow_link, one_file_system)
        return await self._copied("files.upload", host, guest, flags)

    def put_tar(self, directory: Text) -> Opening[AsyncTarUpload]:
        """Begins to unpack a tar archive, uncompressed, in a directory. Write its parts to the result.

        The end of the `async with` block waits until the archive is unpacked.
        """
        return opening(self._put_tar(directory))

    async def _put_tar(self, directory: Text) -> AsyncTarUpload:
        reply = await call(self._link, "files.put_tar", {"path": _values.text(directory)})
        return AsyncTarUpload(reply.new)
