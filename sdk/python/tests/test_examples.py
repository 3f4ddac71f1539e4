"""Every example runs, and is short."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import IS_LONG

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
    "step_back_and_branch": "print('one')\nC /work/app.py\nprint('two')\ndocker.io/library/example:1\n",
    "staged_directory": "['app.py']\n['LICENSE=read-only']\nprint('two')\n MIT\n",
    "cleaning_up": "example-kept created\ncleanly\nno such sandbox: example-kept\n",
}


#: The examples of docs/sdk-examples.md, by expressions for their whole output.
COMPARED = {
    "root_oci": r"stdout: Hello from msb!\n\nstderr: \nexit code: 0\nuname: Linux .*\n\nos-release:\n(.*\n)*",
    "fs_read_stream": r"(chunk \d+: \d+ bytes\n)+10485760 bytes in all\n",
    "volume_named": r"hello from sandbox A\n\n",
    "net_ports": r"host: Hello from msb!\n\n",
    # Whether this host reaches the server is not known; a sandbox without a network does not.
    "net_policy": r"outbound: \w+\noutbound and a private range: \w+\nnone: FAIL\n",
    "logs_read": r"output: 4 entries\n(  \[\d+\.\d{3}\] std(out|err): .*\n){4}console: \d+ entries\nlast: .*line.*\n",
    "metrics_stream": r"(\[\d\] CPU: \d+\.\d%, memory: [1-9]\d* MB, disk: \d+/\d+ bytes\n){5}",
}


#: The examples that the short form runs.
SHORT = ["run_command", "staged_directory", "step_back_and_branch"]


def test_there_are_fourteen_short_examples():
    files = sorted(EXAMPLES.glob("*.py"))
    assert [file.stem for file in files] == sorted(PRINTED)
    assert len(files) == 14
    assert all(len(file.read_text().splitlines()) < 30 for file in files)


def run(environment, path):
    """Runs an example, and returns its exit code, standard output and standard error."""
    command = [sys.executable, str(path)]
    variables = environment.variables()
    ended = subprocess.run(
        command, env=variables, capture_output=True, text=True, timeout=600, check=False
    )
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.machine
@pytest.mark.parametrize("name", [name for name in PRINTED if PRINTED[name]] if IS_LONG else SHORT)
def test_an_example_prints_what_it_should(environment, name):
    code, stdout, stderr = run(environment, EXAMPLES / f"{name}.py")
    assert (code, stdout) == (0, PRINTED[name]), stderr


def test_every_compared_example_is_run():
    assert {file.stem for file in (EXAMPLES / "compared").glob("*.py")} == set(COMPARED)


if IS_LONG:

    @pytest.mark.machine
    @pytest.mark.parametrize("name", COMPARED)
    def test_a_compared_example_prints_what_it_should(environment, name):
        code, stdout, stderr = run(environment, EXAMPLES / f"compared/{name}.py")
        assert code == 0, stderr
        assert re.fullmatch(COMPARED[name], stdout), stdout
