"""The description, the state and the statistics of a sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .command import Exit
from .network import Port
from .words import _Words


class SandboxState(_Words):
    """The state of a sandbox's machine."""

    CREATED = "created"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    UNREADABLE = "unreadable"


class Stopped(_Words):
    """The way in which a sandbox stopped."""

    CLEANLY = "cleanly"
    KILLED = "killed"
    NOT_RUNNING = "not-running"


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
    problem: str | None = None
    """The reason that the description cannot be read, or the damage of a record whose copy is used."""
    directory: str = ""
    """The directory of the sandbox's files."""
    allocated_bytes: int | None = None
    """The space that the writable disk takes on the host, in bytes."""
    rest: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Everything else that `msb inspect` prints: the main command, the network, the mounts, the limits."""


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
class GuestStats:
    """The guest's own statistics since its start. Any of them may be missing or false."""

    processor_busy_us: int | None = None
    """Time that all processors together were busy, in microseconds."""
    memory_total_bytes: int | None = None
    """Memory of the guest's kernel, in bytes."""
    memory_available_bytes: int | None = None
    """Memory that programs can still allocate, in bytes."""
    disk_read_bytes: int | None = None
    """Bytes read from all disks."""
    disk_written_bytes: int | None = None
    """Bytes written to all disks."""
    network_received_bytes: int | None = None
    """Bytes received over the network device."""
    network_sent_bytes: int | None = None
    """Bytes sent over the network device."""
    tasks: int | None = None
    """Number of threads of all processes, without the agent's and the kernel's."""


@dataclass(frozen=True)
class NetworkTotals:
    """Counters of a sandbox's network since its machine's start."""

    flows: int = 0
    """Connections and flows of datagrams that began, the inbound ones too."""
    open_flows: int = 0
    """Those of them that have not ended."""
    refused_flows: int = 0
    """Connections and datagrams to destinations that were refused."""
    sent_bytes: int = 0
    """Bytes that the guest sent, without headers and DNS queries."""
    received_bytes: int = 0
    """Bytes that the guest received, without headers and DNS answers."""
    queries: int = 0
    """DNS queries that were answered."""
    refused_queries: int = 0
    """Those of them for a name that is denied."""
    lost_records: int = 0
    """Events that are not in the log, because there were too many."""


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
    host: HostStats = field(default_factory=HostStats)
    """What the processes of the sandbox use on the host."""
    network: NetworkTotals | None = None
    """The counters of the network since the start, which the guest cannot forge; `None` without a network."""
    guest: GuestStats | None = None
    """The guest's own statistics; `None` if it did not answer."""
    guest_error: str | None = None
    """The reason that the guest did not answer."""
