"""Proves options of the kernel by using them, inside the guest, as root."""

import registry
import devices
import filesystems
import guest
import networks
import processes
import system_calls

registry.run_all()
