# Generated from _async/_jobs.py by generate_sync.py: edit that file.
from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence

from .. import _options
from .._core import Link
from .._types import Exit, JobInfo, Ulimit
from .._values import Text, decode
from ._bridge import call
from ._streams import Logs


class Jobs:
    """The commands of a sandbox that run without a client."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def start(
        self,
        argv: Sequence[Text],
        *,
        env: Mapping[str, Text] | None = None,
        cwd: Text | None = None,
        user: str | int | None = None,
        groups: Sequence[str] | None = None,
        ulimits: Mapping[str, Ulimit] | None = None,
        snapshot: bool | None = None,
    ) -> Job:
        """Starts a command that goes on without this process; its output is kept. `snapshot` is that of `exec`."""
        options = _options.command(
            argv,
            env=env,
            cwd=cwd,
            user=user,
            groups=groups,
            ulimits=ulimits,
            snapshot=snapshot,
        )
        reply = call(self._link, "jobs.start", options)
        return Job(self._link, reply.value["id"])

    def list(self) -> builtins.list[JobInfo]:
        """Returns the jobs of the sandbox, running or ended."""
        reply = call(self._link, "jobs.list")
        return [decode(JobInfo, job) for job in reply.value]

    def get(self, id: int) -> Job:
        """Returns the job with this number. Its methods raise `JobNotFound` if it does not exist."""
        return Job(self._link, id)


class Job:
    """A command that runs without a client."""

    def __init__(self, link: Link, id: int) -> None:
        self._link = link
        self._id = id

    def __repr__(self) -> str:
        return f"<Job {self._id}>"

    @property
    def id(self) -> int:
        """The job's number in its sandbox."""
        return self._id

    def inspect(self) -> JobInfo:
        """Returns the description and the state of the job."""
        reply = call(self._link, "jobs.inspect", {"id": self._id})
        return decode(JobInfo, reply.value)

    def wait(self) -> Exit:
        """Waits until the job has ended. Interrupting the wait leaves the job running."""
        reply = call(self._link, "jobs.wait", {"id": self._id})
        return decode(Exit, reply.value)

    def signal(self, signal: str | int) -> None:
        """Sends a signal to the job, by its name or number. Raises `NotRunning`."""
        signal = signal if isinstance(signal, str) else int(signal)
        call(self._link, "jobs.signal", {"id": self._id, "signal": signal})

    def kill(self) -> None:
        """Kills the job. Raises `NotRunning`."""
        call(self._link, "jobs.kill", {"id": self._id})

    def logs(self, *, follow: bool = False, tail: int | None = None) -> Logs:
        """Returns the output of the job. `follow=True` waits for more until it ends."""
        options = {"id": self._id, "follow": follow, "tail": tail}
        return Logs(self._link, "jobs.logs", options)
