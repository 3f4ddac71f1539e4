"""The guest kernel of msb.

Its licence and the offer of its source are among the licence files of the distribution ``msb-kernel``.
"""

from pathlib import Path

__all__ = ["path"]


def path() -> Path:
    """Return the path of the guest kernel."""
    return Path(__file__).resolve().with_name("vmlinux")
