"""Errors of msb: one tree, whose root is `MsbError`.

Every error has a stable `code`, a `message` that names the thing that failed, a `hint` if a remedy is known, and
`details`. Cancellation is not an `MsbError`: it is `asyncio.CancelledError` or `KeyboardInterrupt`.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

__all__ = [
    "AlreadyExists",
    "BootTimeout",
    "Busy",
    "CommandError",
    "CommandFailed",
    "CommandNotFound",
    "CommandTimeout",
    "ForkedError",
    "ImageInUse",
    "ImageNotFound",
    "InternalError",
    "InvalidArgument",
    "JobNotFound",
    "KernelMissing",
    "MachineFailed",
    "MsbError",
    "MsbWarning",
    "NameTaken",
    "NotExecutable",
    "NotFound",
    "NotPaused",
    "NotRunning",
    "OutOfSpace",
    "OutputLimit",
    "PathExists",
    "PathNotFound",
    "PermissionDenied",
    "PortInUse",
    "PullError",
    "RegistryError",
    "SandboxEnded",
    "SandboxNotFound",
    "SandboxPaused",
    "SandboxRunning",
    "StartError",
    "Unauthorized",
    "Unsupported",
    "VersionMismatch",
    "VmmMissing",
    "VolumeInUse",
    "VolumeNotFound",
]


class MsbWarning(UserWarning):
    """A fact that the user may want to change, such as missing hardware virtualisation."""


class MsbError(Exception):
    """The base of all errors of msb."""

    _code: ClassVar[str] = "error"
    _errno: ClassVar[int | None] = None

    code: str
    """The stable code of the error, in kebab case."""
    message: str
    """One line that says what happened, to what, and why."""
    hint: str | None
    """The remedy, in the imperative; `None` if no remedy is known."""
    details: dict[str, Any]
    """Named values of the error, such as `name`, `path` or `limit_bytes`."""
    causes: list[str]
    """The messages of the causes, the outermost first."""
    stdout: bytes
    """Standard output of the command up to the error; empty if no command failed."""
    stderr: bytes
    """Standard error of the command up to the error; empty if no command failed."""

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        details: Mapping[str, Any] | None = None,
        causes: Sequence[str] = (),
        stdout: bytes = b"",
        stderr: bytes = b"",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = self._code if code is None else code
        self.hint = hint
        self.details = dict(details or {})
        self.causes = list(causes)
        self.stdout = stdout
        self.stderr = stderr
        if isinstance(self, OSError):
            _describe(self, self._errno, message, self.details.get("path"))

    def __str__(self) -> str:
        if self.hint is None:
            return self.message
        return f"{self.message}\nhint: {self.hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        state = {
            "code": self.code,
            "hint": self.hint,
            "details": self.details,
            "causes": self.causes,
            "stdout": self.stdout,
            "stderr": self.stderr,
        }
        return _rebuilt, (type(self), self.message, state)

    @property
    def last_words(self) -> list[str]:
        """The last lines that a machine and its guest printed before the error."""
        words: Any = self.details.get("last_words", [])
        return [str(word) for word in words]


def _describe(error: OSError, number: int | None, message: str, path: Any) -> None:
    """Sets the fields that callers of the operating system's errors read."""
    error.errno = number
    error.strerror = message
    error.filename = path


def _rebuilt(kind: type[MsbError], message: str, state: dict[str, Any]) -> MsbError:
    return kind(message, **state)


class InvalidArgument(MsbError):
    """An argument cannot be used."""

    _code = "invalid-argument"


class NotFound(MsbError):
    """The named object does not exist."""

    _code = "not-found"


class SandboxNotFound(NotFound):
    """No sandbox has this name or id."""

    _code = "sandbox-not-found"


class ImageNotFound(NotFound):
    """No image has this name or digest."""

    _code = "image-not-found"


class VolumeNotFound(NotFound):
    """No volume has this name."""

    _code = "volume-not-found"


class PathNotFound(NotFound, FileNotFoundError):
    """A path does not exist, in a sandbox or on the host. It is also a `FileNotFoundError`."""

    _code = "path-not-found"
    _errno = errno.ENOENT


class JobNotFound(NotFound):
    """The sandbox has no job with this number."""

    _code = "job-not-found"


class AlreadyExists(MsbError):
    """The object exists already."""

    _code = "already-exists"


class NameTaken(AlreadyExists):
    """Another sandbox or volume has this name."""

    _code = "name-taken"


class PathExists(AlreadyExists, FileExistsError):
    """The path exists already. It is also a `FileExistsError`."""

    _code = "path-exists"
    _errno = errno.EEXIST


