#!/usr/bin/env python3
"""Writes the synchronous client, `python/msb/_sync`, from the asynchronous one, `python/msb/_async`.

With `--check` it writes nothing, and fails if a file is not current. `_bridge.py` is written by hand in both.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent / "python" / "msb"
HEADER = "# Generated from _async/{name} by generate_sync.py: edit that file.\n"
BY_HAND = {"_bridge.py"}

#: Expressions and their replacements, applied in this order.
REPLACEMENTS = [
    # A wait becomes a call.
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    # What is awaitable, or opens something, becomes the thing itself.
    (r"\b(?:Opening|Awaitable)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]", r"\1"),
    (r"\bOpening, ", ""),
    (r"\bAwaitable, ", ""),
    # Names of the data model.
    (r"__aenter__", "__enter__"),
    (r"__aexit__", "__exit__"),
    (r"__aiter__", "__iter__"),
    (r"__anext__", "__next__"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\bAsyncIterator\b", "Iterator"),
    # Names of the package.
    (r"\b(_?)Async([A-Z]\w*)", r"\1\2"),
    # Words.
    (r"asynchronous", "synchronous"),
    (r"is cancelled", "is interrupted"),
    (r"was cancelled", "was interrupted"),
    (r"Cancelling the", "Interrupting the"),
]


def synchronous(source: str) -> str:
    """Returns the synchronous form of asynchronous source text."""
    for expression, replacement in REPLACEMENTS:
        source = re.sub(expression, replacement, source)
    return source


def generated() -> dict[Path, str]:
    """Returns the text of each generated file by its path."""
    files: dict[Path, str] = {}
    for source in sorted((PACKAGE / "_async").glob("*.py")):
        if source.name in BY_HAND:
            continue
        text = synchronous(source.read_text())
        if source.name == "__init__.py":
            text = '"""The synchronous client, generated from `_async` by `generate_sync.py`."""\n'
        files[PACKAGE / "_sync" / source.name] = HEADER.format(name=source.name) + text
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if a file is not current"
    )
    is_check = parser.parse_args().check
    files = generated()
    stale = 0
    for path, text in files.items():
        current = path.read_text() if path.exists() else ""
        if current == text:
            continue
        stale += 1
        if is_check:
            lines = difflib.unified_diff(
                current.splitlines(True), text.splitlines(True), str(path), "generated"
            )
            sys.stdout.writelines(lines)
        else:
            path.write_text(text)
            print(f"wrote {path.relative_to(PACKAGE)}")
    unknown = (
        set((PACKAGE / "_sync").glob("*.py"))
        - set(files)
        - {PACKAGE / "_sync" / name for name in BY_HAND}
    )
    for path in sorted(unknown):
        stale += 1
        print(f"{path} has no source in _async", file=sys.stderr)
    if stale and is_check:
        print("the synchronous client is not current: run generate_sync.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
