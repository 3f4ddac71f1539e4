"""Options on their way to the native module."""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _names, _values
from ._types import (
    Mount,
    Network,
    Port,
    Ports,
    RootDisk,
    Rule,
    SandboxOptions,
    Secret,
    TerminalSize,
    Ulimit,
)
from ._values import Duration, Size, Text
from .errors import InvalidArgument


def sandbox(image: str, function: str, options: SandboxOptions) -> dict[str, Any]:
    """Returns the options of a new sandbox as they are written in JSON."""
    parameters: dict[str, Any] = {"image": image}
    for name, value in options.items():
        if name not in SandboxOptions.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
        if value is None:
            continue
        if name in _DURATIONS:
            parameters[f"{name}_ms"] = _values.milliseconds(_duration(value), name)
        else:
            convert = _CONVERSIONS.get(name, _plain)
            parameters[name] = convert(value)
    return parameters


def command(
    argv: Sequence[Text],
    *,
    env: Mapping[str, Text] | None,
    cwd: Text | None,
    user: str | int | None,
    groups: Sequence[str] | None,
    ulimits: Mapping[str, Ulimit] | None,
    snapshot: bool | None,
) -> dict[str, Any]:
    """Returns the options of a command as they are written in JSON."""
    return {
        "argv": _values.argv(argv),
        "env": _values.environment(env) if env else None,
        "cwd": None if cwd is None else _values.text(cwd),
        "user": _user(user),
        "groups": _texts(groups) if groups else None,
        "ulimits": _ulimits(ulimits) if ulimits else None,
        "snapshot": snapshot,
    }


def _user(user: Any) -> str | None:
    """Returns a user by name or number."""
    if user is None or isinstance(user, str):
        return user
    if isinstance(user, int) and not isinstance(user, bool):
        return str(user)
    raise TypeError(f"user must be str or int, not {type(user).__name__}")


def terminal(size: TerminalSize | None) -> dict[str, int] | None:
    """Returns the size of a terminal as it is written in JSON; `None` if there is no terminal."""
    if size is None or size is False:
        return None
    rows, cols = (24, 80) if size is True else size
    return {"rows": rows, "cols": cols}


def size(value: Size | None) -> Size | None:
    """Returns a size as it is written in JSON."""
    return value


def _duration(value: Any) -> Duration:
    duration: Duration = value
    return duration


def _plain(value: Any) -> Any:
    """Returns a value, or a copy of a mapping that can be written in JSON."""
    return dict(value) if issubclass(type(value), Mapping) else value


def _texts(values: Sequence[str]) -> list[str]:
    if isinstance(values, str):
        raise InvalidArgument(f"'{values}' is not a list")
    return list(values)


def _ulimits(limits: Mapping[str, Ulimit]) -> dict[str, Any]:
    def written(limit: Ulimit) -> Any:
        if isinstance(limit, int):
            return limit
        soft, hard = limit
        return {"soft": soft, "hard": hard}

    return {name: written(limit) for name, limit in limits.items()}


def _root_disk(disk: RootDisk) -> dict[str, Any]:
    return {**dataclasses.asdict(disk), "path": os.fspath(disk.path)}


def _mounts(mounts: Sequence[Mount]) -> list[dict[str, Any]]:
    def written(mount: Mount) -> dict[str, Any]:
        fields = {**dataclasses.asdict(mount), "rules": [_rule(rule) for rule in mount.rules]}
        return {name: value for name, value in fields.items() if value is not None}

    return [written(mount) for mount in mounts]


def _rule(rule: Rule | str) -> Any:
    if isinstance(rule, Rule):
        return {"path": _values.text(rule.path), "state": rule.state}
    return rule


def _port(guest: int | str, host: int | None) -> dict[str, Any]:
    """Returns a published port, of which a text may name the protocol: `53/udp`."""
    if isinstance(guest, int):
        return {"guest_port": guest, "host_port": host or 0}
    number, _, protocol = guest.partition("/")
    if not number.isdecimal():
        raise InvalidArgument(
            f"'{guest}' is not a port of the sandbox", hint="write 80, '80/tcp' or '53/udp'"
        )
    return {"guest_port": int(number), "host_port": host or 0, "protocol": protocol or "tcp"}


