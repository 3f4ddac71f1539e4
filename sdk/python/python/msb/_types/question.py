"""Questions of a sandbox, and rules that change while it runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A question of a process of the guest, which `msb-ask` asks. Its texts are the guest's."""

    id: int
    """The number of the question in the life of the sandbox."""
    kind: str
    """The kind: `path`, or `network` or `unknown` of a newer machine, which can only be denied."""
    subject: str
    """The path in the sandbox that the process asks for."""
    reason: str
    """The words of the process; empty if it gave none."""
    process: str | None
    """Name of the process that asks, if it is known."""
    uid: int | None
    """User id of the process in the guest, if it is known."""


@dataclass(frozen=True)
class Allowed:
    """The effect of a changed rule of a staged directory."""

    rule: str
    """The rule, `PATH=STATE`, relative to the staged directory."""
    let_in: list[str]
    """Paths in the sandbox of the files that were copied into it. Of a directory only itself is listed."""
    present: list[str]
    """Paths of files that the sandbox has already, of its own; they stay as they are."""
