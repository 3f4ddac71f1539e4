"""Gives a sandbox a project of this host, and applies the changes that its rules accept."""

import tempfile
from pathlib import Path

from msb import Mount, Msb


def main() -> None:
    with tempfile.TemporaryDirectory() as project, Msb() as msb:
        Path(project, "app.py").write_text("print('one')\n")
        Path(project, "LICENSE").write_text("MIT\n")
        work = Mount.staged(project, "/work", rules=["target=hide", "LICENSE=read-only"])
        with msb.sandboxes.run("python:3-slim", mounts=[work]) as sandbox:
            sandbox.files.write("/work/app.py", "print('two')\n")  # This host's file is unchanged.
            sandbox.files.write("/work/LICENSE", "mine\n")
            for directory in sandbox.apply(dry_run=True):  # What would be written.
                print([change.path for change in directory.changes])
                print([refused.rule for refused in directory.refused])
            sandbox.apply()
        print(Path(project, "app.py").read_text(), Path(project, "LICENSE").read_text(), end="")


if __name__ == "__main__":
    main()
