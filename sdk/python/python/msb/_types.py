"""Plain values: options, results and states."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union

from ._values import Duration, Size, Text
from .errors import CommandFailed, Unsupported

if TYPE_CHECKING:
    import os

__all__ = [
    "Copied",
    "Event",
    "Exit",
    "FileInfo",
    "FileType",
    "Finding",
    "HostStats",
    "ImageInfo",
    "JobInfo",
    "LogRecord",
    "Mount",
    "Network",
    "Output",
    "Port",
    "Pruned",
    "PullEvent",
    "RemovedImage",
    "SandboxInfo",
    "SandboxOptions",
    "SandboxState",
    "Severity",
    "Stats",
    "Stopped",
    "TextEvent",
    "Version",
    "VolumeInfo",
]


class _Words(str, enum.Enum):
    """An enumeration whose members are words, as the command line prints them."""

    def __str__(self) -> str:
        return str(self.value)


class SandboxState(_Words):
    """The state of a sandbox's machine."""

    CREATED = "created"
    RUNNING = "running"
    STOPPED = "stopped"


class Stopped(_Words):
    """The way in which a sandbox stopped."""

    CLEANLY = "cleanly"
    KILLED = "killed"
    NOT_RUNNING = "not-running"


class Severity(_Words):
    """The severity of a finding of `doctor`."""

    GOOD = "good"
    DEGRADED = "degraded"
    BROKEN = "broken"


class FileType(_Words):
    """The type of a file."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    FIFO = "fifo"
    SOCKET = "socket"
    CHAR_DEVICE = "char-device"
    BLOCK_DEVICE = "block-device"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Exit:
    """The end of a command, of a job or of a sandbox's main command."""

    code: int
    """The exit code: the command's own, or 128 plus the fatal signal."""
    signal: int | None = None
    """The signal that killed the command; `None` if none did, or it is not known."""
    reason: str | None = None
    """The limit that has ended the sandbox: `max-duration` or `idle-timeout`."""
    error: str | None = None
    """The reason that the command did not run, or the fate of its sandbox."""
    ended_s: float | None = None
    """Seconds since the epoch; `None` if the end was not observed."""

    @property
    def is_success(self) -> bool:
        """True if the exit code is 0."""
        return self.code == 0


@dataclass(frozen=True)
class Output:
    """The output of a command that has ended."""

    exit_code: int
    """The exit code: the command's own, or 128 plus the signal that killed it."""
    signal: int | None = None
    """The signal that killed the command; `None` if none did."""
    stdout: bytes = b""
    """Everything that the command printed on standard output, or on its terminal."""
    stderr: bytes = b""
    """Everything that the command printed on standard error."""

    @property
    def text(self) -> str:
        """Standard output as text; bytes that are not UTF-8 are replaced."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def error_text(self) -> str:
        """Standard error as text; bytes that are not UTF-8 are replaced."""
        return self.stderr.decode("utf-8", "replace")

    @property
    def is_success(self) -> bool:
        """True if the exit code is 0."""
        return self.exit_code == 0

    def check(self) -> Output:
        """Returns the output if the exit code is 0, and raises `CommandFailed` otherwise."""
        if self.is_success:
            return self
        if self.signal is None:
            message = f"the command ended with exit code {self.exit_code}"
        else:
            message = f"the command was killed by signal {self.signal}"
        details = {"exit_code": self.exit_code}
        raise CommandFailed(message, details=details, stdout=self.stdout, stderr=self.stderr)


@dataclass(frozen=True)
class Event:
    """Bytes that a running command printed."""

    stream: Literal["stdout", "stderr"]
    """The stream; the output of a terminal is `stdout`."""
    data: bytes
    """The bytes, as they came: a character of several bytes may be cut."""


@dataclass(frozen=True)
class TextEvent:
    """Text that a running command printed."""

    stream: Literal["stdout", "stderr"]
    """The stream; the output of a terminal is `stdout`."""
    text: str
    """The text; no character is cut, and bytes that are not UTF-8 are replaced."""


@dataclass(frozen=True)
class Port:
    """A port of a sandbox that a port of the host leads to."""

    guest_port: int
    """The port in the sandbox."""
    host_port: int = 0
    """The port of the host; 0 lets the host choose a free one at each start."""
    host_address: str = "127.0.0.1"
    """The address of the host to listen on."""
    protocol: Literal["tcp", "udp"] = "tcp"
    """The transport protocol."""


@dataclass(frozen=True)
class Mount:
    """A mount of a sandbox. Use `bind`, `volume`, `unnamed_volume` or `tmpfs` to make one."""

    type: Literal["bind", "volume", "tmpfs"]
    """The kind of the source."""
    target: str
    """The path in the sandbox."""
    source: str | None = None
    """The path on the host, or the volume's name."""
    read_only: bool = False
    """True if the sandbox can only read the mount, even as root."""
    size: Size | None = None
    """Size of an unnamed volume, or the maximum size of memory."""
    mode: int | None = None
    """The permission bits of the root directory of memory."""
    exec: bool = False
    """True if programs can be run from memory."""

    @classmethod
    def bind(cls, source: str | os.PathLike[str], target: str, *, read_only: bool = False) -> Mount:
        """Returns a mount of a directory or a file of the host."""
        import os

        return cls("bind", target, source=os.fspath(source), read_only=read_only)

    @classmethod
    def volume(cls, name: str, target: str, *, read_only: bool = False) -> Mount:
        """Returns a mount of a named volume, which is created if it does not exist."""
        return cls("volume", target, source=name, read_only=read_only)

    @classmethod
    def unnamed_volume(cls, target: str, *, size: Size | None = None) -> Mount:
        """Returns a mount of a new volume that is removed with the sandbox."""
        return cls("volume", target, size=size)

    @classmethod
    def tmpfs(
        cls, target: str, *, size: Size | None = None, mode: int | None = None, exec: bool = False
    ) -> Mount:
        """Returns a mount of memory, empty at each start."""
        return cls("tmpfs", target, size=size, mode=mode, exec=exec)


