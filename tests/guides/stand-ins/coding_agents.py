"""Stand-ins for the hosts of docs/guide/coding-agents.md: the npm registry, and the APIs of two models.

They listen on port 443 of 127.0.0.1, with the certificate of the files server.pem and server.key. The argument is a
directory of npm packages. A resolver answers every query with the gateway of a sandbox, which leads here; its address
is in the file "dns" once all of it is ready. Everything ends with the process that started it.
"""

import base64
import hashlib
import http.server
import json
import os
import pathlib
import socket
import ssl
import sys
import tarfile
import threading
import time

# The values of the secrets. A request with a placeholder instead is refused.
KEYS = {"api.anthropic.com": "sk-ant-0123456789", "api.openai.com": "sk-0123456789"}
# The command by which each model does its task, and its words afterwards.
CLAUDE = ("sed -i s/Hello/Goodbye/ greet.py", "It says goodbye.")
CODEX = ("echo 'print(2)' >> greet.py", "It prints 2, too.")


def packages(directory):
    """Returns the documents of the registry, by path, and its files, by path."""
    documents, files = {}, {}
    for path in sorted(pathlib.Path(directory).glob("*.tgz")):
        with tarfile.open(path) as archive:
            manifest = json.load(archive.extractfile("package/package.json"))
        name, version = manifest["name"], manifest["version"]
        with path.open("rb") as file:
            digest = base64.b64encode(hashlib.file_digest(file, "sha512").digest()).decode()
        manifest["dist"] = {
            "tarball": f"https://registry.npmjs.org/-/{path.name}",
            "integrity": f"sha512-{digest}",
        }
        document = documents.setdefault("/" + name, {"name": name, "dist-tags": {}, "versions": {}})
        document["versions"][version] = manifest
        if "-" not in version:
            document["dist-tags"]["latest"] = version
        files[f"/-/{path.name}"] = path
    return documents, files


def events(items):
    return "".join(f"event: {item['type']}\ndata: {json.dumps(item)}\n\n" for item in items).encode()


def claude(request):
    """Answers a request to the Messages API: with a command first, and with its result with a text."""
    contents = [message["content"] for message in request["messages"]]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    if any(part["type"] == "tool_result" for part in parts):
        block, reason = {"type": "text", "text": ""}, "end_turn"
        delta = {"type": "text_delta", "text": CLAUDE[1]}
    else:
        block, reason = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}, "tool_use"
        command = {"command": CLAUDE[0], "description": "Change the greeting"}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(command)}
    usage = {"input_tokens": 1, "output_tokens": 1}
    ends = {"stop_reason": None, "stop_sequence": None}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": usage}
    message |= {"model": request["model"], **ends}
    return events(
        [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ends | {"stop_reason": reason}, "usage": usage},
            {"type": "message_stop"},
        ]
    )


def codex(request):
    """Answers a request to the Responses API, as `claude` does."""
    if any(item["type"] == "function_call_output" for item in request["input"]):
        text = {"type": "output_text", "text": CODEX[1], "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [text]}
    else:
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "exec_command"}
        item["arguments"] = json.dumps({"cmd": CODEX[0]})
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return events(
        [
            {"type": "response.created", "response": {"id": "resp_1"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}},
        ]
    )


class Hosts(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = self.path.replace("%2f", "/")
        if self.headers["Host"] == "registry.npmjs.org" and path in FILES:
            self.send_response(200)
            self.send_header("Content-Length", str(FILES[path].stat().st_size))
            self.end_headers()
            with FILES[path].open("rb") as file:
                self.wfile.writelines(iter(lambda: file.read(1 << 20), b""))
        elif self.headers["Host"] == "registry.npmjs.org" and path in DOCUMENTS:
            self.answer(200, json.dumps(DOCUMENTS[path]).encode())
        else:
            # Codex asks for a WebSocket first, and takes this as a server without one.
            self.answer(426 if self.headers["Upgrade"] else 404, b"{}")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["X-Api-Key"] or (self.headers["Authorization"] or "").removeprefix("Bearer ")
        answers = {"/v1/messages": claude, "/v1/responses": codex}
        answer = answers.get(self.path.partition("?")[0])
        if answer is None:
            self.answer(404, b"{}")
        elif key != KEYS.get(self.headers["Host"]):
            self.answer(401, b'{"error": {"message": "unknown key"}}')
        else:
            self.answer(200, answer(json.loads(body)), "text/event-stream")

    def answer(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def resolve(resolver):
    """Answers each query with the address 192.0.0.1."""
    while True:
        query, client = resolver.recvfrom(2000)
        end = 12 + query[12:].index(0) + 5
        answer = query[:2] + bytes([0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]) + query[12:end]
        resolver.sendto(answer + bytes([0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 0, 1]), client)


def listening():
    """Returns the server, once a test that has the port has ended."""
    for _ in range(600):
        try:
            return http.server.ThreadingHTTPServer(("127.0.0.1", 443), Hosts)
        except OSError:
            time.sleep(1)
    raise SystemExit("port 443 of 127.0.0.1 is in use")


DOCUMENTS, FILES = packages(sys.argv[1])
parent = os.getppid()
resolver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
resolver.bind(("127.0.0.1", 0))
threading.Thread(target=resolve, args=[resolver], daemon=True).start()
server = listening()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("server.pem", "server.key")
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
pathlib.Path("dns.new").write_text(f"127.0.0.1:{resolver.getsockname()[1]}")
os.rename("dns.new", "dns")
while os.getppid() == parent:
    time.sleep(1)
