"""The client: its versions, and the findings of `doctor`."""

from __future__ import annotations

from dataclasses import dataclass

from .words import _Words


class Severity(_Words):
    """The severity of a finding of `doctor`."""

    GOOD = "good"
    DEGRADED = "degraded"
    BROKEN = "broken"


@dataclass(frozen=True)
class Finding:
    """The state of one thing that sandboxes need."""

    subject: str
    """The inspected thing, such as `guest kernel`."""
    level: Severity
    """The severity of the finding."""
    finding: str
    """The result of the inspection."""
    remedy: str | None = None
    """The action that improves the state; `None` if no action is needed."""


@dataclass(frozen=True)
class Version:
    """The versions of this library."""

    msb: str
    """The version of msb."""
    store_format: int
    """The version of the store's format."""
    agent_protocol: int
    """The version of the protocol between host and guest agent."""
    agent: str
    """The digest of the guest agent, which identifies the build."""
    os: str
    """The operating system."""
    architecture: str
    """The processor architecture."""
