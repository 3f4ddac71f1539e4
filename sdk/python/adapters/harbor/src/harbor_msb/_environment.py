"""The environment of a trial."""

from __future__ import annotations

import asyncio
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, cast, override

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import (
    EnvironmentCapabilities,
    EnvironmentResourceCapabilities,
)
from harbor.environments.options import EnvironmentOptions
from harbor.models.task.config import NetworkPolicy
from msb import AsyncMsb, AsyncSandbox, Network, SandboxOptions, Secret

from ._commands import run
from ._options import MsbOptions, mebibytes, network

#: The label of all sandboxes of this package; its value is the trial's.
LABEL = "harbor-msb"


class MsbEnvironment(BaseEnvironment):
    """A sandbox of msb: a microVM of one trial, which ends with it or with this process."""

    options_model: ClassVar[type[EnvironmentOptions] | None] = MsbOptions

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._client: AsyncMsb | None = None
        self._started: AsyncSandbox | None = None
        super().__init__(*arguments, **options)

    @staticmethod
    @override
    def type() -> str:
        return "msb"

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(
            disable_internet=True,
            network_allowlist=True,
            network_allowlist_hostnames=True,
            network_allowlist_wildcard_hostnames=True,
            network_allowlist_ipv4_addresses=True,
            network_allowlist_ipv4_cidrs=True,
            dynamic_network_policy=True,
        )

    @classmethod
    @override
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        return EnvironmentResourceCapabilities(cpu_limit=True, memory_limit=True)

    @override
    def _validate_definition(self) -> None:
        if not self.task_env_config.docker_image:
            raise ValueError(
                f"{self.environment_dir}: msb does not build images; build it, and write its name as "
                "docker_image in [environment] of task.toml"
            )
        for name in ("docker-compose.yaml", "docker-compose.yml"):
            if (self.environment_dir / name).exists():
                raise ValueError(f"{self.environment_dir / name}: msb runs no services of compose")

    @override
    async def start(self, force_build: bool) -> None:
        """Starts the sandbox, and sends it the files of the task's environment."""
        if force_build:
            raise ValueError("msb does not build images; run without --force-build")
        self._client = AsyncMsb()
        try:
            image = cast(str, self.task_env_config.docker_image)
            self._started = await self._client.sandboxes.run(image, **self._sandbox_options())
            await self.ensure_dirs(self._mount_targets(writable_only=True))
            await self._upload_environment_dir_after_start()
        except BaseException:
            await self.stop(delete=True)
            raise

    def _sandbox_options(self) -> SandboxOptions:
        secrets = cast(MsbOptions, self.options).secrets
        options: SandboxOptions = {
            "labels": {LABEL: self.session_id},
            "env": self._startup_env(),
            "network": self._network(self.network_policy),
            "secrets": [Secret(name, hosts) for name, hosts in secrets.items()],
        }
        if self.task_env_config.workdir is not None:
            options["cwd"] = self.task_env_config.workdir
        if self._effective_cpus is not None:
            options["cpus"] = int(self._effective_cpus)
        if (memory := mebibytes(self._effective_memory_mb)) is not None:
            options["memory"] = memory
        if (disk := mebibytes(self._effective_storage_mb)) is not None:
            options["disk"] = disk
        return options

    def _network(self, policy: NetworkPolicy) -> Network:
        is_fixed = all(phase == self.network_policy for phase in self._phase_network_policies)
        return network(policy, is_fixed=is_fixed)

    @override
    async def _apply_network_policy(self, network_policy: NetworkPolicy) -> None:
        # Connections of the phase before end, unless the new policy allows them.
        await self._sandbox.network.set(self._network(network_policy), close=True)

    @override
    async def stop(self, delete: bool) -> None:
        """Removes the sandbox. Without `delete` it is kept, and goes on."""
        client, self._client = self._client, None
        sandbox, self._started = self._started, None
        if client is None:
            return
        try:
            if sandbox is not None and not delete:
                await sandbox.detach()
                self.logger.info("sandbox %s is kept", sandbox.name)
            elif sandbox is not None:
                await sandbox.close()
        finally:
            await client.close()

    @property
    def _sandbox(self) -> AsyncSandbox:
        if self._started is None:
            raise RuntimeError("the environment was not started")
        return self._started

    @override
    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Runs text in a shell. Its timeout kills it with everything that it started."""
        return await run(
            self._sandbox,
            command,
            cwd=cwd or self.task_env_config.workdir,
            env=self._merge_env(env),
            user=self._resolve_user(user),
            timeout_s=timeout_sec,
            callback=self._output_callback(),
        )

    @override
    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        await self._make_parents(target_path)
        await self._sandbox.files.upload(source_path, target_path, follow_link=True)

    @override
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        await self._make_parents(target_dir)
        # As with `docker cp`, the content of the directory, not the directory.
        await self._sandbox.files.upload(f"{source_dir}/.", target_dir)

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        await _make_host_directory(Path(target_path).parent)
        await self._sandbox.files.download(source_path, target_path, follow_link=True)

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        await _make_host_directory(Path(target_dir))
        await self._sandbox.files.download(f"{source_dir}/.", target_dir)

    async def _make_parents(self, path: str) -> None:
        await self._sandbox.files.mkdir(str(PurePosixPath(path).parent), parents=True)


async def _make_host_directory(path: Path) -> None:
    await asyncio.to_thread(path.mkdir, parents=True, exist_ok=True)
