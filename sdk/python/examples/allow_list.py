"""Run a sandbox that reaches only the named hosts."""

from msb import Msb, Network

PROBE = "import socket; socket.create_connection(('example.com', 443), 5)"


def main() -> None:
    network = Network.listed(allow=["pypi.org:443", "*.pythonhosted.org:443"])
    with Msb() as msb, msb.sandboxes.run("python:3-slim", network=network) as sandbox:
        output = sandbox.exec(["python3", "-c", PROBE])
        print("example.com", "denied" if output.exit_code else "reached")
        print(sandbox.inspect().rest["network"]["allow"])


if __name__ == "__main__":
    main()