@dataclass(frozen=True)
class Network:
    """The destinations that a sandbox reaches. Use `none`, `listed` or `outbound` to make one."""

    mode: Literal["outbound", "listed", "none"] = "outbound"
    """The destinations without a rule."""
    allow: Sequence[str] = ()
    """Rules that allow destinations: addresses, ranges and names, each with or without `:port`."""
    deny: Sequence[str] = ()
    """Rules that deny destinations; they win over `allow`."""
    dns: Sequence[str] = ()
    """Resolvers to ask instead of the host's, as `IP` or `IP:PORT`."""

    @classmethod
    def none(cls) -> Network:
        """Returns no network: the sandbox has no network device."""
        return cls("none")

    @classmethod
    def listed(
        cls, allow: Sequence[str] = (), *, deny: Sequence[str] = (), dns: Sequence[str] = ()
    ) -> Network:
        """Returns a network that reaches only what `allow` says."""
        return cls("listed", tuple(allow), tuple(deny), tuple(dns))

    @classmethod
    def outbound(
        cls,
        *,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        dns: Sequence[str] = (),
    ) -> Network:
        """Returns a network that reaches everything but private, link-local and the host's own addresses."""
        return cls("outbound", tuple(allow), tuple(deny), tuple(dns))


@dataclass(frozen=True)
class Finding:
    """The state of one thing that sandboxes need."""

    subject: str
    """The inspected thing, such as `guest kernel`."""
    level: Severity
    """The severity of the finding."""
    finding: str
    """The result of the inspection."""
    remedy: str | None = None
    """The action that improves the state; `None` if no action is needed."""


@dataclass(frozen=True)
class Version:
    """The versions of this library."""

    msb: str
    """The version of msb."""
    store_format: int
    """The version of the store's format."""
    agent_protocol: int
    """The version of the protocol between host and guest agent."""
    agent: str
    """The digest of the guest agent, which identifies the build."""
    os: str
    """The operating system."""
    architecture: str
    """The processor architecture."""


@dataclass(frozen=True)
class ImageInfo:
    """The description of an image."""

    digest: str
    """The digest of the manifest."""
    reference: str | None = None
    """The name, in docker's short form; `None` if the image has no name."""
    platform: str = ""
    """The platform that the image runs on."""
    layer_count: int = 0
    """Number of layers."""
    size_bytes: int = 0
    """Length of its artifacts, in bytes. Other images may share layers."""
    created: str | None = None
    """The time of creation as the image's config states it, usually as RFC 3339."""


