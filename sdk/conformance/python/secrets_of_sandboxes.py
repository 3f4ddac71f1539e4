"""The steps of behaviours on the secrets of sandboxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msb import Secret

if TYPE_CHECKING:
    from steps import Result, Stage, Step

SOURCES = {"env": "env", "file": "file", "cmd": "command"}
"""The parameters of the sources, by the words before their texts."""


def secret(fields: dict[str, Any]) -> Secret:
    """Returns a secret of a sandbox's options."""
    return Secret(fields["name"], fields["to"], **_source(fields))


def _source(fields: dict[str, Any]) -> dict[str, str]:
    if "value" in fields:
        return {"value": fields["value"]}
    if "from" not in fields:
        return {}
    kind, _, text = fields["from"].partition(":")
    return {SOURCES[kind]: text}


def listed(step: Step, stage: Stage) -> Result:
    """Lists the secrets."""
    secrets = stage.sandbox(step).secrets.list()
    return {
        "names": [secret.name for secret in secrets],
        "sources": [secret.source for secret in secrets],
        "states": [secret.state for secret in secrets],
    }


def set_value(step: Step, stage: Stage) -> None:
    """Gives a secret another value."""
    stage.sandbox(step).secrets.set(step["name"], **_source(step))


def removed(step: Step, stage: Stage) -> None:
    """Removes a secret."""
    stage.sandbox(step).secrets.remove(step["name"])
