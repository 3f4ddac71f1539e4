"""Run a server in a sandbox, and reach it through a port that the host chose."""

import time
import urllib.request

from msb import Msb

SERVER = ["python3", "-m", "http.server", "8000", "--directory", "/srv"]


def get(url: str) -> str:
    for _attempt in range(600):
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                return str(response.read().decode())
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(url)


def main() -> None:
    with Msb() as msb, msb.sandboxes.run("python:3-slim", ports={8000: None}) as sandbox:
        sandbox.files.write("/srv/index.html", "served\n", parents=True)
        sandbox.jobs.start(SERVER)
        print(get(f"http://127.0.0.1:{sandbox.ports[0].host_port}/"), end="")


if __name__ == "__main__":
    main()
