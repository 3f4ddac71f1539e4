"""Objects where a name is asked for: handles and descriptions stand for their names."""

from __future__ import annotations

from typing import Protocol, Union

from ._types import SnapshotInfo


class Named(Protocol):
    """A handle or a description that has a name: a sandbox, a snapshot, a volume."""

    @property
    def name(self) -> str:
        """The name."""
        ...


class Digested(Protocol):
    """A handle or a description of an image."""

    @property
    def digest(self) -> str:
        """The digest of the image's manifest."""
        ...


Name = Union[str, Named]
"""A name, or an object that has it."""

Side = Union[str, Named, Digested]
"""The name of a sandbox, a snapshot (`SANDBOX@SNAPSHOT`) or an image, or an object that has it."""


def name(value: Name) -> str:
    """Returns a name."""
    if isinstance(value, str):
        return value
    found = getattr(value, "name", None)
    if isinstance(found, str):
        return found
    raise TypeError(f"a name must be str, or an object that has a name, not {_kind(value)}")


def optional(value: Name | None) -> str | None:
    """Returns a name, or `None` for `None`."""
    return None if value is None else name(value)


def side(value: Side) -> str:
    """Returns the name of a sandbox, a snapshot or an image."""
    if isinstance(value, str):
        return value
    if isinstance(value, SnapshotInfo):
        return f"{value.sandbox}@{value.name}"
    for attribute in ("digest", "name"):
        found = getattr(value, attribute, None)
        if isinstance(found, str):
            return found
    raise TypeError(f"write a name, a sandbox, a snapshot or an image, not {_kind(value)}")


def _kind(value: object) -> str:
    return type(value).__name__
