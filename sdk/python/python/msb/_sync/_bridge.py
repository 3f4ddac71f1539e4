"""Calls of the synchronous client: the calling thread waits, and Ctrl-C ends the wait."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, TypeVar, Union

from .. import _native, _values
from .._content import PART_BYTES, checked_parts
from .._core import Data, Link, Reply, as_bytes, error, reply, show, users_level

T = TypeVar("T")

Parts = Union["IO[bytes]", "IO[str]", Iterable[Data]]
"""Content that is read piece by piece: an open file, or an iterable of bytes or text."""

#: Words that tell one client from the other in messages.
KIND = "Msb"


def call(
    link: Link,
    operation: str,
    parameters: Mapping[str, Any] | None = None,
    content: Sequence[bytes] = (),
    *,
    shows: bool = True,
) -> Reply:
    """Calls an operation and waits for it. `KeyboardInterrupt` cancels the operation.

    Its notices are shown, unless `shows` is false: an exception that a filter makes of one would lose the result.
    """
    if not link.core.has_warned_of_loop and _is_in_loop():
        link.core.has_warned_of_loop = True
        warnings.warn(
            "Msb blocks the event loop that is running on this thread; use AsyncMsb, or Msb on another thread",
            RuntimeWarning,
            stacklevel=users_level(),
        )
    try:
        result = link.handle.call_blocking(operation, _values.dumps(parameters or {}), content)
    except _native.Failure as failure:
        raise error(failure) from None
    replied = reply(link.core, result)
    if shows:
        show(replied.notices)
    return replied


def _is_in_loop() -> bool:
    """Returns true if an asyncio event loop is running on this thread."""
    asyncio = sys.modules.get("asyncio")
    # In a notebook every cell runs in a loop, and blocking is what its user expects.
    if asyncio is None or "ipykernel" in sys.modules:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def opening(opened: T) -> T:
    """Returns what was opened."""
    return opened


def background(work: Callable[[], None]) -> threading.Thread:
    """Runs work beside the caller, on a thread."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def run_blocking(work: Callable[[], Any]) -> Any:
    """Runs work that blocks."""
    return work()


class Refusing:
    """An object of the synchronous client, which `with` takes."""


def parts(data: Parts) -> Iterator[bytes]:
    """Returns content piece by piece: of an open file, or of an iterable."""
    read: Any = getattr(data, "read", None)
    if read is not None:
        while part := read(PART_BYTES):
            yield as_bytes(part)
    else:
        for part in checked_parts(data):
            yield as_bytes(part)
