"""A whole trial, with the command of Harbor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import blocks, left

pytestmark = pytest.mark.machine

NAME = """
schema_version = "1.1"

[task]
name = "msb/hello"

"""
SOLUTION = "#!/bin/bash\necho 'Hello, world!' > hello.txt\n"
TESTS = """#!/bin/bash
if [ "$(cat hello.txt)" = 'Hello, world!' ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""


def task(directory: Path) -> Path:
    """Writes the task, whose file `hello.txt` has to have a content."""
    files = {
        "task.toml": NAME + blocks("toml")[0],
        "instruction.md": "Write 'Hello, world!' to hello.txt.\n",
        "solution/solve.sh": SOLUTION,
        "tests/test.sh": TESTS,
    }
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(0o755)
    (directory / "environment").mkdir()
    return directory


@pytest.mark.parametrize(("agent", "reward"), [("oracle", 1.0), ("nop", 0.0)])
def test_the_reference_solution_scores_and_doing_nothing_does_not(home, tmp_path, agent, reward):
    command = [
        str(Path(sys.executable).with_name("harbor")),
        "run",
        "--path",
        str(task(tmp_path / "hello")),
        "--agent",
        agent,
        "--env",
        "harbor_msb:MsbEnvironment",
        "--jobs-dir",
        str(tmp_path / "jobs"),
        "--quiet",
    ]
    ended = subprocess.run(
        command,
        env={**os.environ, "HARBOR_TELEMETRY": "0"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    results = [json.loads(path.read_text()) for path in (tmp_path / "jobs").glob("*/*/result.json")]
    assert len(results) == 1, ended.stdout
    assert results[0]["exception_info"] is None, results[0]["exception_info"]
    assert results[0]["verifier_result"]["rewards"] == {"reward": reward}
    assert left() == []
