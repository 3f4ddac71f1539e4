"""The entry point of the package: importing it registers the sandbox environment with Inspect."""

from ._environment import MsbSandboxEnvironment

__all__ = ["MsbSandboxEnvironment"]
