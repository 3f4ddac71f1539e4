"""Calls of the asynchronous client: a native call becomes a future of the running loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, suppress
from types import TracebackType
from typing import IO, Any, Generic, NoReturn, TypeVar, Union

from .. import _native, _values
from .._content import PART_BYTES, checked_parts
from .._core import Data, Link, Reply, as_bytes, error, reply, show
from ..errors import Unsupported

T = TypeVar("T", bound="AbstractAsyncContextManager[Any]")
Result = tuple[str, list[bytes], "_native.Handle | None"]

Parts = Union["IO[bytes]", "IO[str]", Iterable[Data], AsyncIterable[Data]]
"""Content that is read piece by piece: an open file, or an iterable of bytes or text."""

#: Words that tell one client from the other in messages.
KIND = "AsyncMsb"


async def call(
    link: Link,
    operation: str,
    parameters: Mapping[str, Any] | None = None,
    content: Sequence[bytes] = (),
    *,
    shows: bool = True,
) -> Reply:
    """Calls an operation. Cancelling the task cancels the operation.

    Its notices are shown, unless `shows` is false: an exception that a filter makes of one would lose the result.
    """
    loop = _running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def done(result: Result | _native.Failure) -> None:
        # On a thread of the native client; the loop may be closed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve, future, result)

    try:
        pending = link.handle.call(operation, _values.dumps(parameters or {}), content, done)
    except _native.Failure as failure:
        raise error(failure) from None
    try:
        result = await future
    except _native.Failure as failure:
        raise error(failure) from None
    except BaseException:
        pending.cancel()
        raise
    replied = reply(link.core, result)
    if shows:
        show(replied.notices)
    return replied


def _resolve(future: asyncio.Future[Result], result: Result | _native.Failure) -> None:
    if future.done():
        return
    if isinstance(result, _native.Failure):
        future.set_exception(result)
    else:
        future.set_result(result)


def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise Unsupported(
            "cannot use AsyncMsb: no asyncio event loop is running",
            hint="run it under asyncio, or use Msb; under trio, use Msb in trio.to_thread.run_sync",
        ) from None


class Refusing:
    """An object that `with` refuses, with the remedy."""

    def __enter__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is asynchronous: use it with 'async with'")

    def __exit__(self, *error: object) -> None:
        raise NotImplementedError


class Opening(Refusing, Generic[T]):
    """Something that is being opened: `await` it, or use it with `async with`."""

    def __init__(self, opening: Coroutine[Any, Any, T]) -> None:
        self._opening = opening
        self._opened: T | None = None

    def __await__(self) -> Generator[Any, Any, T]:
        return self._opening.__await__()

    async def __aenter__(self) -> T:
        opened = await self._opening
        self._opened = opened
        await opened.__aenter__()
        return opened

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._opened is not None:
            await self._opened.__aexit__(kind, value, traceback)


def opening(work: Coroutine[Any, Any, T]) -> Opening[T]:
    """Returns an object that is awaitable and an asynchronous context manager."""
    return Opening(work)


def background(work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
    """Runs work beside the caller, as a task."""
    return _running_loop().create_task(work())


async def run_blocking(work: Callable[[], Any]) -> Any:
    """Runs work that blocks on a thread."""
    return await _running_loop().run_in_executor(None, work)


async def parts(data: Parts) -> AsyncIterator[bytes]:
    """Returns content piece by piece: of an open file, or of an iterable, asynchronous or not."""
    read: Any = getattr(data, "read", None)
    if read is not None:
        is_asynchronous = inspect.iscoroutinefunction(read)
        while True:
            part = await (
                read(PART_BYTES) if is_asynchronous else run_blocking(lambda: read(PART_BYTES))
            )
            if not part:
                return
            yield as_bytes(part)
    elif isinstance(data, AsyncIterable):
        async for part in data:
            yield as_bytes(part)
    else:
        for part in checked_parts(data):
            yield as_bytes(part)
