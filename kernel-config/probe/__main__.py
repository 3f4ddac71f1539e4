"""Proves the options of msb.config by using them, inside the guest, as root."""

import registry
import devices
import filesystems
import processes
import system_calls

registry.run_all()