class Busy(MsbError):
    """The object is in use."""

    _code = "busy"


class SandboxRunning(Busy):
    """The sandbox is running, and must be stopped first."""

    _code = "sandbox-running"


class SandboxPaused(Busy):
    """The processes of the sandbox are paused."""

    _code = "sandbox-paused"


class VolumeInUse(Busy):
    """A sandbox uses the volume."""

    _code = "volume-in-use"


class ImageInUse(Busy):
    """A sandbox uses the image."""

    _code = "image-in-use"


class PortInUse(Busy):
    """A port of the host is in use."""

    _code = "port-in-use"


class NotRunning(MsbError):
    """The sandbox, or the command in it, does not run."""

    _code = "not-running"


class NotPaused(MsbError):
    """The processes of the sandbox are not paused."""

    _code = "not-paused"


class PermissionDenied(MsbError, PermissionError):
    """The host or the guest denies access. It is also a `PermissionError`."""

    _code = "permission-denied"
    _errno = errno.EACCES


class OutOfSpace(MsbError):
    """A disk is full."""

    _code = "out-of-space"


class PullError(MsbError):
    """An image cannot be brought into the store."""

    _code = "pull-error"


class RegistryError(PullError):
    """A registry failed."""

    _code = "registry-error"


class Unauthorized(PullError):
    """A registry denies access."""

    _code = "unauthorized"


class StartError(MsbError):
    """A sandbox cannot be started."""

    _code = "start-error"


class KernelMissing(StartError):
    """There is no usable guest kernel."""

    _code = "kernel-missing"


class VmmMissing(StartError):
    """No virtual machine monitor can run on this host, or the program msb is missing."""

    _code = "vmm-missing"


class BootTimeout(StartError, TimeoutError):
    """The guest did not answer in time. It is also a `TimeoutError`."""

    _code = "boot-timeout"
    _errno = errno.ETIMEDOUT


class MachineFailed(StartError):
    """The virtual machine ended while it was starting; `last_words` says what it printed."""

    _code = "machine-failed"


class SandboxEnded(MsbError):
    """The sandbox ended during the operation; `last_words` says what it printed."""

    _code = "sandbox-ended"


class CommandError(MsbError):
    """A command failed."""

    _code = "command-error"

    @property
    def exit_code(self) -> int | None:
        """The exit code of the command; `None` if it did not end by itself."""
        code: Any = self.details.get("exit_code")
        return code if isinstance(code, int) else None


class CommandFailed(CommandError):
    """The command ended with another exit code than 0, and the caller asked for a check."""

    _code = "command-failed"


class CommandNotFound(CommandError):
    """The command does not exist."""

    _code = "command-not-found"


class NotExecutable(CommandError):
    """The command cannot be executed."""

    _code = "not-executable"


class CommandTimeout(CommandError, TimeoutError):
    """The command took too long, and was killed; `stdout` and `stderr` are what it printed.

    It is also a `TimeoutError`.
    """

    _code = "command-timeout"
    _errno = errno.ETIMEDOUT


class OutputLimit(CommandError):
    """A command printed more than `max_output`, and was killed; `stdout` and `stderr` are what came.

    Also a file that is longer than the `max_size` of a read.
    """

    _code = "output-limit"


class VersionMismatch(MsbError):
    """The program msb, or the guest's agent, is of another version."""

    _code = "version-mismatch"


class ForkedError(MsbError):
    """The object belongs to the process that this one was forked from."""

    _code = "forked-error"


class Unsupported(MsbError):
    """The operation is not supported."""

    _code = "unsupported"


class InternalError(MsbError):
    """msb itself failed."""

    _code = "internal-error"


def _tree(root: type[MsbError]) -> dict[str, type[MsbError]]:
    """Returns the classes of the tree by their names."""
    classes = {root.__name__: root}
    for child in root.__subclasses__():
        classes.update(_tree(child))
    return classes


_CLASSES = _tree(MsbError)


def from_description(description: Mapping[str, Any], content: Sequence[bytes] = ()) -> MsbError:
    """Returns the error that a failed operation described."""
    names = [description["kind"], *description["parents"]]
    known = (_CLASSES[name] for name in names if name in _CLASSES)
    kind = next(known, MsbError)
    return kind(
        description["message"],
        code=description["code"],
        hint=description.get("hints", {}).get("python") or description["hint"],
        details=description["details"],
        causes=description["causes"],
        stdout=content[0] if len(content) > 0 else b"",
        stderr=content[1] if len(content) > 1 else b"",
    )
