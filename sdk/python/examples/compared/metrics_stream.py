"""Watch the statistics of a sandbox while it works."""

from itertools import islice

from msb import Msb

with Msb() as msb, msb.sandboxes.run("python:3-slim", cpus=1, memory="512M") as sandbox:
    sandbox.jobs.start(["dd", "if=/dev/urandom", "of=/dev/null", "bs=1M", "count=100"])
    for number, sample in enumerate(islice(sandbox.watch_stats(1.0), 5)):
        memory, guest = sample.host.memory_bytes // 1024 // 1024, sample.guest
        disk = f"{guest.disk_read_bytes}/{guest.disk_written_bytes}" if guest else "unknown"
        print(f"[{number}] CPU: {sample.cpu_percent:.1f}%, memory: {memory} MB, disk: {disk} bytes")
