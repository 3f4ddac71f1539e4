from __future__ import annotations

import warnings
from collections.abc import Sequence
from types import TracebackType
from typing import Literal

from .. import _core, _names, _options, _values
from .._core import Reply
from .._names import Name
from .._types import (
    Exit,
    History,
    Port,
    RolledBack,
    SandboxInfo,
    Stopped,
    TerminalSize,
    Undone,
)
from .._values import Duration, Size, decode
from ..errors import MsbError
from ._bridge import Opening, Refusing, call, opening
from ._files import AsyncFiles
from ._jobs import AsyncJobs
from ._network import AsyncSandboxNetwork
from ._questions import AsyncSandboxQuestions
from ._sandbox_changes import AsyncSandboxChanges
from ._sandbox_commands import AsyncSandboxCommands
from ._secrets import AsyncSecrets
from ._snapshots import AsyncSnapshots


class AsyncSandbox(AsyncSandboxCommands, AsyncSandboxChanges, AsyncSandboxQuestions, Refusing):
    """A sandbox: a virtual machine with an image, a writable disk and a name.

    One from `AsyncSandboxes.run` is owned: it is shut down and removed when it is closed, and when this process ends.
    Others are only handles.

    A call that changes the sandbox and is cancelled is done, or undone, before the next call on the sandbox.
    """

    def __init__(self, opened: Reply) -> None:
        self._link = opened.new
        self._id: str = opened.value["id"]
        self._name: str = opened.value["name"]
        self._is_owned: bool = opened.value["is_owned"]
        self._files = AsyncFiles(self._link)
        self._jobs = AsyncJobs(self._link)
        self._network = AsyncSandboxNetwork(self._link)
        self._secrets = AsyncSecrets(self._link)
        self._snapshots = AsyncSnapshots(self._link)

    def __repr__(self) -> str:
        return f"<AsyncSandbox {self._name}>"

    @property
    def id(self) -> str:
        """The sandbox's id."""
        return self._id

    @property
    def name(self) -> str:
        """The sandbox's name; its id if it was given none."""
        return self._name

    @property
    def is_owned(self) -> bool:
        """True if the sandbox ends with this object."""
        return self._is_owned

    @property
    def files(self) -> AsyncFiles:
        """The files of the sandbox. Those of a stopped sandbox can be read."""
        return self._files

    @property
    def jobs(self) -> AsyncJobs:
        """The commands that run without a client."""
        return self._jobs

    @property
    def network(self) -> AsyncSandboxNetwork:
        """The rules of the network, which can change while the sandbox runs."""
        return self._network

    @property
    def secrets(self) -> AsyncSecrets:
        """The secrets that programs use in requests and cannot read."""
        return self._secrets

    @property
    def snapshots(self) -> AsyncSnapshots:
        """The snapshots of the files."""
        return self._snapshots

    async def start(
        self,
        *,
        vmm: Literal["auto", "krun", "qemu"] | None = None,
        boot_timeout: Duration | None = None,
        verify: Literal["changed", "always"] | None = None,
        wait_for_attach: bool = False,
        window: TerminalSize | None = None,
    ) -> None:
        """Starts the sandbox from the disk that it was stopped with.

        `window` is the size of the main command's terminal, if it has one.

        Raises `SandboxRunning`, or one of `StartError`. A start that is cancelled is undone.
        """
        options = {
            "vmm": vmm,
            "boot_timeout_ms": _values.milliseconds(boot_timeout, "boot_timeout"),
            "verify": verify,
            "wait_for_attach": wait_for_attach,
            "window": _options.terminal(window),
        }
        reply = await call(self._link, "start", options, shows=False)
        try:
            _core.show(reply.notices)
        except BaseException:
            # A filter makes errors of warnings, and a failed start leaves no machine.
            await call(self._link, "kill")
            raise

    async def stop(self, timeout: Duration | None = None, *, signal: str | None = None) -> Stopped:
        """Asks the guest to end its processes and to power off, and kills the machine if it does not in time.

        `timeout` is the time for processes; the sandbox's own by default, which is 10 s unless it was given.
        """
        options = {"timeout_ms": _values.milliseconds(timeout, "timeout"), "signal": signal}
        reply = await call(self._link, "stop", options)
        return Stopped(reply.value)

    async def kill(self) -> None:
        """Ends the machine at once, as a power cut would. Raises `NotRunning`."""
        await call(self._link, "kill")

    async def signal(self, signal: str | int) -> None:
        """Sends a signal to the main command, by its name or number. Raises `NotRunning`."""
        await call(
            self._link,
            "signal",
            {"signal": str(int(signal) if isinstance(signal, int) else signal)},
        )

    async def pause(self) -> None:
        """Freezes every process, until `unpause`. Files can be read and changed meanwhile; no command can be run.

        Limits of time go on. Raises `NotRunning`, and `SandboxPaused` if the sandbox is paused already.
        """
        await call(self._link, "pause")

    async def unpause(self) -> None:
        """Lets the processes of the paused sandbox go on. Raises `NotRunning` and `NotPaused`."""
        await call(self._link, "unpause")

    async def remove(self, *, force: bool = False) -> None:
        """Removes the sandbox with its disk. `force=True` kills it first if it runs. Raises `SandboxRunning`."""
        await call(self._link, "remove", {"force": force})
        self._is_owned = False

    async def detach(self) -> None:
        """Gives up the ownership: the sandbox goes on without this object, and is kept."""
        await call(self._link, "detach")
        self._is_owned = False

    async def close(self) -> None:
        """Ends this object: an owned sandbox is shut down and removed, in at most 10 s.

        The second call does nothing.
        """
        is_owned, self._is_owned = self._is_owned, False
        try:
            if is_owned:
                await call(self._link, "close")
        finally:
            # Also if the wait was cancelled: the sandbox ends without it.
            self._link.close()

    async def wait(self, timeout: Duration | None = None) -> Exit:
        """Waits until the sandbox does not run, and returns the exit of its main command.

        The exit code is 0 if it had none. Raises `TimeoutError` if the sandbox still runs after `timeout`.
        """
        options = {"timeout_ms": _values.milliseconds(timeout, "timeout")}
        reply = await call(self._link, "wait", options)
        if reply.value is None:
            seconds = _values.seconds(timeout)
            raise TimeoutError(f"sandbox {self._name} still runs after {seconds} s")
        return decode(Exit, reply.value)

    async def inspect(self) -> SandboxInfo:
        """Returns the description and the state of the sandbox. Raises `SandboxNotFound` if it was removed."""
        reply = await call(self._link, "inspect")
        return decode(SandboxInfo, reply.value)

    @property
    async def ports(self) -> list[Port]:
        """Returns the published ports, with the ports that the host chose. Raises `NotRunning`."""
        reply = await call(self._link, "ports")
        return [decode(Port, port) for port in reply.value]

    async def update(
        self, *, cpus: int | None = None, memory: Size | None = None, disk: Size | None = None
    ) -> None:
        """Changes the resources of the next start. A running machine is unchanged."""
        await call(self._link, "update", {"cpus": cpus, "memory": memory, "disk": disk})

    async def rename(self, name: str) -> None:
        """Gives the stopped sandbox another name. Raises `SandboxRunning` and `NameTaken`."""
        await call(self._link, "rename", {"name": name})
        self._name = name

    async def rollback(
        self, name: Name | None = None, *, stop_timeout: Duration | None = None
    ) -> RolledBack:
        """Makes the files those of a snapshot; of the newest one without a name.

        The files as they were before are kept as a snapshot. The processes of a running sandbox are ended, and its
        command is started again; its machine stays up. `stop_timeout` is the time for the processes to end; by default
        they are killed at once. If the guest does not do its part, the sandbox is stopped and started.

        Raises `NotFound`, `SandboxRunning` if the sandbox runs and is removed when it stops, or one of `StartError`: the
        rollback is then made, and the sandbox is stopped.
        """
        options = {
            "name": _names.optional(name),
            "stop_timeout_ms": _values.milliseconds(stop_timeout, "stop_timeout"),
        }
        reply = await call(self._link, "rollback", options)
        return decode(RolledBack, reply.value)

    async def history(self, *, last: int | None = None, changes: bool = False) -> History:
        """Returns the commands that were run in the sandbox by `exec`, `spawn` and as jobs, the oldest first.

        `last` is the number of the last commands to return. `changes=True` counts the changes of each command whose
        snapshot exists, which reads the disks.
        """
        reply = await call(self._link, "history", {"last": last, "changes": changes})
        return decode(History, reply.value)

    async def undo(
        self, n: int = 1, *, dry_run: bool = False, stop_timeout: Duration | None = None
    ) -> Undone:
        """Makes the files those before the last `n` commands that have a snapshot.

        Commands that are undone already do not count, so a second call goes further back. It is a `rollback` to the
        snapshot before the oldest of the commands: the files as they were before are kept as a snapshot, and a rollback
        to it takes the undo back. With `dry_run=True` nothing is changed.

        Raises `NotFound` if no command has a snapshot or the snapshot was removed, `InvalidArgument` if there are fewer
        commands, and what `rollback` raises.
        """
        options = {
            "count": n,
            "dry_run": dry_run,
            "stop_timeout_ms": _values.milliseconds(stop_timeout, "stop_timeout"),
        }
        reply = await call(self._link, "undo", options)
        return decode(Undone, reply.value)

    async def fork(
        self, *names: str | Sequence[str], snapshot: Name | None = None, freeze: bool = True
    ) -> list[str]:
        """Makes sandboxes that begin with the files of this one, running or not, and returns their names.

        Names are given one by one, or as a list. Without names one is made, whose name is its id. `snapshot` names the files to begin with; those of now by
        default. Forks share the files until they write to them, are not started, and are kept when they stop. They have
        the options of this sandbox and none of the ports of the host that it was given.

        Raises `NameTaken`, `InvalidArgument`, and `NotFound` for a snapshot. Nothing is left of the forks then.
        """
        given = [[name] if isinstance(name, str) else list(name) for name in names]
        options = {
            "names": [name for each in given for name in each],
            "snapshot": _names.optional(snapshot),
            "freeze": freeze,
        }
        reply = await call(self._link, "fork", options, shows=False)
        made = [str(name) for name in reply.value["names"]]
        try:
            _core.show(reply.notices)
        except BaseException:
            # A filter makes errors of warnings, and a failed call leaves no forks.
            for name in made:
                fork = await call(self._link.core.root, "sandboxes.get", {"name": name})
                await call(fork.new, "remove")
            raise
        return made

    def branch(
        self, name: str | None = None, *, snapshot: Name | None = None, freeze: bool = True
    ) -> Opening[AsyncSandbox]:
        """Starts a fork of this sandbox, which the result owns.

        It begins with the files of this sandbox as they are now, or as they are in a `snapshot`, has its options, and
        ends as a sandbox of `AsyncSandboxes.run` does: leave its `async with` block, or close it. `fork` makes ones
        that are kept.

        Raises what `fork` and `start` raise. Nothing is left of the branch then, and neither if the call is cancelled.
        """
        options: dict[str, object] = {
            "name": name,
            "snapshot": _names.optional(snapshot),
            "freeze": freeze,
        }
        return opening(self._branch(options))

    async def _branch(self, options: dict[str, object]) -> AsyncSandbox:
        return await opened(await call(self._link, "branch", options, shows=False))

    async def __aenter__(self) -> AsyncSandbox:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self.close()
        except MsbError as error:
            # The error of the block is the one that counts.
            if value is None:
                raise
            warnings.warn(
                f"cannot close sandbox {self._name}: {error}", RuntimeWarning, stacklevel=2
            )

    def __del__(self) -> None:
        if getattr(self, "_is_owned", False):
            warnings.warn(
                f"sandbox {self._name} was not closed; it ends now",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )
            self._link.close()


async def opened(reply: Reply) -> AsyncSandbox:
    """Returns the new sandbox of a reply, and shows its notices.

    If a filter makes an error of one, nobody would have the sandbox: it is closed, or removed, then.
    """
    sandbox = AsyncSandbox(reply)
    try:
        _core.show(reply.notices)
    except BaseException:
        if sandbox.is_owned:
            await sandbox.close()
        else:
            await sandbox.remove(force=True)
        raise
    return sandbox
