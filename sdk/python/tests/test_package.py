"""The installed package: its binaries need nothing but glibc."""

import re
import subprocess
from pathlib import Path

import msb
import pytest

PACKAGE = Path(msb.__file__).parent
LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}


def printed(*command):
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    return ended.stdout


@pytest.mark.parametrize("name", ["_native.abi3.so", "_bin/msb"])
def test_a_binary_runs_with_glibc_2_34(name):
    file = PACKAGE / name
    needed = re.findall(r"NEEDED.*\[(.*)\]", printed("readelf", "--dynamic", file))
    assert set(needed) <= LIBRARIES
    versions = re.findall(r"GLIBC_2\.(\d+)", printed("readelf", "--version-info", file))
    assert versions
    assert max(map(int, versions)) <= 34


def test_the_native_module_has_no_hypervisor():
    symbols = printed("readelf", "--dyn-syms", "--wide", PACKAGE / "_native.abi3.so")
    assert "PyInit__native" in symbols
    assert "krun_" not in symbols
    assert b"krun_start_enter" not in (PACKAGE / "_native.abi3.so").read_bytes()
