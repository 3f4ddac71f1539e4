"""Keep a cache in a volume, and share a directory of this host."""

import tempfile
from pathlib import Path

from msb import Mount, Msb

USE = "cat /src/input; cat /cache/runs 2>/dev/null; echo run >> /cache/runs"


def main() -> None:
    with Msb() as msb, tempfile.TemporaryDirectory() as directory:
        Path(directory, "input").write_text("input\n")
        mounts = [
            Mount.bind(directory, "/src", read_only=True),
            Mount.volume("example-cache", "/cache"),
        ]
        for _run in range(2):
            with msb.sandboxes.run("python:3-slim", mounts=mounts) as sandbox:
                print(sandbox.shell(USE, check=True).text, end="")
                sandbox.stop()  # The end of the block waits 2 s for the guest; a stop waits longer.
        msb.volumes.remove("example-cache")


if __name__ == "__main__":
    main()
