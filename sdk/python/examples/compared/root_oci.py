"""Run commands in a sandbox of an image."""

from msb import Msb

with Msb() as msb, msb.sandboxes.run("python:3-slim", cpus=1, memory="512M") as sandbox:
    output = sandbox.shell("echo 'Hello from msb!'")
    print(f"stdout: {output.text}")
    print(f"stderr: {output.error_text}")
    print(f"exit code: {output.exit_code}")
    print(f"uname: {sandbox.shell('uname -a').text}")
    print(f"os-release:\n{sandbox.shell('cat /etc/os-release').text}")
