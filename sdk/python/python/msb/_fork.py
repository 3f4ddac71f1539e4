"""Forked processes: a child must not keep what the client of its parent holds.

Python's `os.fork` copies every descriptor. A copied connection would keep an owned sandbox alive after its owner, and a
copied lock would make a sandbox look as if it ran. The child never uses them, so they are closed in it.
"""

from __future__ import annotations

import os
import socket
import stat
import weakref
from typing import Protocol

#: The name of the sockets of sandboxes.
_SOCKET_NAME = "agent.sock"


class HasHome(Protocol):
    """A client of one home."""

    @property
    def home(self) -> str: ...


_clients: weakref.WeakSet[HasHome] = weakref.WeakSet()


def watch(client: HasHome) -> None:
    """Closes the client's descriptors in processes that are forked from this one."""
    _clients.add(client)


def _close_in_child() -> None:
    # A socket has the path that it was reached by, a file its real one.
    homes = {client.home for client in _clients}
    homes = {os.path.join(path, "") for home in homes for path in (home, os.path.realpath(home))}
    if not homes:
        return
    for name in os.listdir("/proc/self/fd"):
        try:
            if _is_of(int(name), homes):
                os.close(int(name))
        except OSError:
            # The descriptor of the listing itself, or one that was closed meanwhile.
            continue


def _is_of(descriptor: int, homes: set[str]) -> bool:
    """Returns true if it is open on a file of a home, or connected with a sandbox."""
    if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        with socket.socket(fileno=os.dup(descriptor)) as copy:
            if copy.family != socket.AF_UNIX:
                return False
            path = copy.getpeername()
        # A path that is too long for an address is reached through the descriptor of its directory.
        is_short = isinstance(path, str) and path.startswith("/dev/fd/")
        if is_short and os.path.basename(path) == _SOCKET_NAME:
            return True
    else:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
    return isinstance(path, str) and any(path.startswith(home) for home in homes)


os.register_at_fork(after_in_child=_close_in_child)
