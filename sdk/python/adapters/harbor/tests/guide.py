"""The blocks of the guide for evaluations."""

from __future__ import annotations

import re

from conftest import ROOT


def blocks(language: str) -> list[str]:
    """Returns the fenced blocks in a language."""
    text = (ROOT / "docs/guide/evaluation.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
