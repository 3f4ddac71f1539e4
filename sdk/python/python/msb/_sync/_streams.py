# Generated from _async/_streams.py by generate_sync.py: edit that file.
from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Generic, TypeVar

from .. import _core
from .._core import Link, Reply
from .._types import Copied, LogRecord, NetworkRecord, Stats
from .._values import decode
from ._bridge import call
from ._scope import Scope

T = TypeVar("T")


class _Stream(Scope, Generic[T]):
    """A stream that opens with its first value, and closes with its last."""

    def __init__(self, source: Link, operation: str, options: Mapping[str, Any]) -> None:
        self._source = source
        self._operation = operation
        self._options = options
        self._link: Link | None = None
        self._is_closed = False

    def _read(self, reply: Reply) -> T:
        raise NotImplementedError

    def close(self) -> None:
        """Closes the stream before its end."""
        self._is_closed = True
        if self._link is not None:
            self._link.close()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if self._is_closed:
            raise StopIteration
        if self._link is None:
            opened = call(self._source, self._operation, self._options)
            self._link = opened.new
        reply = call(self._link, "next")
        if reply.value is None:
            self.close()
            raise StopIteration
        return self._read(reply)


class Logs(_Stream[LogRecord]):
    """The records of a log. Iterating over it reads them."""

    def _read(self, reply: Reply) -> LogRecord:
        time_ns = reply.value["time_ns"]
        return LogRecord(
            stream=reply.value["stream"],
            data=reply.content[0],
            time_s=None if time_ns is None else time_ns / 1e9,
        )


class NetworkLog(_Stream[NetworkRecord]):
    """The records of the log of a network. Iterating over it reads them."""

    def _read(self, reply: Reply) -> NetworkRecord:
        return decode(NetworkRecord, reply.value)


class StatsWatch(_Stream[Stats]):
    """Samples of statistics. Iterating over it waits for each."""

    def _read(self, reply: Reply) -> Stats:
        return decode(Stats, reply.value)


class ByteStream(_Stream[bytes]):
    """Bytes of a file or of an archive. Iterating over it reads them piece by piece."""

    def _read(self, reply: Reply) -> bytes:
        return reply.content[0]

    def read(self) -> bytes:
        """Returns all bytes that are left."""
        parts: list[bytes] = []
        for part in self:
            parts.append(part)
        return b"".join(parts)


class TarUpload:
    """A tar archive that is written to a sandbox, which unpacks it meanwhile."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Writes a part of the archive, and waits until the sandbox has room for it."""
        call(self._link, "write", {}, (_core.as_bytes(data),))

    def finish(self) -> Copied:
        """Ends the archive, and waits until it is unpacked."""
        reply = call(self._link, "finish")
        return decode(Copied, reply.value)

    def close(self) -> None:
        """Gives the archive up, unless it is finished; entries that were unpacked stay."""
        self._link.close()

    def __enter__(self) -> TarUpload:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if value is None:
                self.finish()
        finally:
            self.close()
