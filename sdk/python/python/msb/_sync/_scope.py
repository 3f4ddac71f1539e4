# Generated from _async/_scope.py by generate_sync.py: edit that file.
from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from ._bridge import Refusing

if TYPE_CHECKING:
    from typing_extensions import Self


class Scope(Refusing):
    """An object that is closed at the end of its `with` block."""

    def close(self) -> None:
        """Closes the object."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
