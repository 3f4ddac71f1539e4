# Generated from _async/_network.py by generate_sync.py: edit that file.
from __future__ import annotations

from typing import Any

from .. import _options
from .._core import Link
from .._types import Network, NetworkPolicy
from .._values import decode
from ._bridge import call


class SandboxNetwork:
    """The rules of a sandbox's network. They are kept with the sandbox, and new connections of a running one follow them
    at once. With `close`, open connections that are denied then end.
    """

    def __init__(self, link: Link) -> None:
        self._link = link

    def show(self) -> NetworkPolicy:
        """Returns the rules, as they are kept with the sandbox."""
        reply = call(self._link, "network.show")
        return decode(NetworkPolicy, reply.value)

    def allow(self, *rules: str, close: bool = False) -> NetworkPolicy:
        """Adds rules that allow; equal ones that deny are removed.

        Raises `InvalidArgument`, also for requests (`https://`) to a host whose TLS is not ended since the sandbox's
        creation, and for a sandbox without a network.
        """
        return self._change("network.allow", {"rules": list(rules), "close": close})

    def deny(self, *rules: str, close: bool = False) -> NetworkPolicy:
        """Adds rules that deny; equal ones that allow are removed."""
        return self._change("network.deny", {"rules": list(rules), "close": close})

    def remove(self, *rules: str, close: bool = False) -> NetworkPolicy:
        """Removes rules, whether they allow or deny. Raises `NotFound`."""
        return self._change("network.remove", {"rules": list(rules), "close": close})

    def set(self, network: Network | str, *, close: bool = False) -> NetworkPolicy:
        """Replaces the mode and all rules at once.

        The mode cannot become `none`, because the network device stays: `listed` without rules reaches nothing. `dns`
        and `ask` are fixed when the sandbox is created.
        """
        given = _options.network(network)
        return self._change("network.set", {"network": given, "close": close})

    def _change(self, operation: str, parameters: dict[str, Any]) -> NetworkPolicy:
        reply = call(self._link, operation, parameters)
        return decode(NetworkPolicy, reply.value)
