# Generated from _async/_sandbox.py by generate_sync.py: edit that file.
from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Literal

from .. import _core, _names, _options, _values
from .._core import Data, Reply
from .._names import Name, Side
from .._types import (
    Applied,
    Committed,
    DiscardedChange,
    Exit,
    Output,
    Port,
    RolledBack,
    SandboxInfo,
    Stats,
    Stopped,
    TerminalSize,
    Ulimit,
)
from .._values import Duration, Size, Text, decode
from ..errors import MsbError
from ._bridge import Refusing, call, opening
from ._diff import Diff
from ._files import Files
from ._jobs import Jobs
from ._process import Process
from ._snapshots import Snapshots
from ._streams import Logs, StatsWatch


class Sandbox(Refusing):
    """A sandbox: a virtual machine with an image, a writable disk and a name.

    One from `Sandboxes.run` is owned: it is shut down and removed when it is closed, and when this process ends.
    Others are only handles.

    A call that changes the sandbox and is interrupted is done, or undone, before the next call on the sandbox.
    """

    def __init__(self, opened: Reply) -> None:
        self._link = opened.new
        self._id: str = opened.value["id"]
        self._name: str = opened.value["name"]
        self._is_owned: bool = opened.value["is_owned"]
        self._files = Files(self._link)
        self._jobs = Jobs(self._link)
        self._snapshots = Snapshots(self._link)

    def __repr__(self) -> str:
        return f"<Sandbox {self._name}>"

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
    def files(self) -> Files:
        """The files of the sandbox. Those of a stopped sandbox can be read."""
        return self._files

    @property
    def jobs(self) -> Jobs:
        """The commands that run without a client."""
        return self._jobs

    @property
    def snapshots(self) -> Snapshots:
        """The snapshots of the files."""
        return self._snapshots

    def start(
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

        Raises `SandboxRunning`, or one of `StartError`. A start that is interrupted is undone.
        """
        options = {
            "vmm": vmm,
            "boot_timeout_ms": _values.milliseconds(boot_timeout, "boot_timeout"),
            "verify": verify,
            "wait_for_attach": wait_for_attach,
            "window": _options.terminal(window),
        }
        reply = call(self._link, "start", options, shows=False)
        try:
            _core.show(reply.notices)
        except BaseException:
            # A filter makes errors of warnings, and a failed start leaves no machine.
            call(self._link, "kill")
            raise

    def stop(self, timeout: Duration | None = None, *, signal: str | None = None) -> Stopped:
        """Asks the guest to end its processes and to power off, and kills the machine if it does not in time.

        `timeout` is the time for processes; the sandbox's own by default, which is 10 s unless it was given.
        """
        options = {"timeout_ms": _values.milliseconds(timeout, "timeout"), "signal": signal}
        reply = call(self._link, "stop", options)
        return Stopped(reply.value)

    def kill(self) -> None:
        """Ends the machine at once, as a power cut would. Raises `NotRunning`."""
        call(self._link, "kill")

    def signal(self, signal: str | int) -> None:
        """Sends a signal to the main command, by its name or number. Raises `NotRunning`."""
        call(
            self._link,
            "signal",
            {"signal": str(int(signal) if isinstance(signal, int) else signal)},
        )

    def pause(self) -> None:
        """Freezes every process, until `unpause`. Files can be read and changed meanwhile; no command can be run.

        Limits of time go on. Raises `NotRunning`, and `SandboxPaused` if the sandbox is paused already.
        """
        call(self._link, "pause")

    def unpause(self) -> None:
        """Lets the processes of the paused sandbox go on. Raises `NotRunning` and `NotPaused`."""
        call(self._link, "unpause")

    def remove(self, *, force: bool = False) -> None:
        """Removes the sandbox with its disk. `force=True` kills it first if it runs. Raises `SandboxRunning`."""
        call(self._link, "remove", {"force": force})
        self._is_owned = False

    def detach(self) -> None:
        """Gives up the ownership: the sandbox goes on without this object, and is kept."""
        call(self._link, "detach")
        self._is_owned = False

    def close(self) -> None:
        """Ends this object: an owned sandbox is shut down and removed, in at most 10 s.

        The second call does nothing.
        """
        is_owned, self._is_owned = self._is_owned, False
        try:
            if is_owned:
                call(self._link, "close")
        finally:
            # Also if the wait was interrupted: the sandbox ends without it.
            self._link.close()

    def wait(self, timeout: Duration | None = None) -> Exit:
        """Waits until the sandbox does not run, and returns the exit of its main command.

        The exit code is 0 if it had none. Raises `TimeoutError` if the sandbox still runs after `timeout`.
        """
        options = {"timeout_ms": _values.milliseconds(timeout, "timeout")}
        reply = call(self._link, "wait", options)
        if reply.value is None:
            seconds = _values.seconds(timeout)
            raise TimeoutError(f"sandbox {self._name} still runs after {seconds} s")
        return decode(Exit, reply.value)

    def inspect(self) -> SandboxInfo:
        """Returns the description and the state of the sandbox. Raises `SandboxNotFound` if it was removed."""
        reply = call(self._link, "inspect")
        return decode(SandboxInfo, reply.value)

    @property
    def ports(self) -> list[Port]:
        """Returns the published ports, with the ports that the host chose. Raises `NotRunning`."""
        reply = call(self._link, "ports")
        return [decode(Port, port) for port in reply.value]

    def update(
        self, *, cpus: int | None = None, memory: Size | None = None, disk: Size | None = None
    ) -> None:
        """Changes the resources of the next start. A running machine is unchanged."""
        call(self._link, "update", {"cpus": cpus, "memory": memory, "disk": disk})

    def rename(self, name: str) -> None:
        """Gives the stopped sandbox another name. Raises `SandboxRunning` and `NameTaken`."""
        call(self._link, "rename", {"name": name})
        self._name = name

    def exec(
        self,
        argv: Sequence[Text],
        *,
        env: Mapping[str, Text] | None = None,
        cwd: Text | None = None,
        user: str | int | None = None,
        groups: Sequence[str] | None = None,
        ulimits: Mapping[str, Ulimit] | None = None,
        tty: TerminalSize | None = None,
        stdin: Data | None = None,
        timeout: Duration | None = None,
        max_output: Size | None = None,
        check: bool = False,
    ) -> Output:
        """Runs a command and collects its output.

        `timeout` kills the command and raises `CommandTimeout`. A command that prints more than `max_output`, 32 MiB
        by default, is killed, and `OutputLimit` raised. Both errors have the output so far. `check=True` raises
        `CommandFailed` if the exit code is not 0. Interrupting the call kills the command.

        Raises `CommandNotFound`, `NotExecutable`, `NotRunning`, and `SandboxEnded`.
        """
        options = _options.command(
            argv, env=env, cwd=cwd, user=user, groups=groups, ulimits=ulimits
        )
        options["tty"] = _options.terminal(tty)
        options["stdin"] = stdin is not None
        options["timeout_ms"] = _values.milliseconds(timeout, "timeout")
        options["max_output"] = max_output
        reply = call(self._link, "exec", options, _core.content(stdin))
        stdout, stderr = reply.content
        value = reply.value
        output = Output(value["exit_code"], value["signal"], stdout, stderr, value["failure"])
        return output.check() if check else output

    def shell(
        self,
        text: Text,
        *,
        env: Mapping[str, Text] | None = None,
        cwd: Text | None = None,
        user: str | int | None = None,
        groups: Sequence[str] | None = None,
        ulimits: Mapping[str, Ulimit] | None = None,
        tty: TerminalSize | None = None,
        stdin: Data | None = None,
        timeout: Duration | None = None,
        max_output: Size | None = None,
        check: bool = False,
    ) -> Output:
        """Runs text with `/bin/sh -c` and collects its output, like `exec`."""
        return self.exec(
            ["/bin/sh", "-c", text],
            env=env,
            cwd=cwd,
            user=user,
            groups=groups,
            ulimits=ulimits,
            tty=tty,
            stdin=stdin,
            timeout=timeout,
            max_output=max_output,
            check=check,
        )

    def spawn(
        self,
        argv: Sequence[Text],
        *,
        env: Mapping[str, Text] | None = None,
        cwd: Text | None = None,
        user: str | int | None = None,
        groups: Sequence[str] | None = None,
        ulimits: Mapping[str, Ulimit] | None = None,
        tty: TerminalSize | None = None,
        stdin: bool = False,
        timeout: Duration | None = None,
    ) -> Process:
        """Starts a command whose output is streamed, and whose input can be written with `stdin=True`.

        `timeout` kills the command: its output and its `wait` end with `CommandTimeout` then. Leaving its `with` block kills the command. Raises `CommandNotFound`, `NotExecutable`, `NotRunning` and
        `SandboxEnded`.
        """
        options = _options.command(
            argv, env=env, cwd=cwd, user=user, groups=groups, ulimits=ulimits
        )
        options["tty"] = _options.terminal(tty)
        options["stdin"] = stdin
        options["timeout_ms"] = _values.milliseconds(timeout, "timeout")
        return opening(self._spawn("spawn", options))

    def attach(self) -> Process:
        """Attaches to the main command. Closing the process leaves the command running. Raises `NotRunning`."""
        return opening(self._spawn("attach", {}))

    def _spawn(self, operation: str, options: dict[str, object]) -> Process:
        reply = call(self._link, operation, options)
        return Process(reply.new, reply.value["pid"])

    def logs(
        self,
        *,
        follow: bool = False,
        source: Literal["output", "console", "machine"] = "output",
        tail: int | None = None,
        since_s: float | None = None,
        until_s: float | None = None,
    ) -> Logs:
        """Returns the log of the main command's output, or of the guest's console or the machine.

        `follow=True` waits for more until the sandbox ends, and `tail` begins with so many last records. `since_s` and
        `until_s` are seconds since the epoch.
        """
        options = {
            "follow": follow,
            "source": source,
            "tail": tail,
            "since_ns": None if since_s is None else int(since_s * 1e9),
            "until_ns": None if until_s is None else int(until_s * 1e9),
        }
        return Logs(self._link, "logs", options)

    def stats(self) -> Stats:
        """Returns the statistics of the running sandbox. Raises `NotRunning`."""
        reply = call(self._link, "stats")
        return decode(Stats, reply.value)

    def watch_stats(self, interval: Duration = 1.0) -> StatsWatch:
        """Returns one sample of the statistics in each interval, until the sandbox ends."""
        options = {"interval_ms": _values.milliseconds(interval, "interval")}
        return StatsWatch(self._link, "watch_stats", options)

    def diff(
        self,
        paths: Sequence[Text] = (),
        *,
        exclude: Sequence[Text] = (),
        include: Sequence[Text] = (),
        snapshot: Name | None = None,
        pause: bool = True,
    ) -> Diff:
        """Compares the sandbox, or a snapshot of it, with what it began with.

        That is its image, with the files that were copied and written before its first boot.
        `exclude` and `include` are patterns of paths, as gitignore has them: changes that an `exclude` matches are left
        out, and if there are includes, only the changes that one of them matches are taken.

        `paths` limits the comparison to them and what is below them; symlinks are not followed. Use the result with
        `with`: until it is closed, a stopped sandbox cannot be started. The disk of a running sandbox is frozen
        while it is copied, for at most 60 seconds; with `pause=False` a running sandbox is refused.

        Raises `PathNotFound` if neither side has one of the paths. For a running sandbox it also raises
        `SandboxRunning`, `OutOfSpace` if this host has no room for the copy, and `Busy` if the disk did not stay
        frozen until it was copied.
        """
        options: dict[str, object] = {
            "paths": _values.paths(paths),
            "exclude": _values.paths(exclude),
            "include": _values.paths(include),
            "snapshot": _names.optional(snapshot),
            "pause": pause,
        }
        return opening(self._diff(options))

    def _diff(self, options: dict[str, object]) -> Diff:
        reply = call(self._link, "diff", options)
        return Diff(reply.new)

    def discard(
        self,
        paths: Sequence[Text],
        *,
        base: Side | None = None,
        exclude: Sequence[Text] = (),
        include: Sequence[Text] = (),
        dry_run: bool = False,
    ) -> list[DiscardedChange]:
        """Takes back all changes of the stopped sandbox at and below these paths, and returns what that changes.

        The files are then what the sandbox began with, or those of `base`: a sandbox, a snapshot or an image.
        With `dry_run=True` nothing is written.
        `exclude` and `include` are patterns of paths, as gitignore has them: changes that an `exclude` matches are left
        out, and if there are includes, only the changes that one of them matches are taken.

        Raises `SandboxRunning`, `PathNotFound` if neither side has one of the paths, and `InvalidArgument` if a path
        is in a directory that the sandbox deleted or replaced, or a file would be deleted of which there is no copy.
        The sandbox is unchanged then.
        """
        options = {
            "paths": _values.paths(paths),
            "base": None if base is None else _names.side(base),
            "exclude": _values.paths(exclude),
            "include": _values.paths(include),
            "dry_run": dry_run,
        }
        reply = call(self._link, "discard", options)
        return [decode(DiscardedChange, change) for change in reply.value]

    def apply(
        self,
        directory: str | os.PathLike[str],
        paths: Sequence[Text] = (),
        *,
        from_path: Text | None = None,
        base: Side | None = None,
        snapshot: Name | None = None,
        exclude: Sequence[Text] = (),
        include: Sequence[Text] = (),
        accept: Sequence[Text] = (),
        owner: bool = False,
        dry_run: bool = False,
        pause: bool = True,
    ) -> Applied:
        """Puts the changes of the sandbox into a directory of this host.

        `from_path` is the sandbox's directory that `directory` stands for; its root by default. `base` is the sandbox,
        snapshot or image that the sandbox is compared with; what it began with by default. With `snapshot` the changes
        are those of a snapshot. `owner=True` applies owners, too, which takes root. With `dry_run=True` nothing is
        written. A running sandbox is frozen, or refused, as by `diff`.
        `exclude` and `include` are patterns of paths, as gitignore has them: changes that an `exclude` matches are left
        out, and if there are includes, only the changes that one of them matches are taken.

        Repositories of git are left out, unless a path leads into one. Changes that make programs of this host run
        commands, such as `.envrc`, are applied only at and below the paths of the sandbox in `accept`.

        Raises what `diff` raises, `PathExists` if files of the host are in the way, and `PermissionDenied` if changes
        are not accepted: then nothing is changed, and the details `conflicts` and `marked` list them.
        """
        options = {
            "directory": os.fspath(directory),
            "paths": _values.paths(paths),
            "from": None if from_path is None else _values.text(from_path),
            "base": None if base is None else _names.side(base),
            "snapshot": _names.optional(snapshot),
            "exclude": _values.paths(exclude),
            "include": _values.paths(include),
            "accept": _values.paths(accept),
            "owner": owner,
            "dry_run": dry_run,
            "pause": pause,
        }
        reply = call(self._link, "apply", options)
        return decode(Applied, reply.value)

    def commit(
        self,
        name: str,
        *,
        message: str | None = None,
        author: str | None = None,
        changes: Sequence[str] = (),
        source_date_epoch: int | None = None,
        exclude: Sequence[Text] = (),
        include: Sequence[Text] = (),
        snapshot: Name | None = None,
        pause: bool = True,
    ) -> Committed:
        """Makes an image of the sandbox: a child of its image, or of the last image that was made of it.

        The image of a `snapshot` is a child of the sandbox's own image.

        `changes` are instructions of a Dockerfile for running the image, such as `CMD ["python3"]`. With
        `source_date_epoch`, in seconds, the same changes make the same image. A running sandbox is frozen, or
        refused, as by `diff`.
        `exclude` and `include` are patterns of paths, as gitignore has them: changes that an `exclude` matches are left
        out, and if there are includes, only the changes that one of them matches are taken.

        Raises what `diff` raises, and `InvalidArgument`.
        """
        options = {
            "name": name,
            "message": message,
            "author": author,
            "changes": [*changes],
            "source_date_epoch": source_date_epoch,
            "exclude": _values.paths(exclude),
            "include": _values.paths(include),
            "snapshot": _names.optional(snapshot),
            "pause": pause,
        }
        reply = call(self._link, "commit", options)
        return decode(Committed, reply.value)

    def rollback(
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
        reply = call(self._link, "rollback", options)
        return decode(RolledBack, reply.value)

    def fork(
        self, *names: str | Sequence[str], snapshot: Name | None = None, freeze: bool = True
    ) -> list[str]:
        """Makes sandboxes that begin with the files of this one, running or not, and returns their names.

        Names are given one by one, or as a list. Without names one is made, whose name is its id. `snapshot` names the files to begin with; those of now by
        default. Forks share the files until they write to them, are not started, and are kept when they stop. They have
        the options of this sandbox and none of the ports of the host that it was given.

        Raises `NameTaken`, `InvalidArgument`, `NotFound` for a snapshot, and `SandboxRunning` if this sandbox runs on a
        disk that was not prepared for snapshots. Nothing is left of the forks then.
        """
        given = [[name] if isinstance(name, str) else list(name) for name in names]
        options = {
            "names": [name for each in given for name in each],
            "snapshot": _names.optional(snapshot),
            "freeze": freeze,
        }
        reply = call(self._link, "fork", options, shows=False)
        made = [str(name) for name in reply.value["names"]]
        try:
            _core.show(reply.notices)
        except BaseException:
            # A filter makes errors of warnings, and a failed call leaves no forks.
            for name in made:
                fork = call(self._link.core.root, "sandboxes.get", {"name": name})
                call(fork.new, "remove")
            raise
        return made

    def branch(
        self, name: str | None = None, *, snapshot: Name | None = None, freeze: bool = True
    ) -> Sandbox:
        """Starts a fork of this sandbox, which the result owns.

        It begins with the files of this sandbox as they are now, or as they are in a `snapshot`, has its options, and
        ends as a sandbox of `Sandboxes.run` does: leave its `with` block, or close it. `fork` makes ones
        that are kept.

        Raises what `fork` and `start` raise. Nothing is left of the branch then, and neither if the call is interrupted.
        """
        options: dict[str, object] = {
            "name": name,
            "snapshot": _names.optional(snapshot),
            "freeze": freeze,
        }
        return opening(self._branch(options))

    def _branch(self, options: dict[str, object]) -> Sandbox:
        return opened(call(self._link, "branch", options, shows=False))

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
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


def opened(reply: Reply) -> Sandbox:
    """Returns the new sandbox of a reply, and shows its notices.

    If a filter makes an error of one, nobody would have the sandbox: it is closed, or removed, then.
    """
    sandbox = Sandbox(reply)
    try:
        _core.show(reply.notices)
    except BaseException:
        if sandbox.is_owned:
            sandbox.close()
        else:
            sandbox.remove(force=True)
        raise
    return sandbox
