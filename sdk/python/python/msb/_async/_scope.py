from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from ._bridge import Refusing

if TYPE_CHECKING:
    from typing_extensions import Self


class AsyncScope(Refusing):
    """An object that is closed at the end of its `async with` block."""

    async def close(self) -> None:
        """Closes the object."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
