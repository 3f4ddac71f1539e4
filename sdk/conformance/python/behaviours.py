"""The behaviours as data."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path
from typing import Any

_VARIABLE = re.compile(r"\$\{(\w+)\}")


def read() -> dict[str, Any]:
    """Returns the file of behaviours."""
    path = Path(__file__).resolve().parents[1] / "behaviours.json"
    behaviours: dict[str, Any] = json.loads(path.read_text())
    assert behaviours["format"] == 1
    return behaviours


def data(value: Any) -> bytes:
    """Returns the bytes of text, bytes or repeated text."""
    if isinstance(value, str):
        return value.encode()
    if "bytes" in value:
        return base64.b64decode(value["bytes"])
    repeated: str = value["repeat"] * value["count"]
    return repeated.encode()


def text(value: Any) -> Any:
    """Returns an argument or a path as the SDK takes it: bytes for what is not UTF-8."""
    return value if value is None or isinstance(value, str) else data(value)


def written(name: str) -> Any:
    """Returns a name of a guest as the data has it."""
    raw = os.fsencode(name)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(raw).decode()}


def fill(value: Any, variables: dict[str, Any]) -> Any:
    """Returns a value with the variables `${name}` replaced; text that is one variable gets its value."""
    if isinstance(value, str):
        whole = _VARIABLE.fullmatch(value)
        if whole and whole[1] in variables:
            return variables[whole[1]]
        return _VARIABLE.sub(lambda found: str(variables.get(found[1], found[0])), value)
    if isinstance(value, list):
        return [fill(item, variables) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, variables) for key, item in value.items()}
    return value
