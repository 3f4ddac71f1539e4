"""Runs a command for which fsync, fdatasync and syncfs succeed and do nothing."""

import ctypes
import os
import platform
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO = 0x7FFF0000, 0x00050000
SYNCS = {"x86_64": (74, 75, 306), "aarch64": (82, 83, 267)}[platform.machine()]

# struct sock_filter: code, jump if true, jump if false, operand.
filters = [(LOAD_WORD, 0, 0, 0)]
for remaining, number in zip(range(len(SYNCS), 0, -1), SYNCS):
    filters.append((JUMP_IF_EQUAL, remaining, 0, number))
# An error of number 0 is success.
filters += [(RETURN, 0, 0, SECCOMP_RET_ALLOW), (RETURN, 0, 0, SECCOMP_RET_ERRNO)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in filters))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(filters), ctypes.addressof(code)))

libc = ctypes.CDLL(None, use_errno=True)
for arguments in (
    (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
    (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0),
):
    if libc.prctl(*arguments) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
os.execv(sys.argv[1], sys.argv[1:])
