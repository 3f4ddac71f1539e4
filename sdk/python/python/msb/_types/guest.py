"""The settings of a guest. MSB_BLESS=1 cargo test -p msb-sdk-binding writes this file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from .._values import Size


class GuestSettings(TypedDict, total=False):
    """The settings of a sandbox's guest."""

    forward_agent: bool
    """True if programs of the guest can list the keys of the host's SSH agent and sign with them."""
    hostname: str
    """The guest's hostname; the sandbox's name by default."""
    init: bool
    """True if process 1 is an init, which starts the main command, passes signals on to it and reaps orphans."""
    pid: Literal["private", "host"]
    """The namespace of process IDs: the sandbox's own, in which the main command is process 1, or that of the virtual
    machine."""
    pids: int
    """Most processes and threads of all commands together; the kernel's limit by default."""
    read_only: bool
    """True if nothing can be written but to mounts and to `/dev/shm`."""
    shm: Size
    """Size of `/dev/shm`; half of the memory by default."""
    sockets: Sequence[str]
    """Unix sockets of the host that programs of the guest can connect to, each as
    `HOST_PATH:GUEST_PATH[:mode=MODE,owner=USER]`."""
    sysctls: Mapping[str, str]
    """Settings of the guest's kernel, by name, such as `net.core.somaxconn`."""
    tmp: Size
    """Size of `/tmp` in memory; by default `/tmp` is on the writable disk."""
