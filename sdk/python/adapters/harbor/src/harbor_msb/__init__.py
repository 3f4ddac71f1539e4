"""Sandboxes of msb for Harbor: `harbor run --env harbor_msb:MsbEnvironment`."""

from ._environment import MsbEnvironment
from ._options import MsbOptions

__all__ = ["MsbEnvironment", "MsbOptions"]
