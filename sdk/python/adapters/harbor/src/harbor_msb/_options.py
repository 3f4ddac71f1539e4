"""The options of a trial's sandbox, from the task and from the command line."""

from __future__ import annotations

from harbor.environments.options import EnvironmentOptions
from harbor.models.task.config import NetworkMode, NetworkPolicy
from msb import Network
from pydantic import Field


class MsbOptions(EnvironmentOptions):
    """The options of `--ek`."""

    secrets: dict[str, list[str]] = Field(
        default_factory=dict,
        description="Secrets, by the variables of this host that have the values, with the hosts "
        "that may receive them.",
    )


def network(policy: NetworkPolicy, *, is_fixed: bool) -> Network:
    """Returns the network of a policy of Harbor. One that is not fixed can be opened while the sandbox runs."""
    match policy.network_mode:
        case NetworkMode.NO_NETWORK:
            # A sandbox without a network device gets none later.
            return Network.none() if is_fixed else Network.listed()
        case NetworkMode.ALLOWLIST:
            return Network.listed(policy.allowed_hosts)
        case NetworkMode.PUBLIC:
            return Network.outbound()


def mebibytes(size: int | None) -> str | None:
    """Returns a size as msb reads it."""
    return None if size is None else f"{size}M"
