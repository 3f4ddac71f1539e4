"""Secrets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from .._values import Duration

if TYPE_CHECKING:
    import os


@dataclass(frozen=True)
class Secret:
    """A secret: programs of the sandbox use it in requests, and cannot read it.

    They have a placeholder, which the network of the sandbox replaces in requests to the secret's hosts. The value comes
    from one of `env`, `file`, `command` and `value`; without any, from the variable of this host with the secret's name.
    """

    name: str
    """The name, and the variable of the sandbox that has the placeholder."""
    to: Sequence[str]
    """The destinations, as `HOST[:PORT][/PATH][:METHODS]`."""
    env: str | None = None
    """The variable of this host that has the value, which is read at each start."""
    file: str | os.PathLike[str] | None = None
    """The file of this host that has the value, which is read at each start."""
    command: str | Sequence[str] | None = None
    """The command of this host that prints the value, run at each start: text for a shell, or a list of arguments."""
    value: str | None = field(default=None, repr=False)
    """The value itself. It is in no file, so a second start needs another source."""
    every: Duration | None = None
    """The time after which `file` or `command` is read again while the sandbox runs."""
    placement: str | None = None
    """The place in requests instead of the usual headers: `header:NAME`, `query:NAME` or `basic`."""
    prefix: str | None = None
    """The beginning of the placeholder, for clients that check the form of a key."""
    guest_file: str | None = None
    """The file of the sandbox that has the placeholder instead of a variable."""


@dataclass(frozen=True)
class SecretInfo:
    """The description of a secret, without its value."""

    name: str
    """The name, and the variable of the sandbox that has the placeholder."""
    to: list[str] = field(default_factory=list[str])
    """The destinations, as `HOST[:PORT][/PATH][:METHODS]`."""
    source: str = ""
    """The source of the value: `env:NAME`, `file:PATH`, `cmd:COMMAND`, or `given` by a program."""
    every_s: int | None = None
    """The time after which the source is read again, in seconds."""
    placement: str | None = None
    """The place in requests instead of the usual headers."""
    file: str | None = None
    """The file of the sandbox that has the placeholder instead of a variable."""
    placeholder: str | None = None
    """The text that stands for the value in the sandbox."""
    state: Literal["held", "missing", "expired", "removed"] | None = None
    """The state of the value in the running sandbox; `None` if the sandbox is not running."""
