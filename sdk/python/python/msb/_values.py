"""Values on their way to and from the native module: JSON, text of guests, durations."""

from __future__ import annotations

import base64
import dataclasses
import enum
import functools
import json
import math
import os
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar, Union

from .errors import InvalidArgument

T = TypeVar("T")

Text = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
"""An argument, a variable or a path of a guest. A `str` may hold other bytes than UTF-8 as `os.fsdecode` returns
them."""

Duration = Union[float, timedelta]
"""A time in seconds, or a `timedelta`."""

Size = Union[int, str]
"""A number of bytes, or text with K, M, G or T: `"512M"`."""


def text(value: Text) -> str | dict[str, str]:
    """Returns text of a guest as it is written in JSON."""
    raw = os.fspath(value)
    if isinstance(raw, str):
        try:
            raw.encode()
            return raw
        except UnicodeEncodeError:
            raw = raw.encode("utf-8", "surrogateescape")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(raw).decode("ascii")}


def read_text(value: Any) -> str:
    """Returns text of a guest; bytes that are not UTF-8 become surrogates, as with `os.fsdecode`."""
    if isinstance(value, str):
        return value
    return base64.b64decode(value["bytes"]).decode("utf-8", "surrogateescape")


def host_path(value: str | os.PathLike[str]) -> str:
    """Returns a path of the host as text."""
    return os.fspath(value)


def argv(words: Sequence[Text]) -> list[str | dict[str, str]]:
    """Returns a command as it is written in JSON."""
    if isinstance(words, (str, bytes)):
        raise InvalidArgument(
            f"the command {words!r} is not a list of arguments",
            hint="pass a list, or use shell() for text that a shell interprets",
        )
    return [text(word) for word in words]


def paths(values: Sequence[Text]) -> list[str | dict[str, str]]:
    """Returns paths of a guest as they are written in JSON."""
    if isinstance(values, (str, bytes)):
        raise InvalidArgument(f"{values!r} is not a list of paths", hint=f"pass [{values!r}]")
    return [text(value) for value in values]


def environment(variables: Mapping[str, Text] | None) -> dict[str, Any]:
    """Returns environment variables as they are written in JSON."""
    return {name: text(value) for name, value in (variables or {}).items()}


def milliseconds(value: Duration | None, name: str) -> int | None:
    """Returns a duration in whole milliseconds, rounded up; `None` for `None`."""
    if value is None:
        return None
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if not math.isfinite(seconds) or seconds < 0:
        raise InvalidArgument(f"{name}={value!r} is not a time in seconds from 0")
    return math.ceil(seconds * 1000)


def seconds(value: Duration | None) -> str:
    """Returns a duration as a number of seconds, for a message."""
    return f"{(milliseconds(value, 'timeout') or 0) / 1000:g}"


def dumps(parameters: Mapping[str, Any]) -> str:
    """Returns parameters as JSON, without those that are `None`."""
    given = {name: value for name, value in parameters.items() if value is not None}
    try:
        return json.dumps(given)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"cannot use an argument: {error}") from None


@functools.cache
def _fields(kind: type[Any]) -> tuple[dict[str, Callable[[Any], Any]], bool]:
    hints = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    has_rest = "rest" in names
    return {name: _reader(hints[name]) for name in names if name != "rest"}, has_rest


def _reader(hint: Any) -> Callable[[Any], Any]:
    """Returns the function that reads a value of this type from JSON."""
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin in (Union, types.UnionType):
        inner = [argument for argument in arguments if argument is not type(None)]
        if len(inner) == 1:
            read = _reader(inner[0])
            return lambda value: None if value is None else read(value)
        return lambda value: value
    if origin in (list, tuple):
        return functools.partial(_items, origin, _reader(arguments[0]))
    if origin is dict:
        read = _reader(arguments[1])
        return lambda value: {key: read(item) for key, item in value.items()}
    if isinstance(hint, type):
        if dataclasses.is_dataclass(hint):
            return functools.partial(decode, hint)
        if issubclass(hint, enum.Enum):
            return functools.partial(_member, hint)
        if hint is str:
            return lambda value: value if value is None else read_text(value)
    return lambda value: value


def _items(make: Callable[[Any], Any], read: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else make([read(item) for item in value])


def _member(kind: type[enum.Enum], value: Any) -> Any:
    try:
        return kind(value)
    except ValueError:
        # A word that is newer than this package.
        return value


def decode(kind: type[T], value: Any) -> T:
    """Returns a dataclass from a JSON object. Fields that it does not have are in its field `rest`, if there is one."""
    hashable: Any = kind
    readers, has_rest = _fields(hashable)
    known = {name: read(value[name]) for name, read in readers.items() if name in value}
    if has_rest:
        known["rest"] = {name: item for name, item in value.items() if name not in readers}
    return kind(**known)
