"""The probes by the options that they prove."""

import os
import traceback

_PROBES = []


def proves(*options):
    """Marks a function that fails with an exception unless the kernel has these options."""

    def register(probe):
        _PROBES.append((options, probe))
        return probe

    return register


def run(modules):
    """Prints one line for each option; the reason why one is missing goes to standard error.

    `modules` names the modules whose probes run; if it is empty, all run.
    """
    for options, probe in _PROBES:
        if modules and probe.__module__ not in modules:
            continue
        try:
            probe()
            verdict = "ok"
        except Exception:
            verdict = "MISSING"
            traceback.print_exc()
        for option in options:
            print(verdict, "CONFIG_" + option, flush=True)


def in_child(action):
    """Runs `action` in a process of its own and fails if it does."""
    child = os.fork()
    if child == 0:
        try:
            action()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, f"the child ended with {status}"
