# Generated from _async/_readable_files.py by generate_sync.py: edit that file.
from __future__ import annotations

import builtins
import os

from .. import _values
from .._core import Link
from .._types import Copied, FileInfo
from .._values import Size, Text, decode
from ._bridge import call
from ._streams import ByteStream


class ReadableFiles:
    """Files that can be read: those of a sandbox, or of a snapshot of it.

    A relative path starts at the sandbox's working directory, as it does for a command. Symlinks are followed as they are for a process in the sandbox. A missing
    file raises `PathNotFound`, which is a `FileNotFoundError` too.
    """

    def __init__(self, link: Link, snapshot: str | None = None) -> None:
        self._link = link
        self._snapshot = snapshot

    def read(self, path: Text, *, max_size: Size | None = None) -> bytes:
        """Returns the content of a file of at most `max_size`, 32 MiB by default.

        The sandbox decides how long its files are: a longer one raises `OutputLimit`. `read_stream` has no limit.
        """
        reply = call(self._link, "files.read", {**self._at(path), "max_size": max_size})
        return reply.content[0]

    def read_text(
        self,
        path: Text,
        encoding: str = "utf-8",
        errors: str = "strict",
        *,
        max_size: Size | None = None,
    ) -> str:
        """Returns the content of a file as text. It has a limit, as that of `read`."""
        content = self.read(path, max_size=max_size)
        return content.decode(encoding, errors)

    def read_stream(self, path: Text) -> ByteStream:
        """Returns the content of a file piece by piece."""
        return ByteStream(self._link, "files.read_stream", self._at(path))

    def list(self, path: Text) -> builtins.list[FileInfo]:
        """Returns the entries of a directory."""
        reply = call(self._link, "files.list", self._at(path))
        return [decode(FileInfo, info) for info in reply.value]

    def stat(self, path: Text, *, follow: bool = True) -> FileInfo:
        """Returns the attributes of a file; those of a symlink itself with `follow=False`."""
        options = {**self._at(path), "follow": follow}
        reply = call(self._link, "files.stat", options)
        return decode(FileInfo, reply.value)

    def exists(self, path: Text) -> bool:
        """Returns true if the path exists."""
        reply = call(self._link, "files.exists", self._at(path))
        return bool(reply.value)

    def download(
        self,
        guest: Text,
        host: str | os.PathLike[str],
        *,
        keep_owner: bool = False,
        follow_link: bool = False,
        one_file_system: bool = False,
    ) -> Copied:
        """Copies a file or directory of the sandbox to this host, with the rules of `docker cp`."""
        flags = (keep_owner, follow_link, one_file_system)
        return self._copied("files.download", host, guest, flags)

    def get_tar(self, path: Text) -> ByteStream:
        """Returns a file or directory as a tar archive, piece by piece."""
        return ByteStream(self._link, "files.get_tar", self._at(path))

    def _copied(
        self,
        operation: str,
        host: str | os.PathLike[str],
        guest: Text,
        flags: tuple[bool, bool, bool],
    ) -> Copied:
        keep_owner, follow_link, one_file_system = flags
        options = {
            "host": os.fspath(host),
            "guest": _values.text(guest),
            "keep_owner": keep_owner,
            "follow_link": follow_link,
            "one_file_system": one_file_system,
            "snapshot": self._snapshot,
        }
        reply = call(self._link, operation, options)
        return decode(Copied, reply.value)

    def _at(self, path: Text) -> dict[str, object]:
        return {"path": _values.text(path), "snapshot": self._snapshot}
