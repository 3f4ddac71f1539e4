"""Run the same request under three network policies."""

from msb import Msb, Network

REQUEST = "import urllib.request; urllib.request.urlopen('http://example.com', timeout=5)"
POLICIES = {
    "outbound": Network.outbound(),
    "outbound and a private range": Network.outbound(allow=["10.0.5.0/24:443"]),
    "none": Network.none(),
}

with Msb() as msb:
    for name, network in POLICIES.items():
        with msb.sandboxes.run("python:3-slim", memory="512M", network=network) as sandbox:
            output = sandbox.exec(["python3", "-c", REQUEST])
            print(f"{name}: {'OK' if output.is_success else 'FAIL'}")
