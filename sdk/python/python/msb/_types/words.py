"""The base of enumerations."""

from __future__ import annotations

import enum


class _Words(str, enum.Enum):
    """An enumeration whose members are words, as the command line prints them."""

    def __str__(self) -> str:
        return str(self.value)
