"""Run a sandbox that reaches nothing."""

from msb import Msb, Network

PROBE = "import socket; socket.create_connection(('1.1.1.1', 80), 2)"


def main() -> None:
    with Msb() as msb, msb.sandboxes.run("python:3-slim", network=Network.none()) as sandbox:
        output = sandbox.exec(["python3", "-c", PROBE])
        print(output.exit_code, output.error_text.splitlines()[-1])
        print(sandbox.shell("ls /sys/class/net").text, end="")


if __name__ == "__main__":
    main()
