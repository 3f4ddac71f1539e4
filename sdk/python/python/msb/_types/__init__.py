"""Plain values: options, results and states."""

from .client import Finding, Severity, Version
from .command import Event, Exit, JobInfo, Output, TerminalSize, TextEvent, Ulimit
from .diff import (
    Applied,
    AppliedChange,
    Change,
    ChangedFile,
    ChangeKind,
    Committed,
    DiscardedChange,
    MarkedChange,
    Patch,
    PatchLines,
    Xattr,
)
from .file import Copied, FileInfo, FileType
from .image import (
    HistoryStep,
    ImageInfo,
    LoggedIn,
    Pruned,
    PullEvent,
    Pushed,
    PushedLayer,
    PushEvent,
    RemovedImage,
)
from .log import LogRecord
from .mount import Mount
from .network import Network, Port, Ports
from .root_disk import RootDisk
from .sandbox import SandboxOptions
from .sandbox_info import GuestStats, HostStats, SandboxInfo, SandboxState, Stats, Stopped
from .snapshot import RolledBack, SnapshotInfo, VerifiedSnapshot
from .volume import VolumeInfo

__all__ = [
    "Applied",
    "AppliedChange",
    "Change",
    "ChangeKind",
    "ChangedFile",
    "Committed",
    "Copied",
    "DiscardedChange",
    "Event",
    "Exit",
    "FileInfo",
    "FileType",
    "Finding",
    "GuestStats",
    "HistoryStep",
    "HostStats",
    "ImageInfo",
    "JobInfo",
    "LogRecord",
    "LoggedIn",
    "MarkedChange",
    "Mount",
    "Network",
    "Output",
    "Patch",
    "PatchLines",
    "Port",
    "Ports",
    "Pruned",
    "PullEvent",
    "Pushed",
    "PushedLayer",
    "PushEvent",
    "RemovedImage",
    "RolledBack",
    "RootDisk",
    "SandboxInfo",
    "SandboxOptions",
    "SandboxState",
    "Severity",
    "SnapshotInfo",
    "Stats",
    "Stopped",
    "TerminalSize",
    "TextEvent",
    "Ulimit",
    "VerifiedSnapshot",
    "Version",
    "VolumeInfo",
    "Xattr",
]
