"""Write, read, list and copy the files of a sandbox."""

import tempfile
from pathlib import Path

from msb import Msb, PathNotFound


def main() -> None:
    with Msb() as msb, msb.sandboxes.run("python:3-slim") as sandbox:
        files = sandbox.files
        files.write("/data/greeting.txt", "hello\n", parents=True)
        print(files.read_text("/data/greeting.txt"), end="")
        print([info.name for info in files.list("/data")])
        with tempfile.TemporaryDirectory() as directory:
            files.download("/data", directory)
            print(Path(directory, "data", "greeting.txt").read_text(), end="")
        try:
            files.read("/data/missing.txt")
        except PathNotFound as error:
            print(error.code)


if __name__ == "__main__":
    main()
