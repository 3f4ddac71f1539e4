"""Copies msb's guest kernel into a Python or npm package, with its licence and the offer of its source.

    assemble.py VMLINUX PACKAGE KERNEL

VMLINUX is what `cargo xtask kernel-build` prints, with its source beside it; PACKAGE is the directory of the package that is
built, and KERNEL the path of the kernel in it.
"""

import shutil
import sys
from pathlib import Path

LICENCE = Path("/usr/share/common-licenses/GPL-2")


def assemble(vmlinux: Path, package: Path, kernel: Path) -> None:
    """Add the kernel, its licence and its source to a package."""
    built = vmlinux.parent
    shutil.copyfile(vmlinux, package / kernel)
    shutil.copyfile(built / "SOURCE.md", package / "SOURCE.md")
    shutil.copyfile(built / "config", package / "config")
    shutil.copytree(built / "patches", package / "patches", dirs_exist_ok=True)
    licences = package / "LICENSES"
    licences.mkdir(exist_ok=True)
    shutil.copyfile(LICENCE, licences / "GPL-2.0-only")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    assemble(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
