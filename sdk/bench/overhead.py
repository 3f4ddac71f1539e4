#!/usr/bin/env python3
"""Compares the time of a command by each SDK with that by the protocol's client, which the command line uses.

Starts one sandbox, lets the programs of all languages take turns in it, and prints the median of each over all rounds,
and its distance from the client's. The packages are those that `cargo xtask sdk` has installed below target/xtask/sdk.

    python3 sdk/bench/overhead.py [--rounds 5] [--count 1000]
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
        [str(REPOSITORY / "target/debug/examples/exec_time")],
        [str(INSTALLED / "user-python/venv/bin/python"), str(HERE / "exec_time.py")],
        ["node", str(script)],
    ]


def measure(count: int, rounds: int) -> dict[str, float]:
    """Returns the median of each client over all rounds, in µs."""
    found: dict[str, list[float]] = {}
    for _round in range(rounds):
        for command in programs():
            run = subprocess.run([*command, NAME, str(count)], capture_output=True, text=True, check=True)
            for client, median_us in json.loads(run.stdout).items():
                found.setdefault(client, []).append(median_us)
    return {client: statistics.median(medians) for client, medians in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="how often each program has its turn")
    parser.add_argument("--count", type=int, default=1000, help="commands of each client in a turn")
    parser.add_argument("--image", default="python:3-slim", help="an image in the store of MSB_HOME")
    arguments = parser.parse_args()
    os.environ["MSB_PROGRAM"] = msb = str(REPOSITORY / "target/debug/msb")
    start = [msb, "run", "--detach", "--name", NAME, "--pull", "never", arguments.image, "sleep", "infinity"]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL)
    try:
        medians = measure(arguments.count, arguments.rounds)
    finally:
        subprocess.run([msb, "rm", "--force", NAME], check=True, stdout=subprocess.DEVNULL)
    print("| Client | Median | More than the client's |")
    print("|---|---:|---:|")
    for client, median_us in medians.items():
        print(f"| {client} | {median_us / 1000:.3f} ms | {(median_us - medians['client']) / 1000:+.3f} ms |")


main()
