"""Make a file in a sandbox, and read it as a stream."""

from msb import Msb

FILE_SIZE = 10 * 1024 * 1024

with Msb() as msb, msb.sandboxes.run("python:3-slim", cpus=1, memory="512M") as sandbox:
    sandbox.shell("dd if=/dev/urandom of=/tmp/data.bin bs=1M count=10", check=True)
    total = 0
    for number, chunk in enumerate(sandbox.files.read_stream("/tmp/data.bin"), 1):
        total += len(chunk)
        print(f"chunk {number}: {len(chunk)} bytes")
    print(f"{total} bytes in all")
    assert total == FILE_SIZE
