"""Proves options of the kernel by using them, inside the guest, as root.

The arguments are the modules whose probes run; without any, all run. Those of `devices` and `filesystems` expect the
machine that `cargo xtask kernel-check` starts.
"""

import sys

import registry
import devices
import filesystems
import guest
import networks
import processes
import system_calls

registry.run(sys.argv[1:])
