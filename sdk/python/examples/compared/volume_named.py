"""Write to a volume in one sandbox, and read it in another."""

from msb import Mount, Msb

with Msb() as msb:
    volume = msb.volumes.create("my-data", "100M")
    data = Mount.volume("my-data", "/data")
    with msb.sandboxes.run("python:3-slim", mounts=[data]) as writer:
        writer.shell("echo 'hello from sandbox A' > /data/message.txt", check=True)
        writer.stop()
    data = Mount.volume("my-data", "/data", read_only=True)
    with msb.sandboxes.run("python:3-slim", mounts=[data]) as reader:
        print(reader.shell("cat /data/message.txt", check=True).text)
    volume.remove()
