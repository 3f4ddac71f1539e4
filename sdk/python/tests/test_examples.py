"""Every example runs, and is short."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

PRINTED = {
    "run_command": "42\n3 no\n",
    "stream_build": "stdout: configure\nstdout: compile\nstdout: test\nstderr: warning\nexit code 0\n",
    "agent_sandbox": "remembered\n",
    "files_in_and_out": "hello\n['greeting.txt']\nhello\npath-not-found\n",
    "server_and_port": "served\n",
    "no_network": "1 OSError: [Errno 101] Network is unreachable\nlo\n",
    "allow_list": "example.com denied\n['pypi.org:443', '*.pythonhosted.org:443']\n",
    "volumes_and_caches": "input\ninput\nrun\n",
    "limits": "command-timeout b'started\\n'\noutput-limit 1048576\n256\n",
    "parallel": "[6, 12]\n",
    "pull_progress": None,
    "cleaning_up": "example-kept created\ncleanly\nno such sandbox: example-kept\n",
}


def test_there_are_twelve_short_examples():
    files = sorted(EXAMPLES.glob("*.py"))
    assert [file.stem for file in files] == sorted(PRINTED)
    assert len(files) == 12
    assert all(len(file.read_text().splitlines()) < 30 for file in files)


@pytest.mark.machine
@pytest.mark.parametrize("name", [name for name, printed in PRINTED.items() if printed])
def test_an_example_prints_what_it_should(environment, name):
    command = [sys.executable, str(EXAMPLES / f"{name}.py")]
    ended = subprocess.run(
        command,
        env=environment.variables(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, PRINTED[name]), ended.stderr
