"""Read the output of a main command, and the console of its machine, after the end."""

from msb import Msb

SCRIPT = "echo line one; echo line two; echo error line 1>&2; echo line three"

with Msb() as msb:
    sandbox = msb.sandboxes.create("python:3-slim", command=["sh", "-c", SCRIPT], memory="512M")
    sandbox.start()
    sandbox.wait()
    entries = list(sandbox.logs())
    print(f"output: {len(entries)} entries")
    for entry in entries:
        print(f"  [{entry.time_s:.3f}] {entry.stream}: {entry.text.rstrip()}")
    print(f"console: {len(list(sandbox.logs(source='console')))} entries")
    for entry in sandbox.logs(tail=1):
        print(f"last: {entry.text.rstrip()}")
    sandbox.remove()