def _ports(ports: Ports) -> list[Any]:
    if isinstance(ports, Mapping):
        return [_port(guest, host) for guest, host in ports.items()]
    try:
        listed = [*ports]
    except TypeError:
        raise TypeError(f"ports must be a dict or a list, not {type(ports).__name__}") from None
    return [dataclasses.asdict(port) if isinstance(port, Port) else port for port in listed]


def network(given: Network | str) -> Any:
    value: Any = given
    if isinstance(value, str):
        return value
    if not isinstance(value, Network):
        raise TypeError(
            "network must be a Network, or 'outbound', 'listed' or 'none', "
            f"not {type(value).__name__}"
        )
    return {
        "mode": value.mode,
        "allow": _texts(value.allow),
        "deny": _texts(value.deny),
        "dns": _texts(value.dns),
        "ask": value.ask,
        "upstream_proxy": value.upstream_proxy,
        "log": value.log,
    }


def secret_source(
    *,
    env: str | None,
    file: str | os.PathLike[str] | None,
    command: str | Sequence[str] | None,
    value: str | None,
) -> dict[str, str]:
    """Returns the source of a secret's value as it is written in JSON; empty if none is given."""
    sources = {
        "env": env,
        "file": None if file is None else os.fspath(file),
        "cmd": command if command is None or isinstance(command, str) else shlex.join(command),
        "value": value,
    }
    given = {kind: text for kind, text in sources.items() if text is not None}
    if len(given) > 1:
        raise InvalidArgument("a secret has more than one of env, file, command and value")
    if "value" in given:
        return {"value": given["value"]}
    return {"from": f"{kind}:{text}" for kind, text in given.items()}


def _secrets(secrets: Sequence[Secret]) -> list[dict[str, Any]]:
    return [_secret(secret) for secret in secrets]


def _secret(given: Secret) -> dict[str, Any]:
    secret: Any = given
    if not isinstance(secret, Secret):
        # The text of the value may be among the wrong ones.
        raise TypeError(f"secrets must be a list of Secret, not of {type(secret).__name__}")
    every_ms = _values.milliseconds(secret.every, "every")
    fields = {
        "name": secret.name,
        "to": _texts(secret.to),
        "every_s": None if every_ms is None else -(-every_ms // 1000),
        "in": secret.placement,
        "as": secret.prefix,
        "file": secret.guest_file,
        **secret_source(
            env=secret.env, file=secret.file, command=secret.command, value=secret.value
        ),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _copy(files: Mapping[str | os.PathLike[str], str]) -> list[dict[str, str]]:
    return [
        {"source": os.fspath(source), "destination": destination}
        for source, destination in files.items()
    ]


def _hosts(hosts: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"names": [name], "address": address} for name, address in hosts.items()]


def _restart(policy: str) -> Any:
    word, _, retries = policy.partition(":")
    if word != "on-failure":
        return policy
    if not retries:
        return {"on-failure": {}}
    if not retries.isdecimal():
        raise InvalidArgument(f"'{policy}' is not a restart policy", hint="write on-failure:3")
    return {"on-failure": {"retries_max": int(retries)}}


_DURATIONS = frozenset({"max_duration", "idle_timeout", "stop_timeout", "boot_timeout"})

_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "command": _values.argv,
    "env": _values.environment,
    "groups": _texts,
    "ulimits": _ulimits,
    "tty": terminal,
    "window": terminal,
    "mounts": _mounts,
    "root_disk": _root_disk,
    "ports": _ports,
    "network": network,
    "secrets": _secrets,
    "copy": _copy,
    "make_directories": lambda paths: [{"path": path} for path in _texts(paths)],
    "remove_paths": _texts,
    "hosts": _hosts,
    "restart": _restart,
    "labels": dict,
    "limits": dict,
    "tls_ca": os.fspath,
    "user": _user,
    "from_sandbox": _names.side,
}
