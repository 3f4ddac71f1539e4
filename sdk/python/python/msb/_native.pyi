from collections.abc import Callable, Sequence
from typing import final

__all__ = ["VERSION", "Client", "Failure", "Handle", "Pending"]

VERSION: str

class Failure(Exception):
    """A failed operation: its description as JSON, and the output of a command up to the failure."""

    args: tuple[str, list[bytes]]

@final
class Client:
    def __new__(cls, parameters: str) -> Client: ...
    def handle(self) -> Handle: ...
    @property
    def is_forked(self) -> bool: ...
    def shutdown(self, timeout_s: float, at_exit: bool = False) -> None: ...

@final
class Handle:
    def call_blocking(
        self, operation: str, parameters: str, content: Sequence[bytes]
    ) -> tuple[str, list[bytes], Handle | None]: ...
    def call(
        self,
        operation: str,
        parameters: str,
        content: Sequence[bytes],
        callback: Callable[[tuple[str, list[bytes], Handle | None] | Failure], object],
    ) -> Pending: ...
    def close(self) -> None: ...

@final
class Pending:
    def cancel(self) -> None: ...
