"""The configuration of a sandbox, as `msb.yaml` has it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import yaml
from inspect_ai.util import (
    ComposeConfig,
    SandboxEnvironmentConfigType,
    is_compose_yaml,
    is_dockerfile,
    parse_compose_yaml,
)
from msb import Network, SandboxOptions, Secret
from pydantic import BaseModel, ConfigDict, Field, model_validator

from . import _compose

#: The image of a task without a configuration, which is that of Inspect's own Docker sandboxes.
DEFAULT_IMAGE = "aisiuk/inspect-tool-support"


class MsbConfig(BaseModel):
    """The options of a sandbox. Without any it has Inspect's own image and no network."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    image: str = DEFAULT_IMAGE
    """The image, which is pulled if it is missing."""
    command: list[str] | None = None
    """The main command, with which the sandbox ends. Without one it lives until the end of the sample."""
    init: bool = False
    """True if an init reaps the orphans of the main command."""
    user: str | None = None
    """The user of commands and of file operations; the image's by default."""
    working_dir: str | None = None
    """The directory that commands and relative paths begin at; the image's by default."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Environment variables."""
    cpus: int | None = None
    """Number of virtual processors."""
    memory: str | None = None
    """Guest memory, such as `512M`."""
    disk: str | None = None
    """Size of the writable disk, such as `8G`."""
    network: Literal["none", "listed", "outbound"] = "none"
    """The destinations without a rule."""
    allow: list[str] = Field(default_factory=list)
    """Rules that allow destinations, such as `pypi.org:443`."""
    deny: list[str] = Field(default_factory=list)
    """Rules that deny destinations; they win over `allow`."""
    secrets: dict[str, list[str]] = Field(default_factory=dict)
    """Secrets, by the variables of this host that have the values, with the hosts that may receive them."""

    @model_validator(mode="after")
    def _needs_network(self) -> MsbConfig:
        if self.network == "none" and (self.allow or self.deny or self.secrets):
            raise ValueError(
                "allow, deny and secrets need a network: write 'network: listed', "
                "or 'network: outbound'"
            )
        return self

    def options(self) -> SandboxOptions:
        """Returns the options of the SDK."""
        options: SandboxOptions = {
            "env": self.environment,
            "init": self.init,
            "network": Network(self.network, tuple(self.allow), tuple(self.deny)),
            "secrets": [Secret(name, hosts) for name, hosts in self.secrets.items()],
        }
        if self.command is not None:
            options["command"] = self.command
        if self.user is not None:
            options["user"] = self.user
        if self.working_dir is not None:
            options["cwd"] = self.working_dir
        if self.cpus is not None:
            options["cpus"] = self.cpus
        if self.memory is not None:
            options["memory"] = self.memory
        if self.disk is not None:
            options["disk"] = self.disk
        return options


def load(config: SandboxEnvironmentConfigType | None) -> MsbConfig:
    """Returns the configuration of a task or a sample, which Inspect passes on as a path or as an object.

    Raises `ValueError` for one that msb cannot carry out.
    """
    if config is None:
        return MsbConfig()
    if isinstance(config, MsbConfig):
        return config
    if isinstance(config, ComposeConfig):
        return from_compose(config, "the compose configuration")
    if not isinstance(config, str):
        raise ValueError(f"{type(config).__name__} is not a configuration of msb")
    if is_dockerfile(config):
        raise ValueError(
            f"{config}: msb does not build images; build it, and write its name as 'image' in msb.yaml"
        )
    if is_compose_yaml(config):
        return from_compose(parse_compose_yaml(config), config)
    written = yaml.safe_load(Path(config).read_text(encoding="utf-8"))
    return MsbConfig.model_validate({} if written is None else written)


def from_compose(compose: ComposeConfig, source: str) -> MsbConfig:
    """Returns the configuration of a compose file with one service."""
    return MsbConfig.model_validate(_compose.fields(compose, source))
