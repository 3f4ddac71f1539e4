"""The command `msb`: the program in this package, with the same arguments."""

from __future__ import annotations

import os
import sys

from ._core import bundled_program, packaged_kernel


def main() -> None:
    """Replaces this process by the program `msb`."""
    program = bundled_program()
    if program is None:
        sys.exit(
            "msb: this package was built without the program msb; set MSB_PROGRAM, or install a wheel"
        )
    kernel = packaged_kernel()
    if kernel is not None:
        os.environ.setdefault("MSB_KERNEL", kernel)
    os.execv(program, ["msb", *sys.argv[1:]])


if __name__ == "__main__":
    main()