@dataclass(frozen=True)
class PullEvent:
    """A step of a pull. `type` says which; the other fields are those of the step."""

    type: str
    """`resolving`, `image`, `layer-present`, `layer-waiting`, `layer-started`, `layer-bytes`, `layer-notes`,
    `layer-done`, `retrying`, `merging`, `verifying`, `verified-bytes` or `done`."""
    diff_id: str | None = None
    """The layer, by its diff ID."""
    bytes: int | None = None
    """Number of bytes since the last event of the layer."""
    digest: str | None = None
    """Digest of the image's manifest."""
    rest: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of single steps, such as the `layers` of `image`."""


@dataclass(frozen=True)
class RemovedImage:
    """The result of the removal of an image."""

    references: list[str]
    """Removed names."""
    digest: str | None = None
    """Digest of the image that was removed with its last name; `None` if it has further names."""
    freed_bytes: int = 0
    """Length of the removed artifacts, in bytes."""


@dataclass(frozen=True)
class Pruned:
    """The result of a prune of images."""

    images: list[dict[str, Any]]
    """The removed images, each with `digest` and `references`."""
    spared: list[str]
    """Digests of selected images that stay, because they are in use or a sandbox needs them."""
    left_overs: int = 0
    """Number of removed files that no image needed before."""
    freed_bytes: int = 0
    """Length of all removed files, in bytes."""
    kept_bytes: int = 0
    """Length of the remaining artifacts, in bytes."""
    dry_run: bool = False
    """True if nothing was changed."""


@dataclass(frozen=True)
class SandboxInfo:
    """The description and the state of a sandbox."""

    id: str
    """The sandbox's id."""
    name: str
    """The sandbox's name; its id if it was given none."""
    image: str
    """The image's name as it was given."""
    image_digest: str
    """The digest of the image's manifest."""
    created_s: int
    """The creation time, in seconds since the epoch."""
    state: SandboxState
    """The state of the machine."""
    started_s: int | None = None
    """Seconds since the epoch of the last start."""
    exit: Exit | None = None
    """The main command's exit; `None` if it has not ended."""
    cpus: int = 1
    """Number of virtual processors, from the next start."""
    memory_mib: int = 0
    """Guest memory, in MiB, from the next start."""
    upper_bytes: int = 0
    """Size of the writable disk, in bytes, from the next start."""
    remove_when_stopped: bool = False
    """True if the sandbox is removed once it has stopped."""
    labels: dict[str, str] = field(default_factory=dict[str, str])
    """Labels."""
    ports: list[Port] = field(default_factory=list[Port])
    """Published ports; a port that the host chooses is 0 while the sandbox does not run."""
    machine_pid: int | None = None
    """The process id of the virtual machine's process on this host."""
    disk_errors: list[str] = field(default_factory=list[str])
    """Failures of disks, one line for each disk."""
    directory: str = ""
    """The directory of the sandbox's files."""
    allocated_bytes: int | None = None
    """The space that the writable disk takes on the host, in bytes."""
    rest: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Everything else that `msb inspect` prints: the main command, the network, the mounts, the limits."""


@dataclass(frozen=True)
class JobInfo:
    """The description and the state of a job."""

    id: int
    """The job's number."""
    argv: list[str] = field(default_factory=list[str])
    """The command."""
    user: str = ""
    """The user of the command."""
    pid: int | None = None
    """The command's process id in the sandbox."""
    started_s: int = 0
    """Seconds since the epoch of its start."""
    running: bool = False
    """True while the job runs."""
    exit: Exit | None = None
    """The job's end; `None` while it runs."""


@dataclass(frozen=True)
class FileInfo:
    """The attributes of a file of a sandbox."""

    name: str
    """The name, without its directory. Bytes that are not UTF-8 are surrogates, as with `os.fsdecode`."""
    type: FileType
    """The type."""
    mode: int = 0
    """The 12 permission bits."""
    uid: int = 0
    """User id of the owner."""
    gid: int = 0
    """Group id of the owner."""
    size_bytes: int = 0
    """The size, in bytes."""
    mtime_s: int = 0
    """The time of the last change of content, in seconds since the epoch."""
    mtime_ns: int = 0
    """Nanoseconds after `mtime_s`."""
    target: str | None = None
    """The target of a symlink; `None` for other files."""
    device: tuple[int, ...] | None = None
    """Major and minor number of a device; `None` for other files."""

    @property
    def is_directory(self) -> bool:
        """True if the file is a directory."""
        return self.type == FileType.DIRECTORY


