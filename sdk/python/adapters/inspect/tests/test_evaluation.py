"""Whole evaluations with a model that is a list of answers."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest
from inspect_ai import Task, eval, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import bash
from msb import Msb

from support import IMAGE, blocks, left

pytestmark = pytest.mark.machine

SAMPLES = 20
CONFIG = f"image: {IMAGE}\nmemory: 256M\ncpus: 1\n"


def with_usage(output: ModelOutput) -> ModelOutput:
    """Sets the usage: without it the model counts tokens, with a table that it fetches."""
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def answer(messages: list[ChatMessage], *_rest: object) -> ModelOutput:
    """Returns the answer of the model: a command that no sample may find already run, and then the end."""
    if messages[-1].role == "tool":
        return with_usage(ModelOutput.from_content("mockllm/model", "done"))
    command = "test ! -e /root/mine && touch /root/mine && cat /proc/sys/kernel/hostname"
    return with_usage(ModelOutput.for_tool_call("mockllm/model", "bash", {"command": command}))


@task
def numbered(config: str) -> Task:
    samples = [Sample(input=f"sample {number}", target="done") for number in range(SAMPLES)]
    return Task(
        dataset=samples,
        solver=[use_tools(bash(timeout=60)), generate()],
        scorer=includes(),
        sandbox=("msb", config),
    )


def test_twenty_samples_have_twenty_sandboxes(home, tmp_path):
    config = tmp_path / "msb.yaml"
    config.write_text(CONFIG)
    (log,) = eval(
        numbered(str(config)),
        model=get_model("mockllm/model", custom_outputs=answer),
        max_samples=4,
        display="none",
        log_dir=str(tmp_path / "logs"),
    )
    assert log.status == "success", log.error
    assert log.results.scores[0].metrics["accuracy"].value == 1.0
    hosts = {
        message.text
        for sample in log.samples
        for message in sample.messages
        if message.role == "tool"
    }
    assert len(hosts) == SAMPLES, hosts
    assert left() == []


def test_the_task_of_the_guide_runs(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "release.py").write_text(blocks("python")[0])
    (tmp_path / "msb.yaml").write_text(blocks("yaml")[0])

    def version(messages: list[ChatMessage], *_rest: object) -> ModelOutput:
        if messages[-1].role == "tool":
            return with_usage(ModelOutput.from_content("mockllm/model", messages[-1].text))
        call = {"command": "python3 --version"}
        return with_usage(ModelOutput.for_tool_call("mockllm/model", "bash", call))

    (log,) = eval(
        "release.py",
        model=get_model("mockllm/model", custom_outputs=version),
        display="none",
        log_dir=str(tmp_path / "logs"),
    )
    assert log.status == "success", log.error
    assert log.results.scores[0].metrics["accuracy"].value == 1.0
    assert left() == []


INTERRUPTED = """
import asyncio
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.solver import solver
from inspect_ai.util import sandbox


@solver
def waits():
    async def solve(state, generate):
        await sandbox().exec(["touch", "/begun"])
        print("begun", flush=True)
        await sandbox().exec(["sleep", "600"])
        return state

    return solve


eval(
    Task(dataset=[Sample(input="a"), Sample(input="b")], solver=waits(), sandbox=("msb", CONFIG)),
    model="mockllm/model",
    display="none",
    log_dir=LOGS,
)
"""


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_evaluation_leaves_no_sandbox(home, tmp_path, ending):
    config, logs = tmp_path / "msb.yaml", tmp_path / "logs"
    config.write_text(CONFIG)
    program = tmp_path / "interrupted.py"
    program.write_text(f"CONFIG = {str(config)!r}\nLOGS = {str(logs)!r}\n{INTERRUPTED}")
    running = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True)
    with running:
        assert running.stdout is not None
        lines = [line for line in (running.stdout.readline() for _ in range(2)) if line]
        assert lines == ["begun\n"] * 2
        running.send_signal(ending)
        running.wait(timeout=120)
    deadline = time.monotonic() + 60
    while left() and time.monotonic() < deadline:
        time.sleep(0.5)
    assert left() == []


def test_the_command_of_inspect_removes_kept_sandboxes(home):
    with Msb() as client:
        client.sandboxes.create(IMAGE, name="kept", labels={"inspect-msb": "1"})
        client.sandboxes.create(IMAGE, name="another")
    cleanup = [sys.executable, "-m", "inspect_ai", "sandbox", "cleanup", "msb"]
    subprocess.run(cleanup, check=True, timeout=120)
    assert left() == ["another"]
    with Msb() as client:
        client.sandboxes.get("another").remove()
