"""Run any OCI image in a microVM.

```python
from msb import Msb

with Msb() as msb, msb.sandboxes.run("python:3-slim") as sandbox:
    sandbox.files.write("/tmp/hello.py", "print('hello')")
    print(sandbox.exec(["python3", "/tmp/hello.py"], check=True).text)
```

`Msb` is the synchronous client, and `AsyncMsb` the asynchronous one, with the same names and `await`, `async for` and
`async with`. A sandbox from `run` is owned: it is shut down and removed at the end of its `with` block, when it is closed,
and when this process ends, however it ends. One from `create` is kept.

Every error is a subclass of `MsbError`; see `msb.errors`.
"""

from __future__ import annotations

from . import errors
from ._async._client import AsyncMsb
from ._async._diff import AsyncDiff
from ._async._files import AsyncFiles
from ._async._image import AsyncImage
from ._async._images import AsyncImages
from ._async._jobs import AsyncJob, AsyncJobs
from ._async._process import AsyncOutputStream, AsyncProcess, AsyncStdin
from ._async._readable_files import AsyncReadableFiles
from ._async._sandbox import AsyncSandbox
from ._async._sandbox_changes import AsyncSandboxChanges
from ._async._sandbox_commands import AsyncSandboxCommands
from ._async._sandboxes import AsyncSandboxes
from ._async._snapshots import AsyncSnapshots
from ._async._streams import AsyncByteStream, AsyncLogs, AsyncStatsWatch, AsyncTarUpload
from ._async._transfers import AsyncPull, AsyncPush
from ._async._volumes import AsyncVolume, AsyncVolumes
from ._native import VERSION as __version__
from ._sync._client import Msb
from ._sync._diff import Diff
from ._sync._files import Files
from ._sync._image import Image
from ._sync._images import Images
from ._sync._jobs import Job, Jobs
from ._sync._process import OutputStream, Process, Stdin
from ._sync._readable_files import ReadableFiles
from ._sync._sandbox import Sandbox
from ._sync._sandbox_changes import SandboxChanges
from ._sync._sandbox_commands import SandboxCommands
from ._sync._sandboxes import Sandboxes
from ._sync._snapshots import Snapshots
from ._sync._streams import ByteStream, Logs, StatsWatch, TarUpload
from ._sync._transfers import Pull, Push
from ._sync._volumes import Volume, Volumes
from ._types import (
    Applied,
    AppliedChange,
    Change,
    ChangedFile,
    ChangeKind,
    Committed,
    Copied,
    DiscardedChange,
    Event,
    Exit,
    FileInfo,
    FileType,
    Finding,
    GuestStats,
    HistoryStep,
    HostStats,
    ImageInfo,
    JobInfo,
    LoggedIn,
    LogRecord,
    MarkedChange,
    Mount,
    Network,
    Output,
    Patch,
    PatchLines,
    Port,
    Pruned,
    PullEvent,
    Pushed,
    PushedLayer,
    PushEvent,
    RemovedImage,
    RolledBack,
    RootDisk,
    SandboxInfo,
    SandboxOptions,
    SandboxState,
    Severity,
    SnapshotInfo,
    Stats,
    Stopped,
    TextEvent,
    VerifiedSnapshot,
    Version,
    VolumeInfo,
    Xattr,
)
from .errors import (
    AlreadyExists,
    BootTimeout,
    Busy,
    CommandError,
    CommandFailed,
    CommandNotFound,
    CommandTimeout,
    ForkedError,
    ImageInUse,
    ImageNotFound,
    InternalError,
    InvalidArgument,
    JobNotFound,
    KernelMissing,
    MachineFailed,
    MsbError,
    MsbWarning,
    NameTaken,
    NotExecutable,
    NotFound,
    NotPaused,
    NotRunning,
    OutOfSpace,
    OutputLimit,
    PathExists,
    PathNotFound,
    PermissionDenied,
    PortInUse,
    PullError,
    RegistryError,
    SandboxEnded,
    SandboxNotFound,
    SandboxPaused,
    SandboxRunning,
    StartError,
    Unauthorized,
    Unsupported,
    VersionMismatch,
    VmmMissing,
    VolumeInUse,
    VolumeNotFound,
)

__all__ = [
    "AlreadyExists",
    "Applied",
    "AppliedChange",
    "AsyncByteStream",
    "AsyncDiff",
    "AsyncFiles",
    "AsyncImage",
    "AsyncImages",
    "AsyncJob",
    "AsyncJobs",
    "AsyncLogs",
    "AsyncMsb",
    "AsyncOutputStream",
    "AsyncProcess",
    "AsyncPull",
    "AsyncPush",
    "AsyncReadableFiles",
    "AsyncSandbox",
    "AsyncSandboxChanges",
    "AsyncSandboxCommands",
    "AsyncSandboxes",
    "AsyncSnapshots",
    "AsyncStatsWatch",
    "AsyncStdin",
    "AsyncTarUpload",
    "AsyncVolume",
    "AsyncVolumes",
    "BootTimeout",
    "Busy",
    "ByteStream",
    "Change",
    "ChangeKind",
    "ChangedFile",
    "CommandError",
    "CommandFailed",
    "CommandNotFound",
    "CommandTimeout",
    "Committed",
    "Copied",
    "Diff",
    "DiscardedChange",
    "Event",
    "Exit",
    "FileInfo",
    "FileType",
    "Files",
    "Finding",
    "ForkedError",
    "GuestStats",
    "HistoryStep",
    "HostStats",
    "Image",
    "ImageInUse",
    "ImageInfo",
    "ImageNotFound",
    "Images",
    "InternalError",
    "InvalidArgument",
    "Job",
    "JobInfo",
    "JobNotFound",
    "Jobs",
    "KernelMissing",
    "LogRecord",
    "LoggedIn",
    "Logs",
    "MachineFailed",
    "MarkedChange",
    "Mount",
    "Msb",
    "MsbError",
    "MsbWarning",
    "NameTaken",
    "Network",
    "NotExecutable",
    "NotFound",
    "NotPaused",
    "NotRunning",
    "OutOfSpace",
    "Output",
    "OutputLimit",
    "OutputStream",
    "Patch",
    "PatchLines",
    "PathExists",
    "PathNotFound",
    "PermissionDenied",
    "Port",
    "PortInUse",
    "Process",
    "Pruned",
    "Pull",
    "PullError",
    "PullEvent",
    "Push",
    "Pushed",
    "PushedLayer",
    "PushEvent",
    "ReadableFiles",
    "RegistryError",
    "RemovedImage",
    "RolledBack",
    "RootDisk",
    "Sandbox",
    "SandboxChanges",
    "SandboxCommands",
    "SandboxEnded",
    "SandboxInfo",
    "SandboxNotFound",
    "SandboxOptions",
    "SandboxPaused",
    "SandboxRunning",
    "SandboxState",
    "Sandboxes",
    "Severity",
    "SnapshotInfo",
    "Snapshots",
    "StartError",
    "Stats",
    "StatsWatch",
    "Stdin",
    "Stopped",
    "TarUpload",
    "TextEvent",
    "Unauthorized",
    "Unsupported",
    "VerifiedSnapshot",
    "Version",
    "VersionMismatch",
    "VmmMissing",
    "Volume",
    "VolumeInUse",
    "VolumeInfo",
    "VolumeNotFound",
    "Volumes",
    "Xattr",
    "__version__",
    "errors",
]
