#!/usr/bin/env python3
"""Packs a wheel from a native module that cargo has built already, and prints its path.

`maturin build` compiles the module alone, with other features of its dependencies than a build of the whole
workspace: the tests would compile most of the workspace a second time. Packages for users are built by maturin.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
MODULE = "msb/_native.abi3.so"
PROGRAM = "msb/_bin/msb"


def metadata(directory: Path) -> Path:
    """Returns the `dist-info` directory that maturin writes."""
    maturin = [str(Path(sys.executable).with_name("maturin")), "pep517", "write-dist-info"]
    arguments = ["--metadata-directory", str(directory), "--interpreter", sys.executable]
    subprocess.run([*maturin, *arguments], cwd=SOURCE, check=True, stdout=subprocess.DEVNULL)
    return next(directory.glob("*.dist-info"))


def contents(native: Path, program: Path, dist_info: Path) -> dict[str, Path]:
    """Returns the file of each path in the wheel."""
    sources = SOURCE / "python"
    modules = [*sources.rglob("*.py"), *sources.rglob("*.pyi"), *sources.rglob("py.typed")]
    files = {str(path.relative_to(sources)): path for path in sorted(modules)}
    files |= {MODULE: native, PROGRAM: program}
    return files | {f"{dist_info.name}/{path.name}": path for path in dist_info.iterdir()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ["native", "program", "out"]:
        parser.add_argument(name, type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        dist_info = metadata(Path(directory))
        tag = (dist_info / "WHEEL").read_text().split("Tag: ")[1].split()[0]
        wheel = given.out / f"{dist_info.name.removesuffix('.dist-info')}-{tag}.whl"
        # Level 1: the wheel is installed once and removed.
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            record = []
            for name, path in contents(given.native, given.program, dist_info).items():
                data = path.read_bytes()
                entry = zipfile.ZipInfo(name)
                entry.external_attr = (0o100755 if name == PROGRAM else 0o100644) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, data)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
                record.append(f"{name},sha256={digest.decode()},{len(data)}\n")
            own = f"{dist_info.name}/RECORD"
            archive.writestr(own, "".join([*record, f"{own},,\n"]))
    sys.stdout.write(f"{wheel}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
