"""Stream the output of a long command while it runs."""

from msb import Msb

BUILD = "for step in configure compile test; do echo $step; sleep 0.2; done; echo warning >&2"


def main() -> None:
    with (
        Msb() as msb,
        msb.sandboxes.run("python:3-slim") as sandbox,
        sandbox.spawn(["/bin/sh", "-c", BUILD]) as process,
    ):
        for event in process.text():
            print(f"{event.stream}: {event.text}", end="")
        print("exit code", process.wait().code)


if __name__ == "__main__":
    main()
