"""Show the progress of a pull."""

import sys

from msb import Msb


def main(name: str = "python:3-slim") -> None:
    sizes: dict[str, int] = {}
    done: dict[str, int] = {}
    with Msb() as msb, msb.images.pull(name, watch=True) as pull:
        for event in pull:
            if event.type == "image":
                sizes = {layer["diff_id"]: layer["size_bytes"] for layer in event.rest["layers"]}
            elif event.type == "layer-bytes" and event.diff_id and event.bytes:
                done[event.diff_id] = done.get(event.diff_id, 0) + event.bytes
                print(f"{sum(done.values())} of {sum(sizes.values())} bytes")
        print(pull.result().digest)


if __name__ == "__main__":
    main(*sys.argv[1:])
