from __future__ import annotations

import codecs
from collections.abc import AsyncIterator
from typing import Literal

from .. import _core, _values
from .._core import Data, Link
from .._types import Event, Exit, TextEvent
from .._values import Duration, decode
from ._bridge import call
from ._scope import AsyncScope

Stream = Literal["stdout", "stderr"]


class AsyncProcess(AsyncScope):
    """A running command. Iterating over it returns what it prints, until it ends.

    A reader that is slow slows the command down. Leaving the `async with` block kills the command and what it started.
    """

    def __init__(self, link: Link, pid: int) -> None:
        self._link = link
        self._pid = pid
        self._stdin = AsyncStdin(link)
        self._stdout = AsyncOutputStream(link, "stdout")
        self._stderr = AsyncOutputStream(link, "stderr")

    def __repr__(self) -> str:
        return f"<AsyncProcess {self._pid}>"

    @property
    def pid(self) -> int:
        """The command's process id in the sandbox."""
        return self._pid

    @property
    def stdin(self) -> AsyncStdin:
        """Standard input, if the command was started with `stdin=True`."""
        return self._stdin

    @property
    def stdout(self) -> AsyncOutputStream:
        """Standard output alone. Reading it discards standard error meanwhile."""
        return self._stdout

    @property
    def stderr(self) -> AsyncOutputStream:
        """Standard error alone. Reading it discards standard output meanwhile."""
        return self._stderr

    async def next(self) -> Event | None:
        """Returns the next output, and waits for it; `None` after the last."""
        return await _next_event(self._link)

    async def wait(self, timeout: Duration | None = None) -> Exit:
        """Waits until the command has ended. Output that nobody has read is discarded.

        Raises `TimeoutError` if the command still runs after `timeout`, and goes on; `CommandTimeout` if the timeout of
        `spawn` has killed it; `SandboxEnded`, or `NotRunning` if the process was closed.
        """
        options = {"timeout_ms": _values.milliseconds(timeout, "timeout")}
        reply = await call(self._link, "wait", options)
        if reply.value is None:
            raise TimeoutError(f"process {self._pid} still runs after {_values.seconds(timeout)} s")
        return decode(Exit, reply.value)

    async def signal(self, signal: str | int) -> None:
        """Sends a signal to the command and what it started, by its name or number."""
        await call(
            self._link, "signal", {"signal": signal if isinstance(signal, str) else int(signal)}
        )

    async def kill(self) -> None:
        """Kills the command and what it started. A command that has ended is no error."""
        await call(self._link, "kill")

    async def resize(self, rows: int, cols: int) -> None:
        """Sets the size of the command's terminal."""
        await call(self._link, "resize", {"rows": rows, "cols": cols})

    async def close(self) -> None:
        """Kills the command if it runs, without waiting for its end."""
        self._link.close()

    async def text(self) -> AsyncIterator[TextEvent]:
        """Returns what the command prints as text. No character is cut, and bytes that are not UTF-8 are replaced."""
        decoders = {stream: _decoder() for stream in _STREAMS}
        async for event in self:
            text = decoders[event.stream].decode(event.data)
            if text:
                yield TextEvent(event.stream, text)
        for stream in _STREAMS:
            rest = decoders[stream].decode(b"", final=True)
            if rest:
                yield TextEvent(stream, rest)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        event = await self.next()
        if event is None:
            raise StopAsyncIteration
        return event


class AsyncStdin:
    """Standard input of a running command."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def write(self, data: Data) -> None:
        """Writes bytes, or text as UTF-8, and waits until the command has room for them.

        Raises `NotRunning` if the command reads no more, and `InvalidArgument` if it was started without `stdin=True`.
        """
        await call(self._link, "write", {}, (_core.as_bytes(data),))

    async def close(self) -> None:
        """Ends standard input, after everything that was written."""
        await call(self._link, "close_stdin")


class AsyncOutputStream:
    """One stream of a running command, as bytes. Iterating over it returns them as they come."""

    def __init__(self, link: Link, stream: Stream) -> None:
        # Not the process: a cycle would keep a forgotten process running until a collection.
        self._link = link
        self._stream: Stream = stream
        self._rest = b""

    async def read(self, size: int = -1) -> bytes:
        """Returns exactly `size` bytes, fewer only at the end; without a size everything that is left."""
        parts: list[bytes] = []
        length = 0
        while size < 0 or length < size:
            data = await self._next()
            if not data:
                break
            parts.append(data)
            length += len(data)
        data = b"".join(parts)
        if size < 0:
            return data
        self._rest = data[size:]
        return data[:size]

    async def text(self) -> AsyncIterator[str]:
        """Returns the bytes as text. No character is cut, and bytes that are not UTF-8 are replaced."""
        decoder = _decoder()
        async for data in self:
            text = decoder.decode(data)
            if text:
                yield text
        rest = decoder.decode(b"", final=True)
        if rest:
            yield rest

    async def lines(self) -> AsyncIterator[str]:
        """Returns the lines of the text, without their ends. The last may lack its end."""
        rest = ""
        async for text in self.text():
            *lines, rest = (rest + text).split("\n")
            for line in lines:
                yield line.removesuffix("\r")
        if rest:
            yield rest

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        data = await self._next()
        if not data:
            raise StopAsyncIteration
        return data

    async def _next(self) -> bytes:
        """Returns the next bytes; none at the end."""
        if self._rest:
            rest, self._rest = self._rest, b""
            return rest
        while True:
            event = await _next_event(self._link)
            if event is None:
                return b""
            if event.stream == self._stream and event.data:
                return event.data


_STREAMS: tuple[Stream, Stream] = ("stdout", "stderr")


async def _next_event(link: Link) -> Event | None:
    reply = await call(link, "next")
    if reply.value is None:
        return None
    return Event(reply.value["stream"], reply.content[0])


def _decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8")("replace")
