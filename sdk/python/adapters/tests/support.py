"""The environment of the adapters' tests: a home with a test image, which their own clients find by variables."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msb import Msb

ROOT = Path(__file__).resolve().parents[4]
GUIDE = ROOT / "docs/guide/evaluation.md"
IMAGE = "python:3-slim"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "machine: boots a guest, which needs msb, a kernel and a test image"
    )


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the test image, which `MSB_HOME` names."""
    image = os.environ.get("SDK_TEST_IMAGE")
    if image is None:
        recipe = ["cargo", "xtask", "image"]
        made = subprocess.run(recipe, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        image = made.stdout.split()[-1]
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MSB_HOME", str(home))
        # Logs and the samples' store of Inspect, too.
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        with Msb() as client:
            client.images.load(image, tag=IMAGE)
        yield home


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def left() -> list[str]:
    """Returns the names of the sandboxes in the home."""
    with Msb() as client:
        return [info.name for info in client.sandboxes.list()]


def blocks(language: str) -> list[str]:
    """Returns the fenced blocks in a language of the guide for evaluations."""
    text = GUIDE.read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
