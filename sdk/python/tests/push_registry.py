"""A registry that is empty at first and takes what is pushed to it."""

from __future__ import annotations

import base64
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

from .registry import digest


class PushRegistry:
    """What was pushed, and how the registry behaves."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        #: Manifests by their tag or digest.
        self.manifests: dict[str, bytes] = {}
        self.uploads: dict[str, bytes] = {}
        #: The user and the password that every request must have.
        self.login: tuple[str, str] | None = None
        #: If it is set, an upload ends only once the event is set.
        self.held: threading.Event | None = None
        #: The host and the port.
        self.address = ""

    def allows(self, header: str | None) -> bool:
        if self.login is None:
            return True
        return header == "Basic " + base64.b64encode(":".join(self.login).encode()).decode()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    registry: PushRegistry

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def do_GET(self) -> None:
        if not self._is_allowed():
            return
        kind, _, reference = self.path.rpartition("/")
        found = self.registry.manifests if kind.endswith("/manifests") else self.registry.blobs
        if reference in found:
            self._answer(200, body=found[reference])
        else:
            self._answer(200 if self.path.rstrip("/") == "/v2" else 404)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self._body()
        if self._is_allowed():
            number = str(len(self.registry.uploads))
            self.registry.uploads[number] = b""
            self._answer(202, Location=f"/v2/uploads/{number}")

    def do_PATCH(self) -> None:
        number = self.path.rpartition("/")[2]
        self.registry.uploads[number] += self._body()
        if self.registry.held is not None:
            self.registry.held.wait(60)
        last = len(self.registry.uploads[number]) - 1
        self._answer(202, Location=self.path, Range=f"0-{last}")

    def do_PUT(self) -> None:
        path, body = urlsplit(self.path), self._body()
        if not self._is_allowed():
            return
        reference = path.path.rpartition("/")[2]
        if "/manifests/" in path.path:
            self.registry.manifests.update({reference: body, digest(body): body})
            self._answer(201, **{"Docker-Content-Digest": digest(body)})
            return
        blob = self.registry.uploads[reference] + body
        is_whole = parse_qs(path.query)["digest"] == [digest(blob)]
        if is_whole:
            self.registry.blobs[digest(blob)] = blob
        self._answer(201 if is_whole else 400)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        chunks: list[bytes] = []
        while length := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(length))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _is_allowed(self) -> bool:
        is_allowed = self.registry.allows(self.headers.get("Authorization"))
        if not is_allowed:
            self._answer(401, **{"WWW-Authenticate": 'Basic realm="test"'})
        return is_allowed

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/vnd.oci.image.manifest.v1+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        pass


@contextmanager
def serve(registry: PushRegistry) -> Iterator[PushRegistry]:
    """Serves a registry at its `address`."""
    handler = type("Handler", (_Handler,), {"registry": registry})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    registry.address = f"127.0.0.1:{server.server_port}"
    try:
        yield registry
    finally:
        if registry.held is not None:
            registry.held.set()
        server.shutdown()
        thread.join()
        server.server_close()
