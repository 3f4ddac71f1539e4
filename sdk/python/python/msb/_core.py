"""What the synchronous and the asynchronous client share: the native client, its failures and its notices."""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Union

from . import _fork, _native, _values
from ._types import Version
from .errors import MsbError, MsbWarning, from_description

#: Seconds for which the end of a client waits until the sandboxes that it owned are removed.
_SHUTDOWN_TIMEOUT_S = 10.0
#: The same at the end of the interpreter, which must not be noticed.
_EXIT_TIMEOUT_S = 0.2

Data = Union[bytes, bytearray, memoryview, str]
"""Content: bytes, or text that is encoded as UTF-8."""

_shown: set[tuple[str, str]] = set()
_lock = threading.Lock()


class Core:
    """A native client."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        try:
            self.native = _native.Client(_values.dumps(parameters))
        except _native.Failure as failure:
            raise error(failure) from None
        home: str = parameters["home"] or os.environ.get("MSB_HOME") or "~/.msb"
        self.home = os.path.abspath(os.path.expanduser(home))
        _fork.watch(self)
        self.root = Link(self, self.native.handle())
        #: True once the synchronous client has warned of a running event loop.
        self.has_warned_of_loop = False
        # At the end of the interpreter too: its threads must not be alive after it.
        self._finalizer = weakref.finalize(self, _shut_down, self.native)

    @functools.cached_property
    def version(self) -> Version:
        """The versions of the native module. Reading them does not wait for anything."""
        text, _, _ = self.root.handle.call_blocking("version", "{}", ())
        return _values.decode(Version, json.loads(text))

    def close(self) -> None:
        """Ends the client; later calls fail."""
        self._finalizer.detach()
        self.native.shutdown(_SHUTDOWN_TIMEOUT_S)


def show(notices: Any) -> None:
    """Shows notices as warnings, each once in this process. A filter may raise them; they are shown again then."""
    for notice in notices:
        key = (notice["code"], notice["message"])
        with _lock:
            is_new = key not in _shown
            _shown.add(key)
        if not is_new:
            continue
        try:
            warnings.warn(notice["message"], MsbWarning, stacklevel=users_level())
        except MsbWarning:
            with _lock:
                _shown.discard(key)
            raise


def _shut_down(native: _native.Client) -> None:
    native.shutdown(_EXIT_TIMEOUT_S, at_exit=True)


class Link:
    """A native handle, and the client that it belongs to."""

    __slots__ = ("core", "handle")

    def __init__(self, core: Core, handle: _native.Handle) -> None:
        self.core = core
        self.handle = handle

    def close(self) -> None:
        """Gives the object up without waiting."""
        self.handle.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an object of msb cannot be pickled: pass its name, and get it from a client of the other process"
        )


class Reply(NamedTuple):
    """The result of an operation."""

    value: Any
    content: list[bytes]
    link: Link | None

    @property
    def notices(self) -> Any:
        """The notices of the operation, which its caller shows once nothing can be lost by an exception."""
        has_notices = isinstance(self.value, dict) and "warnings" in self.value
        return self.value["warnings"] if has_notices else ()

    @property
    def new(self) -> Link:
        """The object that the operation made."""
        if self.link is None:
            raise RuntimeError("the operation made no object")
        return self.link


def reply(core: Core, parts: tuple[str, list[bytes], _native.Handle | None]) -> Reply:
    """Returns the result of an operation from that of the native module."""
    text, content, handle = parts
    value = json.loads(text)
    return Reply(value, content, None if handle is None else Link(core, handle))


def error(failure: _native.Failure) -> MsbError:
    """Returns the error of a failure of the native module."""
    description, content = failure.args
    return from_description(json.loads(description), content)


def as_bytes(data: Data, name: str = "data") -> bytes:
    """Returns bytes of content; text is encoded as UTF-8."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        return data.encode()
    try:
        # Not bytes(data): a number would become that many zeros, and a list of numbers its bytes.
        return bytes(memoryview(data))
    except TypeError:
        kind = type(data).__name__
        raise TypeError(f"{name} must be str or bytes-like, not {kind}") from None


def content(data: Data | None) -> Sequence[bytes]:
    """Returns bytes beside the parameters of an operation."""
    if hasattr(data, "read"):
        raise TypeError(
            f"stdin must be str or bytes-like, not {type(data).__name__}: "
            "pass what it reads, or use spawn(stdin=True) and write to its stdin"
        )
    return () if data is None else (as_bytes(data, "stdin"),)


def parameters(
    *,
    home: str | os.PathLike[str] | None,
    program: str | os.PathLike[str] | None,
    kernel: str | os.PathLike[str] | None,
    qemu: str | os.PathLike[str] | None,
    vmm: str | None,
    jail: str | None,
) -> dict[str, Any]:
    """Returns the parameters of a client, with the program and the kernel that are installed beside this package."""
    return {
        "home": None if home is None else _values.host_path(home),
        "program": _path(program, "MSB_PROGRAM", bundled_program),
        "kernel": _path(kernel, "MSB_KERNEL", packaged_kernel),
        "qemu": None if qemu is None else _values.host_path(qemu),
        "vmm": vmm,
        "jail": jail,
    }


def _path(
    given: str | os.PathLike[str] | None, variable: str, packaged: Callable[[], str | None]
) -> str | None:
    if given is not None:
        return _values.host_path(given)
    if os.environ.get(variable):
        # The native client reads it, and names it in its errors.
        return None
    return packaged()


def bundled_program() -> str | None:
    """Returns the path of the program `msb` in this package; `None` if the package was built without it."""
    program = Path(__file__).parent / "_bin" / "msb"
    return str(program) if program.exists() else None


def packaged_kernel() -> str | None:
    """Returns the path of the guest kernel in the package `msb-kernel`; `None` if it is not installed."""
    try:
        kernel: Any = importlib.import_module("msb_kernel")
    except ImportError:
        return None
    return str(kernel.path())


def users_level() -> int:
    """Returns the `stacklevel` of the caller's nearest frame outside of this package."""
    package = os.path.dirname(__file__)
    level = 1
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
        level += 1
    return level
