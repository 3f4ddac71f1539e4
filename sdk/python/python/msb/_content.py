"""Content that is read piece by piece."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

#: Bytes that are read of a file at once.
PART_BYTES = 256 << 10


def checked_parts(data: Any) -> Iterable[Any]:
    """Returns the parts of an iterable. Numbers and the like are refused: they would become bytes by accident."""
    if not isinstance(data, Iterable):
        raise TypeError(
            "data must be str, bytes-like, an open file or an iterable of those, "
            f"not {type(data).__name__}"
        )
    return data


def is_whole(data: object) -> bool:
    """Returns true for content that is in memory: text, or an object with the buffer protocol."""
    if isinstance(data, (str, bytes, bytearray, memoryview)):
        return True
    try:
        memoryview(data)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    except TypeError:
        return False
    return True
