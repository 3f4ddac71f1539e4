from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from .. import _core, _options, _values
from .._core import Data, Link
from .._types import Output, Stats, TerminalSize, Ulimit
from .._values import Duration, Size, Text, decode
from ._bridge import Opening, call, opening
from ._process import AsyncProcess
from ._streams import AsyncLogs, AsyncNetworkLog, AsyncStatsWatch


class AsyncSandboxCommands:
    """The commands of a sandbox, their output and what they use."""

    _link: Link

    async def exec(
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
        snapshot: bool | None = None,
    ) -> Output:
        """Runs a command and collects its output.

        `timeout` kills the command and raises `CommandTimeout`. A command that prints more than `max_output`, 32 MiB
        by default, is killed, and `OutputLimit` raised. Both errors have the output so far. `check=True` raises
        `CommandFailed` if the exit code is not 0. Cancelling the call kills the command.

        `snapshot=True` takes a snapshot before the command, so that `undo` can take it back, and does not start the
        command without it; by default that is the choice of the sandbox, `snapshot_commands`.

        Raises `CommandNotFound`, `NotExecutable`, `NotRunning`, and `SandboxEnded`.
        """
        options = _options.command(
            argv,
            env=env,
            cwd=cwd,
            user=user,
            groups=groups,
            ulimits=ulimits,
            snapshot=snapshot,
        )
        options["tty"] = _options.terminal(tty)
        options["stdin"] = stdin is not None
        options["timeout_ms"] = _values.milliseconds(timeout, "timeout")
        options["max_output"] = max_output
        reply = await call(self._link, "exec", options, _core.content(stdin))
        stdout, stderr = reply.content
        value = reply.value
        output = Output(value["exit_code"], value["signal"], stdout, stderr, value["failure"])
        return output.check() if check else output

    async def shell(
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
        snapshot: bool | None = None,
    ) -> Output:
        """Runs text with `/bin/sh -c` and collects its output, like `exec`."""
        return await self.exec(
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
            snapshot=snapshot,
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
        snapshot: bool | None = None,
    ) -> Opening[AsyncProcess]:
        """Starts a command whose output is streamed, and whose input can be written with `stdin=True`.

        `snapshot` is that of `exec`.
        `timeout` kills the command: its output and its `wait` end with `CommandTimeout` then. Leaving its `async with` block kills the command. Raises `CommandNotFound`, `NotExecutable`, `NotRunning` and
        `SandboxEnded`.
        """
        options = _options.command(
            argv,
            env=env,
            cwd=cwd,
            user=user,
            groups=groups,
            ulimits=ulimits,
            snapshot=snapshot,
        )
        options["tty"] = _options.terminal(tty)
        options["stdin"] = stdin
        options["timeout_ms"] = _values.milliseconds(timeout, "timeout")
        return opening(self._spawn("spawn", options))

    def attach(self) -> Opening[AsyncProcess]:
        """Attaches to the main command. Closing the process leaves the command running. Raises `NotRunning`."""
        return opening(self._spawn("attach", {}))

    async def _spawn(self, operation: str, options: dict[str, object]) -> AsyncProcess:
        reply = await call(self._link, operation, options)
        return AsyncProcess(reply.new, reply.value["pid"])

    def logs(
        self,
        *,
        follow: bool = False,
        source: Literal["output", "console", "machine", "asks", "network"] = "output",
        tail: int | None = None,
        since_s: float | None = None,
        until_s: float | None = None,
    ) -> AsyncLogs:
        """Returns the log of the main command's output, or of the guest's console or the machine.

        `"asks"` and `"network"` are lines of JSON; `network_log` returns values instead.

        `follow=True` waits for more until the sandbox ends, and `tail` is the number of the last records to begin
        with. `since_s` and `until_s` are seconds since the epoch.
        """
        options = {
            "follow": follow,
            "source": source,
            "tail": tail,
            "since_ns": None if since_s is None else int(since_s * 1e9),
            "until_ns": None if until_s is None else int(until_s * 1e9),
        }
        return AsyncLogs(self._link, "logs", options)

    def network_log(
        self,
        *,
        follow: bool = False,
        denied: bool = False,
        tail: int | None = None,
        since_s: float | None = None,
        until_s: float | None = None,
    ) -> AsyncNetworkLog:
        """Returns the log of the network: each connection and its end, refusals, and DNS queries.

        `denied=True` chooses the refusals. `follow`, `tail`, `since_s` and `until_s` are those of `logs`. The log is
        kept when the sandbox stops, and the sandbox cannot change it.
        """
        options = {
            "follow": follow,
            "denied": denied,
            "tail": tail,
            "since_ns": None if since_s is None else int(since_s * 1e9),
            "until_ns": None if until_s is None else int(until_s * 1e9),
        }
        return AsyncNetworkLog(self._link, "network_log", options)

    async def stats(self) -> Stats:
        """Returns the statistics of the running sandbox. Raises `NotRunning`."""
        reply = await call(self._link, "stats")
        return decode(Stats, reply.value)

    def watch_stats(self, interval: Duration = 1.0) -> AsyncStatsWatch:
        """Returns one sample of the statistics in each interval, until the sandbox ends."""
        options = {"interval_ms": _values.milliseconds(interval, "interval")}
        return AsyncStatsWatch(self._link, "watch_stats", options)
