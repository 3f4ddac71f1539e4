"""Serves the OCI layout named by the argument as `127.0.0.1:5000/p:latest`, over plain HTTP."""

import fcntl
import http.server
import json
import pathlib
import socket
import struct
import sys

SIOCSIFFLAGS, IFF_UP = 0x8914, 1

layout = pathlib.Path(sys.argv[1])
manifest = json.loads((layout / "index.json").read_text())["manifests"][0]


class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        parts = self.path.split("/")
        kind, reference = parts[-2:]
        digest = manifest["digest"] if reference == "latest" else reference
        media_type = "application/octet-stream"
        body = b"{}"
        if self.path != "/v2/":
            body = (layout / "blobs" / digest.replace(":", "/")).read_bytes()
        if kind == "manifests":
            media_type = manifest["mediaType"]
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET


with socket.socket() as control:
    fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
server = http.server.ThreadingHTTPServer(("127.0.0.1", 5000), Registry)
pathlib.Path("/tmp/registry-is-ready").touch()
server.serve_forever()