@dataclass(frozen=True)
class Copied:
    """The result of a copy."""

    entries: int
    """Number of files, directories and links that were copied."""
    devices_left_out: int = 0
    """Number of device nodes of the sandbox that were left out."""


@dataclass(frozen=True)
class LogRecord:
    """A part of a log."""

    stream: Literal["stdout", "stderr"] | None
    """The stream of the command; `None` in the logs of the console and the machine."""
    data: bytes
    """The bytes, as they came."""
    time_s: float | None = None
    """Seconds since the epoch; `None` if the log has no times."""

    @property
    def text(self) -> str:
        """The bytes as text; those that are not UTF-8 are replaced."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class VolumeInfo:
    """The description of a volume."""

    name: str
    """The volume's name."""
    created_s: int = 0
    """The creation time, in seconds since the epoch."""
    size_bytes: int = 0
    """The size of its disk, in bytes."""
    labels: dict[str, str] = field(default_factory=dict[str, str])
    """Labels."""
    allocated_bytes: int = 0
    """The space that its disk takes on the host, in bytes."""
    sandboxes: list[str] = field(default_factory=list[str])
    """Names of the sandboxes that mount it."""
    directory: str = ""
    """The directory of the volume's files on the host."""


@dataclass(frozen=True)
class HostStats:
    """What the processes of a sandbox use on the host."""

    processor_us: int = 0
    """Processor time, in microseconds."""
    memory_bytes: int = 0
    """Memory, in bytes."""
    processes: int = 0
    """Number of processes."""


@dataclass(frozen=True)
class Stats:
    """One reading of the statistics of a running sandbox."""

    id: str
    """The sandbox's id."""
    name: str
    """The sandbox's name."""
    cpu_percent: float = 0.0
    """Processor time since the last reading, in percent of one processor."""
    memory_limit_bytes: int = 0
    """Guest memory, in bytes."""
    upper_allocated_bytes: int | None = None
    """The space that the writable disk takes on the host, in bytes."""
    upper_size_bytes: int = 0
    """The size of the writable disk, in bytes."""
    host: HostStats | None = None
    """What the processes of the sandbox use on the host."""
    guest: dict[str, Any] | None = None
    """What the guest says, as `msb stats` prints it; `None` if it did not answer."""
    guest_error: str | None = None
    """The reason that the guest did not answer."""


Ulimit = Union[int, "tuple[int | None, int | None]"]
"""A limit of one resource, or its soft and its hard limit; `None` is no limit."""

Ports = Union["Mapping[int, int | None]", "Sequence[Port | str]"]
"""Published ports: guest port to host port, where `None` lets the host choose; or a list of `Port` and texts such as
`"8080:80"`."""

TerminalSize = Union["tuple[int, int]", bool]
"""Rows and columns of a terminal; `True` for 24 rows and 80 columns."""


class SandboxOptions(TypedDict, total=False):
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
    env: Mapping[str, Text]
    """Environment variables of the main command and later ones."""
    cwd: str
    """Working directory of commands, an absolute path; it is made if it is missing."""
    user: str
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
    pids: int
    """Most processes and threads of all commands together."""
    shm: Size
    """Size of `/dev/shm`; half of the memory by default."""
    tmp: Size
    """Size of `/tmp`, which is in memory; half of the memory by default."""
    hostname: str
    """The guest's hostname; the sandbox's name by default."""
    read_only: bool
    """True if nothing can be written but to mounts and to what is in memory."""
    mounts: Sequence[Mount]
    """Mounts."""
    ports: Ports
    """Ports of the sandbox that ports of the host lead to."""
    publish_all: bool
    """True if a free port of the host leads to each port that the image exposes."""
    network: Network | Literal["outbound", "listed", "none"]
    """The destinations that the sandbox reaches."""
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
    """When the image is read and compared with its digests before the boot."""
    wait_for_attach: bool
    """True if the main command waits until a client has attached to it."""
    window: TerminalSize
    """The size of the main command's terminal at the start, if it has one; that of `tty` by default."""


def unsupported(operation: str) -> Unsupported:
    """Returns the error of an operation that is reserved."""
    return Unsupported(f"cannot {operation} a sandbox: msb does not support it yet")
