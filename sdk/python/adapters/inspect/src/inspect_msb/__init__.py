"""Sandboxes of msb for evaluations with Inspect.

Installing the package is enough: a task with `sandbox="msb"` finds it.
"""

from ._config import MsbConfig
from ._environment import MsbSandboxEnvironment

__all__ = ["MsbConfig", "MsbSandboxEnvironment"]
