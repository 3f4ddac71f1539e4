"""Run a server in a sandbox, and reach it through a port of this host."""

import time
import urllib.request

from msb import Msb

with Msb() as msb, msb.sandboxes.run("python:3-slim", memory="512M", ports={80: None}) as sandbox:
    sandbox.files.write("/srv/index.html", "Hello from msb!\n", parents=True)
    sandbox.jobs.start(["python3", "-m", "http.server", "80", "--directory", "/srv"])
    url = f"http://127.0.0.1:{sandbox.ports[0].host_port}/index.html"
    for _attempt in range(50):
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                print(f"host: {response.read().decode()}")
            break
        except OSError:
            time.sleep(0.2)  # The server does not listen yet.
