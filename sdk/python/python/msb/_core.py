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
from typing import Any, NamedTuple

from . import _fork, _native, _values
from ._types import Version
from .errors import MsbError, MsbWarning, from_description

#: Seconds for which the end of a client waits until the sandboxes that it owned are removed.
_SHUTDOWN_TIMEOUT_S = 10.0
#: The same at the end of the interpreter, which must not be noticed.
_EXIT_TIMEOUT_S = 0.2


class Core:
    """A native client, and the notices that were shown."""

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
        self._shown: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
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

    def show(self, notices: Any) -> None:
        """Shows notices as warnings, each once."""
        for notice in notices:
            key = (notice["code"], notice["message"])
            with self._lock:
                is_new = key not in self._shown
                self._shown.add(key)
            if is_new:
                warnings.warn(notice["message"], MsbWarning, stacklevel=users_level())


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


class Reply(NamedTuple):
    """The result of an operation."""

    value: Any
    content: list[bytes]
    link: Link | None

    @property
    def new(self) -> Link:
        """The object that the operation made."""
        if self.link is None:
            raise RuntimeError("the operation made no object")
        return self.link


def reply(core: Core, parts: tuple[str, list[bytes], _native.Handle | None]) -> Reply:
    """Returns the result of an operation from that of the native module, and shows its notices."""
    text, content, handle = parts
    value = json.loads(text)
    if isinstance(value, dict) and "warnings" in value:
        core.show(value["warnings"])
    return Reply(value, content, None if handle is None else Link(core, handle))


def error(failure: _native.Failure) -> MsbError:
    """Returns the error of a failure of the native module."""
    description, content = failure.args
    return from_description(json.loads(description), content)


def as_bytes(data: bytes | bytearray | memoryview | str) -> bytes:
    """Returns bytes of content; text is encoded as UTF-8."""
    if isinstance(data, str):
        return data.encode()
    return data if isinstance(data, bytes) else bytes(data)


def content(data: bytes | bytearray | memoryview | str | None) -> Sequence[bytes]:
    """Returns bytes beside the parameters of an operation."""
    return () if data is None else (as_bytes(data),)


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
