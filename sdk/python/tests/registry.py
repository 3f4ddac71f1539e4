"""A registry of one image, made of layers with random content."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import os
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LAYER = "application/vnd.oci.image.layer.v1.tar"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def layer(number: int, size: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo(f"layer-{number}")
        info.size = size
        archive.addfile(info, io.BytesIO(os.urandom(size)))
    return buffer.getvalue()


class Registry:
    """The image, and how its registry behaves."""

    def __init__(self, layers: int, size: int) -> None:
        self.layers = [layer(number, size) for number in range(layers)]
        config = {
            "architecture": "amd64",
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [digest(blob) for blob in self.layers]},
        }
        self.config = json.dumps(config).encode()
        descriptors = [
            {"mediaType": LAYER, "digest": digest(blob), "size": len(blob)} for blob in self.layers
        ]
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {
                "mediaType": CONFIG,
                "digest": digest(self.config),
                "size": len(self.config),
            },
            "layers": descriptors,
        }
        self.manifest = json.dumps(manifest).encode()
        self.blobs = {digest(blob): blob for blob in [*self.layers, self.config]}
        #: Layers that are sent only once the event is set.
        self.held: set[str] = set()
        self.release = threading.Event()
        #: Digests of blobs, and references of manifests, that were asked for.
        self.asked: set[str] = set()
        self.name = ""

    def answer(self, path: str) -> tuple[int, str, bytes]:
        kind, _, reference = path.rpartition("/")
        self.asked.add(reference)
        if path.rstrip("/") == "/v2":
            return 200, "application/json", b"{}"
        if kind.endswith("/manifests") and reference in {"latest", digest(self.manifest)}:
            return 200, MANIFEST, self.manifest
        if kind.endswith("/blobs") and reference in self.blobs:
            return 200, "application/octet-stream", self.blobs[reference]
        return 404, "application/json", b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"none"}]}'


@contextmanager
def serve(registry: Registry) -> Iterator[Registry]:
    """Serves a registry; its `name` becomes that of its image."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, kind, body = registry.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "HEAD":
                return
            if self.path.rpartition("/")[2] in registry.held:
                registry.release.wait(60)
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True

        do_HEAD = do_GET

        def log_message(self, *_arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    registry.name = f"127.0.0.1:{server.server_port}/image:latest"
    try:
        yield registry
    finally:
        registry.release.set()
        server.shutdown()
        thread.join()
        server.server_close()
