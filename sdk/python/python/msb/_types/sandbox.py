"""The options of a sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from .._values import Duration, Size, Text
from .command import TerminalSize, Ulimit
from .guest import GuestSettings
from .mount import Mount
from .network import Network, Ports
from .root_disk import RootDisk
from .secret import Secret

if TYPE_CHECKING:
    import os

    from .._names import Side


class SandboxOptions(GuestSettings, total=False):
    """The options of `Sandboxes.run` and `Sandboxes.create`."""

    name: str
    """The sandbox's name; its id by default."""
    labels: Mapping[str, str]
    """Labels, for `Sandboxes.list`."""
    command: Sequence[Text]
    """The main command, with which the sandbox ends. Without one the sandbox lives until it is stopped. An empty
    list runs the image's own command."""
    entrypoint: str
    """Program to run instead of the image's Entrypoint; an empty one is no entrypoint."""
    from_sandbox: Side
    """A sandbox or a snapshot, or its name (`SANDBOX@SNAPSHOT`): the new one has its image and begins with its files."""
    root_disk: RootDisk
    """A disk image whose filesystem is the root, instead of an image."""
    native_root: bool
    """True to make the root one ext4 with the image's files, whose content stays in the layers, not an overlay."""
    env: Mapping[str, Text]
    """Environment variables of the main command and later ones."""
    cwd: str
    """Working directory of commands, an absolute path; it is made if it is missing."""
    user: str | int
    """User of commands, as `user[:group]`, by names or numbers."""
    groups: Sequence[str]
    """Groups of commands besides the user's."""
    ulimits: Mapping[str, Ulimit]
    """Resource limits of commands, by name: `nofile`, `nproc`, `core`."""
    tty: TerminalSize
    """The terminal of the main command."""
    stdin: bool
    """True if the main command's standard input stays open for attached clients."""
    cpus: int
    """Number of virtual processors; the host's, at most 4, by default."""
    memory: Size
    """Guest memory; 1 GiB by default."""
    disk: Size
    """Size of the writable disk, which is sparse; 8 GiB by default."""
    snapshots: bool
    """Without effect: snapshots can be taken of each sandbox while it runs."""
    snapshot_commands: bool
    """True to take a snapshot before each command that is run in the sandbox, so that `undo` can take it back."""
    undo_limit: int
    """The number of commands whose snapshots are kept, from 1 to 400; 50 by default."""
    mounts: Sequence[Mount]
    """Mounts."""
    ports: Ports
    """Ports of the sandbox that ports of the host lead to."""
    publish_all: bool
    """True if a free port of the host leads to each port that the image exposes."""
    network: Network | Literal["outbound", "listed", "none"]
    """The destinations that the sandbox reaches."""
    secrets: Sequence[Secret]
    """Secrets that programs use in requests and cannot read."""
    host_ca: bool
    """True if programs trust the certificate authorities that this host trusts."""
    copy: Mapping[str | os.PathLike[str], str]
    """Files of the host to copy before the first boot: path on the host to path in the sandbox."""
    make_directories: Sequence[str]
    """Directories to make before the first boot."""
    remove_paths: Sequence[str]
    """Paths of the image to leave out."""
    hosts: Mapping[str, str]
    """Lines to add to `/etc/hosts`: name to address."""
    max_duration: Duration
    """The sandbox is stopped this long after its start."""
    idle_timeout: Duration
    """The sandbox is stopped once no client was connected and no job has run for this long."""
    restart: str
    """The condition under which the main command is started again: `no`, `always`, `on-failure` or
    `on-failure:RETRIES`."""
    stop_signal: str
    """Signal that asks the main command to end; the image's by default, or SIGTERM."""
    stop_timeout: Duration
    """Time that a stop gives processes to end; 10 s by default."""
    remove_when_stopped: bool
    """True if the sandbox is removed once it has stopped."""
    pull: Literal["missing", "always", "never"]
    """The condition under which the image is pulled."""
    platform: str
    """The platform, as `OS/ARCH[/VARIANT]`; linux on this host's architecture by default."""
    plain_http: bool
    """True to use HTTP without TLS."""
    tls_ca: str | os.PathLike[str]
    """File of certificate authorities to trust too, in PEM."""
    limits: Mapping[str, str]
    """Limits on the cost of an image, by name, such as `layer-time`: `3d`."""
    store_limit: Size
    """The least recently used images are removed if all take more than this."""
    vmm: Literal["auto", "krun", "qemu"]
    """The virtual machine monitor; the client's choice by default."""
    boot_timeout: Duration
    """Time that the guest may take to answer; 120 s by default."""
    verify: Literal["changed", "always"]
    """When the trees of the image, the kernel and the boot disk are checked before the boot."""
    wait_for_attach: bool
    """True if the main command waits until a client has attached to it."""
    window: TerminalSize
    """The size of the main command's terminal at the start, if it has one; that of `tty` by default."""
