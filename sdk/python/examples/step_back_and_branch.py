"""Steps back to a snapshot, tries another way from it, and puts that into a directory of this host."""

import tempfile
from pathlib import Path

from msb import Msb


def main() -> None:
    with Msb() as msb, msb.sandboxes.run("python:3-slim") as sandbox:
        sandbox.files.write("/work/app.py", "print('one')\n", parents=True)
        ready = sandbox.snapshots.create("ready")
        sandbox.shell("rm -r /work", check=True)
        sandbox.rollback(ready)  # The files are those of the snapshot; the machine stays up.
        print(sandbox.files.read_text("/work/app.py"), end="")
        with sandbox.branch(snapshot=ready) as attempt:  # Another sandbox, which shares the files.
            attempt.files.write("/work/app.py", "print('two')\n")
            with msb.diff(ready, attempt, paths=["/work"]) as diff:
                for change in diff:
                    print(change.letter, change.path)
            with tempfile.TemporaryDirectory() as project:
                Path(project, "app.py").write_text("print('one')\n")
                attempt.apply(project, ["/work/app.py"], from_path="/work", base=ready)
                print(Path(project, "app.py").read_text(), end="")
            print(attempt.commit("example:1").name)


if __name__ == "__main__":
    main()
