"""Plain values: options, results and states."""

from .client import Finding, Severity, Version
from .command import Event, Exit, JobInfo, Output, TerminalSize, TextEvent, Ulimit
from .diff import (
    Applied,
    AppliedChange,
    AppliedDirectory,
    Change,
    ChangedFile,
    ChangeKind,
    Committed,
    DiscardedChange,
    MarkedChange,
    Patch,
    PatchLines,
    PlannedChange,
    RefusedChange,
    TextHunk,
    Xattr,
)
from .file import Copied, FileInfo, FileType
from .history import ChangeCounts, CommandRecord, History, Undone
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
from .log import LogRecord, NetworkRecord
from .mount import Mount, Rule, RuleState
from .network import Network, NetworkPolicy, Port, Ports
from .question import Allowed, Question
from .root_disk import RootDisk
from .sandbox import SandboxOptions
from .sandbox_info import (
    GuestStats,
    HostStats,
    NetworkTotals,
    SandboxInfo,
    SandboxState,
    Stats,
    Stopped,
)
from .secret import Secret, SecretInfo
from .snapshot import RolledBack, SnapshotInfo, VerifiedSnapshot
from .volume import VolumeInfo

__all__ = [
    "Allowed",
    "Applied",
    "AppliedChange",
    "AppliedDirectory",
    "Change",
    "ChangeCounts",
    "ChangeKind",
    "ChangedFile",
    "CommandRecord",
    "Committed",
    "Copied",
    "DiscardedChange",
    "Event",
    "Exit",
    "FileInfo",
    "FileType",
    "Finding",
    "GuestStats",
    "History",
    "HistoryStep",
    "HostStats",
    "ImageInfo",
    "JobInfo",
    "LogRecord",
    "LoggedIn",
    "MarkedChange",
    "Mount",
    "Network",
    "NetworkPolicy",
    "NetworkRecord",
    "NetworkTotals",
    "Output",
    "Patch",
    "PatchLines",
    "PlannedChange",
    "Port",
    "Ports",
    "Pruned",
    "PullEvent",
    "Pushed",
    "PushedLayer",
    "PushEvent",
    "Question",
    "RefusedChange",
    "RemovedImage",
    "RolledBack",
    "RootDisk",
    "Rule",
    "RuleState",
    "SandboxInfo",
    "SandboxOptions",
    "SandboxState",
    "Secret",
    "SecretInfo",
    "Severity",
    "SnapshotInfo",
    "Stats",
    "Stopped",
    "TerminalSize",
    "TextEvent",
    "TextHunk",
    "Ulimit",
    "Undone",
    "VerifiedSnapshot",
    "Version",
    "VolumeInfo",
    "Xattr",
]
