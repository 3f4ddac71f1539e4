"""Questions of a sandbox, and rules that change while it runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A question of a process of the guest. Its texts are the guest's."""

    id: int
    """The number of the question in the life of the sandbox."""
    kind: str
    """The kind: `path` if `msb-ask` asks for a file of a staged directory; `read` if a process opens a file of a shared
    directory, and `change` if it changes one. `network` and `unknown` of a newer machine can only be denied."""
    subject: str
    """The path in the sandbox that the question is about."""
    reason: str
    """The words of the process; empty if it gave none."""
    process: str | None
    """Name of the process that asks, if it is known."""
    uid: int | None
    """User id of the process in the guest, if it is known."""


@dataclass(frozen=True)
class Allowed:
    """The effect of a changed rule."""

    rule: str
    """The rule, `PATH=STATE`, relative to the directory."""
    let_in: list[str]
    """Paths in the sandbox of the files that were copied into it. Of a directory only itself is listed."""
    present: list[str]
    """Paths of files that the sandbox has already, of its own; they stay as they are."""
