"""The environment of the tests: a home with a test image, and one long-lived sandbox."""

from __future__ import annotations

import asyncio
import functools
import os
import subprocess
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msb
import pytest
from msb import AsyncMsb, AsyncSandbox, Msb, Sandbox
from msb._core import bundled_program, packaged_kernel

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[3]
IMAGE = "python:3-slim"
IS_LONG = "1" in {os.environ.get("MSB_TEST_LONG"), os.environ.get("SDK_TEST_LONG")}


def count(short: int, long: int) -> int:
    """Returns how often a test does what it does: less in the short form."""
    return long if IS_LONG else short


def eventually(condition: Callable[[], bool], timeout_s: float = 60) -> bool:
    """Returns true once the condition holds; false if it does not within the time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "machine: boots a guest, which needs msb, a kernel and a test image"
    )
    # Python 3.12 and later warn of each fork; the tests fork to see what comes of it.
    fork = "ignore:This process .* is multi-threaded:DeprecationWarning"
    for line in ["error", "ignore::msb.MsbWarning", fork]:
        config.addinivalue_line("filterwarnings", line)


def _recipe(name: str) -> str:
    """Returns what a recipe of the build tool prints last: the path of what it made."""
    command = ["cargo", "xtask", name]
    made = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return made.stdout.split()[-1]


@pytest.fixture(scope="session")
def program() -> str | None:
    """The program `msb` under test; `None` if it is the one in the package."""
    given = os.environ.get("MSB_PROGRAM")
    if given or bundled_program() is not None:
        return given
    path = ROOT / "target/debug/msb"
    assert path.exists(), f"{path} does not exist: run cargo build -p msb, or set MSB_PROGRAM"
    return str(path)


@pytest.fixture(scope="session")
def kernel() -> str | None:
    """The guest kernel; `None` if it is that of the package `msb-kernel`."""
    given = os.environ.get("MSB_KERNEL")
    return given if given or packaged_kernel() is not None else _recipe("kernel")


@pytest.fixture(scope="session")
def image_archive() -> str:
    return os.environ.get("SDK_TEST_IMAGE") or _recipe("image")


class Environment:
    """A home with the test image, and how clients of it are opened."""

    def __init__(self, home: Path, program: str | None, kernel: str | None) -> None:
        self.home = home
        self.settings: dict[str, Any] = {"home": home, "program": program, "kernel": kernel}

    def msb(self) -> Msb:
        return Msb(**self.settings)

    def async_msb(self) -> AsyncMsb:
        return AsyncMsb(**self.settings)

    def variables(self) -> dict[str, str]:
        """Returns the environment of programs that open a client with `Msb()`."""
        variables = {
            **os.environ,
            "MSB_HOME": str(self.home),
            "PYTHONPATH": module_path(),
            "PYTHONWARNINGS": "error::ResourceWarning",
        }
        for name in ["program", "kernel"]:
            if self.settings[name]:
                variables[f"MSB_{name.upper()}"] = self.settings[name]
        return variables

    def is_left(self, name: str) -> bool:
        """Returns true if something of the sandbox is left in the home."""
        with self.msb() as client:
            return any(info.name == name for info in client.sandboxes.list())


@pytest.fixture(scope="session")
def environment(
    tmp_path_factory: pytest.TempPathFactory,
    program: str | None,
    kernel: str | None,
    image_archive: str,
) -> Environment:
    environment = Environment(tmp_path_factory.mktemp("home"), program, kernel)
    with environment.msb() as client:
        client.images.load(image_archive, tag=IMAGE)
    return environment


@pytest.fixture(scope="session")
def client(environment: Environment) -> Iterator[Msb]:
    with environment.msb() as client:
        yield client


@pytest.fixture(scope="session")
def sandbox(client: Msb) -> Iterator[Sandbox]:
    """A running sandbox that most tests share."""
    with client.sandboxes.run(IMAGE, name="shared", memory="768M", cpus=1) as sandbox:
        yield sandbox


@pytest.fixture
def with_async(
    environment: Environment, sandbox: Sandbox
) -> Callable[[Callable[[AsyncSandbox], Coroutine[Any, Any, T]]], T]:
    """Returns a function that runs a coroutine with the shared sandbox and an asynchronous client."""

    def run(work: Callable[[AsyncSandbox], Coroutine[Any, Any, T]]) -> T:
        async def main() -> T:
            async with environment.async_msb() as client:
                return await work(await client.sandboxes.get(sandbox.name))

        return asyncio.run(main())

    return run


def guest_pid(sandbox: Sandbox, path: str, timeout_s: float = 60) -> int:
    """Returns the process id that a command writes to a file of the guest, and waits for it."""
    text = ""

    def is_written() -> bool:
        nonlocal text
        try:
            text = sandbox.files.read_text(path)
        except msb.PathNotFound:
            return False
        return text.endswith("\n")

    assert eventually(is_written, timeout_s), f"no command wrote {path}"
    return int(text)


def is_alive(sandbox: Sandbox, pid: int) -> bool:
    """Returns true if the process exists in the guest, and is not a zombie."""
    try:
        status = sandbox.files.read_text(f"/proc/{pid}/stat")
    except msb.MsbError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@functools.cache
def module_path() -> str:
    """Returns the directory that the package was imported from."""
    return str(Path(msb.__file__).parent.parent)
