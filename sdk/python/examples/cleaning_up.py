"""Keep a sandbox beyond this program, find it again, and clean up."""

from msb import Msb, SandboxNotFound


def main() -> None:
    with Msb() as msb:
        # An owned sandbox ends with this process, even after SIGKILL. This one is kept.
        msb.sandboxes.create("python:3-slim", name="example-kept", labels={"app": "example"})
        for info in msb.sandboxes.list(labels={"app": "example"}):
            print(info.name, info.state)
            sandbox = msb.sandboxes.get(info.name)
            sandbox.start()
            print(sandbox.stop())
            sandbox.remove()
        try:
            msb.sandboxes.get("example-kept")
        except SandboxNotFound as error:
            print(error.message)


if __name__ == "__main__":
    main()
