"""Networks and published ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Union


@dataclass(frozen=True)
class Network:
    """The destinations that a sandbox reaches. Use `none`, `listed` or `outbound` to make one."""

    mode: Literal["outbound", "listed", "none"] = "outbound"
    """The destinations without a rule."""
    allow: Sequence[str] = ()
    """Rules that allow destinations: addresses, ranges and names, each with or without `:port`, and in the mode `listed`
    requests, as `https://HOST[:PORT][/PATH][:METHODS]`."""
    deny: Sequence[str] = ()
    """Rules that deny destinations; they win over `allow`."""
    dns: Sequence[str] = ()
    """Resolvers to ask instead of the host's, as `IP` or `IP:PORT`."""
    ask: bool = False
    """True to ask about destinations that no rule denies and the mode does: see `Sandbox.on_ask`."""
    upstream_proxy: str | None = None
    """The proxy for TCP connections that leave the host: `http://HOST:PORT`, `socks5h://HOST:PORT`, `socks5://HOST:PORT`,
    or `env` for that of the variables `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` at each start."""
    log: Literal["off", "flows", "http"] = "http"
    """The events that the log of the network has."""

    @classmethod
    def none(cls) -> Network:
        """Returns no network: the sandbox has no network device."""
        return cls("none")

    @classmethod
    def listed(
        cls,
        allow: Sequence[str] = (),
        *,
        deny: Sequence[str] = (),
        dns: Sequence[str] = (),
        ask: bool = False,
        upstream_proxy: str | None = None,
        log: Literal["off", "flows", "http"] = "http",
    ) -> Network:
        """Returns a network that reaches only what `allow` says."""
        rules = (tuple(allow), tuple(deny), tuple(dns))
        return cls("listed", *rules, ask, upstream_proxy, log)

    @classmethod
    def outbound(
        cls,
        *,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        dns: Sequence[str] = (),
        ask: bool = False,
        upstream_proxy: str | None = None,
        log: Literal["off", "flows", "http"] = "http",
    ) -> Network:
        """Returns a network that reaches everything but private, link-local and the host's own addresses."""
        rules = (tuple(allow), tuple(deny), tuple(dns))
        return cls("outbound", *rules, ask, upstream_proxy, log)


@dataclass(frozen=True)
class NetworkPolicy:
    """The rules of a sandbox's network, as they are kept with it."""

    mode: Literal["outbound", "listed", "none"]
    """The destinations that the sandbox reaches without a rule; `none` if it has no network device."""
    allow: list[str] = field(default_factory=list[str])
    """Rules that allow destinations and requests."""
    deny: list[str] = field(default_factory=list[str])
    """Rules that deny destinations; they take precedence."""
    ask: bool = False
    """True if the user is asked about destinations that no rule denies and the mode does."""
    secret_hosts: list[str] = field(default_factory=list[str])
    """Hosts of secrets, each with its port, which are allowed as long as the sandbox has the secret."""


@dataclass(frozen=True)
class Port:
    """A port of a sandbox that a port of the host leads to."""

    guest_port: int
    """The port in the sandbox."""
    host_port: int = 0
    """The port of the host; 0 lets the host choose a free one at each start."""
    host_address: str = "127.0.0.1"
    """The address of the host to listen on."""
    protocol: Literal["tcp", "udp"] = "tcp"
    """The transport protocol."""


Ports = Union["Mapping[int, int | None]", "Mapping[str, int | None]", "Sequence[Port | str]"]
"""Published ports: guest port, such as 80 or `"53/udp"`, to host port, where `None` lets the host choose; or a list of `Port` and texts such as
`"8080:80"`."""
