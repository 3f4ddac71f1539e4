"""Environments of trials, made as Harbor makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harbor.models.task.config import EnvironmentConfig, NetworkMode, NetworkPolicy
from harbor.models.trial.paths import TrialPaths

from harbor_msb import MsbEnvironment
from support import IMAGE


def environment(
    directory: Path,
    *,
    session: str = "hello__1__env",
    mode: NetworkMode = NetworkMode.NO_NETWORK,
    hosts: list[str] | None = None,
    phases: list[NetworkPolicy] | None = None,
    config: dict[str, Any] | None = None,
    **options: Any,
) -> MsbEnvironment:
    """Returns an environment that is not started."""
    task = {"docker_image": IMAGE, "cpus": 1, "memory_mb": 512, **(config or {})}
    environment_dir = directory / "environment"
    environment_dir.mkdir(exist_ok=True)
    paths = TrialPaths(trial_dir=directory / "trial")
    paths.mkdir()
    return MsbEnvironment(
        environment_dir=environment_dir,
        environment_name="hello",
        session_id=session,
        trial_paths=paths,
        task_env_config=EnvironmentConfig.model_validate(task),
        network_policy=NetworkPolicy(network_mode=mode, allowed_hosts=hosts or []),
        phase_network_policies=phases,
        **options,
    )
