"""The steps of behaviours on the rules of a sandbox's network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msb import Network, NetworkPolicy

if TYPE_CHECKING:
    from steps import Result, Stage, Step


def show(step: Step, stage: Stage) -> Result:
    """Shows the rules."""
    return _fields(stage.sandbox(step).network.show())


def allow(step: Step, stage: Stage) -> Result:
    """Adds rules that allow."""
    return _fields(stage.sandbox(step).network.allow(*step["rules"]))


def deny(step: Step, stage: Stage) -> Result:
    """Adds rules that deny."""
    return _fields(stage.sandbox(step).network.deny(*step["rules"]))


def remove(step: Step, stage: Stage) -> Result:
    """Removes rules."""
    return _fields(stage.sandbox(step).network.remove(*step["rules"]))


def replace(step: Step, stage: Stage) -> Result:
    """Replaces the mode and all rules."""
    given = Network(**step["network"])
    return _fields(stage.sandbox(step).network.set(given, close=step.get("close", False)))


def _fields(policy: NetworkPolicy) -> Result:
    return {
        "mode": policy.mode,
        "allow": policy.allow,
        "deny": policy.deny,
        "ask": policy.ask,
    }
