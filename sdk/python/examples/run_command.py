"""Run a command in a fresh sandbox."""

from msb import Msb


def main() -> None:
    with Msb() as msb, msb.sandboxes.run("python:3-slim") as sandbox:
        output = sandbox.exec(["python3", "-c", "print(6 * 7)"], check=True)
        print(output.text, end="")
        failed = sandbox.shell("echo no >&2; exit 3")
        print(failed.exit_code, failed.error_text, end="")


if __name__ == "__main__":
    main()
