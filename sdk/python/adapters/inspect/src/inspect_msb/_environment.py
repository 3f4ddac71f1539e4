"""The sandbox environment of Inspect."""

from __future__ import annotations

import logging
import os
import posixpath
import shlex
from typing import Any, ClassVar, Literal, Union, overload

from inspect_ai.util import (
    ExecResult,
    SandboxConnection,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    sandboxenv,
)
from msb import AsyncMsb, AsyncSandbox, MsbError, SandboxState
from pydantic import BaseModel
from typing_extensions import override

from . import _config, _files
from ._bases import LABEL, Bases
from ._commands import Limit, run
from ._config import MsbConfig

logger = logging.getLogger(__name__)

#: Memory of a guest without a limit, and of the processes of its machine, in bytes.
_SANDBOX_BYTES = (1024 + 128) << 20


@sandboxenv(name="msb")
class MsbSandboxEnvironment(SandboxEnvironment):
    """A sandbox of msb: a microVM of one sample.

    Its files are those of a base sandbox, which is made once for each configuration of an evaluation.
    """

    _bases: ClassVar[Bases] = Bases()
    #: The sandboxes of samples that have not been cleaned up.
    _live: ClassVar[set[AsyncSandbox]] = set()

    def __init__(self, sandbox: AsyncSandbox, working_dir: str) -> None:
        super().__init__()
        self._sandbox = sandbox
        self._working_dir = working_dir

    @override
    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Runs a command. Its timeout kills it with everything that it started, and it is not tried again."""
        limits = SandboxEnvironmentLimits
        output = await run(
            self._sandbox,
            cmd,
            limit=Limit(limits.MAX_EXEC_OUTPUT_SIZE, limits.MAX_EXEC_OUTPUT_SIZE_STR),
            input=input,
            cwd=self._path(cwd) if cwd else None,
            env=env,
            user=user,
            timeout=timeout,
        )
        return ExecResult(output.is_success, output.exit_code, output.text, output.error_text)

    @override
    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Writes a file as the sandbox's user, and makes the directories above it."""
        await _files.write(self._sandbox, self._path(file), contents)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    @override
    async def read_file(self, file: str, text: bool = True) -> Union[str, bytes]:
        """Reads a file as the sandbox's user."""
        contents = await _files.read(self._sandbox, self._path(file))
        return contents.decode("utf-8") if text else contents

    @override
    async def connection(self, *, user: str | None = None) -> SandboxConnection:
        """Returns the command that opens a shell in the sandbox."""
        info = await self._sandbox.inspect()
        if info.state != SandboxState.RUNNING:
            raise ConnectionError(f"sandbox {info.name} is not running")
        as_user = [] if user is None else ["-u", user]
        command = ["msb", "exec", "-it", *as_user, info.name, "/bin/sh"]
        return SandboxConnection(type="msb", command=shlex.join(command))

    @override
    def default_polling_interval(self) -> float:
        """Returns the seconds between the questions of a sandbox service: a command takes some milliseconds."""
        return 0.2

    def _path(self, path: str) -> str:
        return posixpath.join(self._working_dir, path)

    @classmethod
    @override
    def default_concurrency(cls) -> int | None:
        """Returns the number of sandboxes for which this host has memory."""
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return max(1, memory // _SANDBOX_BYTES)

    @classmethod
    @override
    async def task_init(cls, task_name: str, config: SandboxEnvironmentConfigType | None) -> None:
        """Makes the base of a configuration: the image is pulled, and booted once."""
        await cls._bases.hold(_config.load(config))

    @classmethod
    @override
    async def sample_init(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        metadata: dict[str, str],
    ) -> dict[str, SandboxEnvironment]:
        """Starts the sandbox of a sample."""
        base = await cls._bases.get(_config.load(config))
        sandbox = await base.fork()
        cls._live.add(sandbox)
        return {"default": cls(sandbox, base.working_dir)}

    @classmethod
    @override
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """Removes the sandbox of a sample."""
        for environment in environments.values():
            sandbox = environment.as_type(MsbSandboxEnvironment)._sandbox
            try:
                await sandbox.close()
            except MsbError as error:
                logger.warning("cannot remove sandbox %s: %s", sandbox.name, error)
            cls._live.discard(sandbox)

    @classmethod
    @override
    async def task_cleanup(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, cleanup: bool
    ) -> None:
        """Removes the base. With `--no-sandbox-cleanup` the sandboxes of samples are kept."""
        while cls._live:
            sandbox = cls._live.pop()
            if cleanup:
                await sandbox.close()
            else:
                await sandbox.detach()
                logger.warning(
                    "sandbox %s is kept: msb exec -it %s /bin/sh", sandbox.name, sandbox.name
                )
        await cls._bases.release(_config.load(config))

    @classmethod
    @override
    async def cli_cleanup(cls, id: str | None) -> None:
        """Removes the sandboxes of this package, or the one with this name."""
        async with AsyncMsb() as client:
            for info in await client.sandboxes.list(labels={LABEL: None}):
                if id is None or id == info.name:
                    await (await client.sandboxes.get(info.id)).remove(force=True)

    @classmethod
    @override
    def config_files(cls) -> list[str]:
        """Returns the names of files that a task's configuration is looked for in."""
        return ["msb.yaml", "compose.yaml"]

    @classmethod
    @override
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        """Returns the configuration that a log has."""
        return MsbConfig.model_validate(config)
