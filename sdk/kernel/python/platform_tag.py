"""Gives the wheel the tag of the platform that its kernel is for."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformTag(BuildHookInterface):  # type: ignore[type-arg]
    """Sets the tag of the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Marks the wheel as one of Linux on x86-64."""
        build_data["tag"] = "py3-none-manylinux2014_x86_64"
        build_data["pure_python"] = False
