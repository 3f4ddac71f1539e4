#!/usr/bin/env python3
"""Compares the time of a command by each SDK with that by the protocol's client, which the command line uses.

Starts one sandbox, lets the programs of all languages take turns in it, and prints the median of each over all rounds,
and its distance from the client's in the same round. Short turns keep a change of the machine's speed out of the distance.
The packages are the release builds that `cargo xtask sdk --out DIR` has installed below target/xtask/sdk.

    cargo xtask sdk --out DIR && python3 sdk/bench/overhead.py [--rounds 20] [--count 100]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
INSTALLED = REPOSITORY / "target/xtask/sdk"
NAME = "sdk-overhead"


def programs() -> list[list[str]]:
    """Returns the command of each language's program."""
    script = INSTALLED / "user-typescript/exec_time.mjs"
    # The package is found from the folder of the program.
    script.write_bytes((HERE / "exec_time.mjs").read_bytes())
    return [
        [str(REPOSITORY / "target/release/examples/exec_time")],
        [str(INSTALLED / "user-python/venv/bin/python"), str(HERE / "exec_time.py")],
        ["node", str(script)],
    ]


def one_round(count: int) -> dict[str, float]:
    """Returns the median of each client's commands, in µs."""
    found: dict[str, float] = {}
    for command in programs():
        run = subprocess.run([*command, NAME, str(count)], capture_output=True, text=True, check=True)
        found.update(json.loads(run.stdout))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="how often each program has its turn")
    parser.add_argument("--count", type=int, default=100, help="commands of each client in a turn")
    parser.add_argument("--image", default="python:3-slim", help="an image in the store of MSB_HOME")
    arguments = parser.parse_args()
    build = ["cargo", "build", "--release", "--locked", "-p", "msb", "-p", "msb-sdk", "--bin", "msb", "--example", "exec_time"]
    subprocess.run(build, cwd=REPOSITORY, check=True)
    os.environ["MSB_PROGRAM"] = msb = str(REPOSITORY / "target/release/msb")
    start = [msb, "run", "--detach", "--name", NAME, "--pull", "never", arguments.image, "sleep", "infinity"]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL)
    try:
        rounds = [one_round(arguments.count) for _round in range(arguments.rounds)]
    finally:
        subprocess.run([msb, "rm", "--force", NAME], check=True, stdout=subprocess.DEVNULL)
    print("| Client | Median | More than the client's |")
    print("|---|---:|---:|")
    for client in rounds[0]:
        median_us = statistics.median(found[client] for found in rounds)
        more_us = statistics.median(found[client] - found["client"] for found in rounds)
        print(f"| {client} | {median_us / 1000:.3f} ms | {more_us / 1000:+.3f} ms |")


main()
