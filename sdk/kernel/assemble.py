"""Copies the guest kernel of a Debian package into a Python or npm package, with licences and source offer.

    assemble.py ARCHIVE PACKAGE KERNEL

ARCHIVE is Debian's binary package of libkrunfw, PACKAGE the directory of the package that is built, and
KERNEL the path of the kernel in it.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = "https://github.com/msb/msb"
LICENCES = Path("/usr/share/common-licenses")
TEMPLATE = Path(__file__).with_name("SOURCE.md")


def field(archive: Path, name: str) -> str:
    """Return a field of the package's control file; empty if it has none."""
    command = ["dpkg-deb", "--field", str(archive), name]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def offer(archive: Path, library: Path) -> str:
    """Return the source offer of a kernel."""
    package, version = field(archive, "Package"), field(archive, "Version")
    # The version of the source stands behind its name if it differs: "libkrunfw (5.5.0+ds-1)".
    source, _, source_version = (field(archive, "Source") or package).partition(" (")
    values = {
        "FILE": library.name,
        "SHA256": hashlib.sha256(library.read_bytes()).hexdigest(),
        "PACKAGE": package,
        "VERSION": version,
        "ARCHITECTURE": field(archive, "Architecture"),
        "SOURCE": source,
        "SOURCE_VERSION": source_version.rstrip(")") or version,
        "REPOSITORY": REPOSITORY,
    }
    text = TEMPLATE.read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def assemble(archive: Path, package: Path, kernel: Path) -> None:
    """Add the kernel, its licences and its source offer to a package."""
    with tempfile.TemporaryDirectory() as name:
        unpacked = Path(name)
        subprocess.run(["dpkg-deb", "--extract", str(archive), name], check=True)
        found = [path for path in unpacked.glob("usr/lib/*/libkrunfw.so.*") if not path.is_symlink()]
        if len(found) != 1:
            sys.exit(f"{archive} holds {len(found)} libraries libkrunfw.so, not one")
        licences = package / "LICENSES"
        licences.mkdir(exist_ok=True)
        shutil.copyfile(found[0], package / kernel)
        (copyright_file,) = unpacked.glob("usr/share/doc/libkrunfw*/copyright")
        shutil.copyfile(copyright_file, licences / "copyright")
        shutil.copyfile(LICENCES / "GPL-2", licences / "GPL-2.0-only")
        shutil.copyfile(LICENCES / "LGPL-2.1", licences / "LGPL-2.1-only")
        (package / "SOURCE.md").write_text(offer(archive, found[0]))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    assemble(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
