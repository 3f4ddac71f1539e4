"""Compose files with one service, as fields of a configuration of msb."""

from __future__ import annotations

import logging
import math
import os
import re
import shlex
from typing import Any

from inspect_ai.util import ComposeConfig, ComposeService

logger = logging.getLogger(__name__)

#: The keys of a service that have an effect; `deploy` has one by its limits.
_USED = {
    "command",
    "cpus",
    "deploy",
    "environment",
    "image",
    "init",
    "mem_limit",
    "network_mode",
    "user",
    "working_dir",
    "x_default",
}
#: The network modes of compose, and those of msb.
_NETWORKS = {None: "outbound", "bridge": "outbound", "default": "outbound", "none": "none"}
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def fields(compose: ComposeConfig, source: str) -> dict[str, Any]:
    """Returns the fields of the configuration, and warns of keys that have no effect.

    Raises `ValueError` for what cannot be left out: several services, a build, networks, variables.
    """
    if len(compose.services) != 1:
        names = ", ".join(compose.services) or "none"
        raise ValueError(f"{source}: msb runs one service, and the services are: {names}")
    service = next(iter(compose.services.values()))
    _refuse(service, source)
    ignored = _ignored(service)
    if ignored:
        logger.warning("%s: msb ignores %s", source, ", ".join(ignored))
    resources = service.deploy.resources if service.deploy else None
    limits = resources.limits if resources else None
    cpus = service.cpus or (limits.cpus if limits else None)
    memory = service.mem_limit or (limits.memory if limits else None)
    found = {
        "image": service.image,
        "command": _words(service.command),
        "init": service.init,
        "user": service.user,
        "working_dir": service.working_dir,
        "environment": _variables(service.environment),
        "cpus": None if cpus is None else math.ceil(float(cpus)),
        "memory": None if memory is None else _mebibytes(memory, source),
        "network": _NETWORKS[service.network_mode],
    }
    return {name: value for name, value in found.items() if value is not None}


def _refuse(service: ComposeService, source: str) -> None:
    if service.build is not None:
        raise ValueError(
            f"{source}: msb does not build images; build it, and write its name as 'image'"
        )
    if service.image is None:
        raise ValueError(f"{source}: the service has no image")
    if service.networks is not None or service.network_mode not in _NETWORKS:
        raise ValueError(
            f"{source}: msb has no networks of compose; write 'network_mode: none', "
            "or 'network: listed' with 'allow' in msb.yaml"
        )
    if "${" in service.model_dump_json():
        raise ValueError(f"{source}: msb does not replace variables such as ${{NAME}}")


def _ignored(service: ComposeService) -> list[str]:
    """Returns the keys without an effect, in the order of the alphabet."""
    names = {name for name in service.model_fields_set if not name.startswith("x-")} - _USED
    resources = service.deploy.resources if service.deploy else None
    if resources and resources.reservations:
        names.add("deploy.resources.reservations")
    return sorted(names)


def _words(command: list[str] | str | None) -> list[str] | None:
    return shlex.split(command) if isinstance(command, str) else command


def _variables(given: list[str] | dict[str, str | None] | None) -> dict[str, str] | None:
    """Returns the variables; one without a value has this host's, as with compose."""
    if given is None:
        return None
    if isinstance(given, list):
        pairs = [line.partition("=") for line in given]
        given = {name: value if separator else None for name, separator, value in pairs}
    named = {
        name: os.environ.get(name) if value is None else value for name, value in given.items()
    }
    return {name: value for name, value in named.items() if value is not None}


def _mebibytes(size: str, source: str) -> str:
    """Returns a size of compose, such as `0.5gb`, as msb reads it, in whole MiB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", size.strip().lower())
    if found is None:
        raise ValueError(f"{source}: '{size}' is not a size such as 512m")
    return f"{math.ceil(float(found[1]) * _UNITS[found[2]] / _UNITS['m'])}M"
