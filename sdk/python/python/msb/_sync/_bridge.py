"""Calls of the synchronous client: the calling thread waits, and Ctrl-C ends the wait."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from .. import _native, _values
from .._core import Link, Reply, error, reply, users_level

T = TypeVar("T")

#: Words that tell one client from the other in messages.
KIND = "Msb"


def call(
    link: Link,
    operation: str,
    parameters: Mapping[str, Any] | None = None,
    content: Sequence[bytes] = (),
) -> Reply:
    """Calls an operation and waits for it. `KeyboardInterrupt` cancels the operation."""
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
    return reply(link.core, result)


def _is_in_loop() -> bool:
    """Returns true if an asyncio event loop is running on this thread."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def opening(opened: T) -> T:
    """Returns what was opened."""
    return opened


def run_blocking(work: Callable[[], Any]) -> Any:
    """Runs work that blocks."""
    return work()
