"""Bound what a sandbox and its commands can use."""

from msb import CommandTimeout, Msb, OutputLimit, SandboxOptions

LIMITS: SandboxOptions = {
    "cpus": 1,
    "memory": "512M",
    "disk": "2G",
    "pids": 100,
    "ulimits": {"nofile": 256},
    "max_duration": 600,
}


def main() -> None:
    with Msb() as msb, msb.sandboxes.run("python:3-slim", **LIMITS) as sandbox:
        try:
            sandbox.shell("echo started; sleep 60", timeout=5)
        except CommandTimeout as error:
            print(error.code, error.stdout)
        try:
            sandbox.exec(["yes"], max_output="1M")
        except OutputLimit as error:
            print(error.code, len(error.stdout))
        print(sandbox.shell("ulimit -n").text, end="")


if __name__ == "__main__":
    main()
