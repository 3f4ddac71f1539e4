"""Logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class LogRecord:
    """A part of a log."""

    stream: Literal["stdout", "stderr"] | None
    """The stream of the command; `None` in the logs of the console and the machine."""
    data: bytes
    """The bytes, as they came."""
    time_s: float | None = None
    """Seconds since the epoch; `None` if the log has no times."""

    @property
    def text(self) -> str:
        """The bytes as text; those that are not UTF-8 are replaced."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class NetworkRecord:
    """A record of the log of a sandbox's network. Fields that its event does not have are `None`.

    Names are those that the sandbox asked for, and it may ask for any.
    """

    time: str
    """The time, in RFC 3339, with milliseconds."""
    event: Literal[
        "connect",
        "close",
        "dns",
        "rules",
        "lost",
        "tls",
        "http",
        "secret.misplaced",
        "secret.reflected",
        "secret.encoded",
        "tls.refused",
        "upstream.certificate",
    ]
    """The event: a flow begins or is refused, a flow has ended, a name was asked for, or events are not in the log
    because there were too many; or the host has changed the rules. Where TLS is ended: a TLS hello, a request, a placeholder that was not replaced, an
    answer that was withheld because it has a value or because it is compressed, a certificate that the sandbox refused,
    or a host that did not prove its name. A later msb may have others."""
    flow: int | None = None
    """The number of the flow since the machine's start; `None` if it is refused."""
    proto: Literal["tcp", "udp"] | None = None
    """The transport protocol."""
    name: str | None = None
    """The name that was asked for, or the last one that the guest resolved to the address."""
    type: str | None = None
    """The type of the records that were asked for, such as `A`."""
    address: str | None = None
    """The address that the guest connects to; that of the client if the flow is an inbound one."""
    port: int | None = None
    """The port at that address; the port in the guest if the flow is an inbound one."""
    verdict: Literal["allowed", "denied"] | None = None
    """The decision."""
    rule: str | None = None
    """The rule that decided; for an inbound flow `published`."""
    code: str | None = None
    """The code of a DNS answer, such as `NOERROR` or `NXDOMAIN`."""
    hint: str | None = None
    """The option that allows what is refused; `None` if none does."""
    sent: int | None = None
    """Bytes that the guest sent."""
    received: int | None = None
    """Bytes that the guest received."""
    ms: int | None = None
    """Time since the begin of the flow, in milliseconds."""
    end: str | None = None
    """The end of a flow: `guest`, `peer`, `guest-reset`, `peer-reset`, `refused`, `unreachable`, `timeout`, `idle`,
    `denied`, `busy`, `revoked`, `proxy-refused`, `proxy-failed` or `machine`."""
    count: int = 1
    """The number of equal events that the record stands for."""
    sni: str | None = None
    """The name that the guest stated in its TLS hello."""
    ended: bool | None = None
    """True if msb ends the TLS of the connection."""
    method: str | None = None
    """The method of a request."""
    host: str | None = None
    """The host of a request, which its certificate proved."""
    path: str | None = None
    """The path of a request without its query; a part that may be a credential is `…`."""
    query: bool = False
    """True if the request has a query."""
    status: int | None = None
    """The status of the answer, or that with which the upstream proxy refused a flow; `None` if there is none."""
    version: str | None = None
    """The version of HTTP: `http/1.1` or `h2`."""
    secrets: tuple[str, ...] = ()
    """The secrets whose values were placed in the request."""
    by: str | None = None
    """The side that has changed the rules: `host`."""
    mode: Literal["outbound", "listed"] | None = None
    """The default of changed rules."""
    allow: tuple[str, ...] = ()
    """The rules that allow and are new."""
    deny: tuple[str, ...] = ()
    """The rules that deny and are new."""
    removed: tuple[str, ...] = ()
    """The rules that no longer hold."""
    more: int = 0
    """The number of further rules that are new or no longer hold."""
    secret: str | None = None
    """The name of the secret that an event is about."""
    place: str | None = None
    """The part of the request that has the placeholder: the header's name, `path`, `query` or `request`."""
    alert: str | None = None
    """The TLS alert of the guest; `None` if it closed the connection."""
    reason: str | None = None
    """The reason why a host did not prove its name, for people."""
