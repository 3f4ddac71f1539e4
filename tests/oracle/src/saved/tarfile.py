"""Writes the working directory to standard output as a tar in a format of Python's library.

A file that the format cannot hold is left out.
"""

import os
import sys
import tarfile

form = getattr(tarfile, sys.argv[1] + "_FORMAT")
with tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=form) as archive:
    for directory, directories, files in os.walk("."):
        for name in sorted(directories + files):
            try:
                archive.add(os.path.join(directory, name), recursive=False)
            except ValueError:
                pass
