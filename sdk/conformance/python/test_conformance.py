"""The behaviours of sdk/conformance in Python. Each of them is reported under its id."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msb
import pytest
from behaviours import data, fill, read
from msb import Msb
from steps import Stage, options, perform

DATA = read()
IMAGE = "python:3-slim"


def unique(prefix: str) -> str:
    """Returns a name that no other test uses."""
    return f"{prefix}-{os.getpid()}-{time.monotonic_ns() // 1000}"


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The two sandboxes that most behaviours share."""
    settings = {"home": tmp_path_factory.mktemp("home")}
    variables: dict[str, Any] = {
        "host": str(tmp_path_factory.mktemp("host")),
        "sandbox": unique("conformance"),
        "volume": unique("volume"),
        "image": IMAGE,
    }
    for file in fill(DATA["files"], variables):
        Path(file["path"]).parent.mkdir(parents=True, exist_ok=True)
        Path(file["path"]).write_bytes(data(file["data"]))
    with Msb(**settings) as client:
        client.images.load(os.environ["SDK_TEST_IMAGE"], tag=IMAGE)
        finished = client.sandboxes.create(IMAGE, **options(DATA["finished"]["options"]))
        finished.start()
        finished.wait()
        filled = fill(DATA["main"]["options"], variables)
        with client.sandboxes.run(IMAGE, **options(filled)) as main:
            sandboxes = {"main": main, "finished": finished}
            yield Stage(client, IMAGE, sandboxes, variables, settings)
        finished.remove()


@pytest.mark.parametrize("behaviour", DATA["behaviours"], ids=lambda behaviour: behaviour["id"])
def test_behaviour(behaviour: dict[str, Any], world: Stage) -> None:
    name = behaviour["id"]
    host = Path(world.variables["host"]) / name
    host.mkdir()
    guest = f"/tmp/{name}"
    variables = {**world.variables, "guest": guest, "host": str(host), "unique": unique(name)}
    stage = Stage(world.client, IMAGE, world.sandboxes, variables, world.settings)
    world.sandboxes["main"].files.mkdir(guest, parents=True)
    try:
        for number, template in enumerate(behaviour["steps"], 1):
            step = fill(template, stage.variables)
            where = f"step {number}, {step['do']}"
            if "error" in step:
                with pytest.raises(msb.MsbError) as raised:
                    perform(step, stage)
                check_error(raised.value, step["error"])
            else:
                check_result(perform(step, stage), step.get("expect", {}), where)
    finally:
        stage.close()


def check_result(result: dict[str, Any], expected: dict[str, Any], where: str) -> None:
    """Checks each expected field of a result."""
    for field, value in expected.items():
        assert field in result, f"{where}: the result has no {field}"
        found = result[field]
        wanted = data(value) if isinstance(found, bytes) else value
        assert found == wanted, f"{where}: {field}"


def check_error(error: msb.MsbError, expected: dict[str, Any]) -> None:
    """Checks that an error is the expected one. A kind may be one of several, separated by `|`."""
    kind = type(error).__name__
    assert kind in expected["kind"].split("|"), f"{kind} ({error})"
    assert error.code == re.sub(r"(?<!^)(?=[A-Z])", "-", kind).lower()
    assert str(expected.get("message", "")) in error.message
    if expected.get("hint"):
        assert error.hint, f"'{error.message}' has no hint"
    for name, value in expected.get("details", {}).items():
        assert error.details[name] == value
    for stream in ("stdout", "stderr"):
        if stream in expected:
            assert getattr(error, stream) == expected[stream].encode()
    if "stdout_bytes_max" in expected:
        assert 0 < len(error.stdout) <= expected["stdout_bytes_max"]
