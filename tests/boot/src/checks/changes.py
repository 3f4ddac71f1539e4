"""Prints the files below some directories, one JSON list a line: path, directory?, time, the rest.

Runs in the guest, and knows nothing of overlayfs.
"""

import hashlib
import json
import os
import stat
import sys


def content(path, here):
    if stat.S_ISREG(here.st_mode):
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
        return [here.st_size, digest.hexdigest()]
    if stat.S_ISLNK(here.st_mode):
        return [os.readlink(path).hex()]
    if stat.S_ISBLK(here.st_mode) or stat.S_ISCHR(here.st_mode):
        return [here.st_rdev]
    return []


def show(path):
    here = os.lstat(path)
    xattrs = sorted(os.listxattr(path, follow_symlinks=False))
    values = [os.getxattr(path, name, follow_symlinks=False).hex() for name in xattrs]
    owner = [here.st_mode, here.st_uid, here.st_gid]
    rest = [owner, content(path, here), list(zip(xattrs, values))]
    print(json.dumps([path.decode(), stat.S_ISDIR(here.st_mode), here.st_mtime_ns, rest]))


for top in sys.argv[1:]:
    for directory, _, names in os.walk(os.fsencode(top)):
        show(directory)
        for name in names:
            show(os.path.join(directory, name))
        for name in os.listdir(directory):
            path = os.path.join(directory, name)
            if os.path.islink(path) and os.path.isdir(path):
                show(path)
