# A client of TLS in a guest: prints the seconds of what its arguments ask for.
import os, socket, ssl, sys, time

what, host, port, count, authority = sys.argv[1:]
port, count = int(port), int(count)
context = ssl.create_default_context()
context.load_verify_locations(cadata=authority)
address = socket.gethostbyname(host)
head = f"Host: {host}:{port}\r\nAuthorization: Bearer {os.environ.get('KEY', 'none')}\r\n\r\n"


def connect():
    plain = socket.create_connection((address, port), 120)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(plain, server_hostname=host)


def get(stream, length):
    stream.sendall(f"GET /{length} HTTP/1.1\r\n{head}".encode())
    received = b""
    while b"\r\n\r\n" not in received:
        part = stream.recv(65536)
        assert part, "no answer"
        received += part
    assert received.startswith(b"HTTP/1.1 200"), received[:200]
    left = length - len(received.split(b"\r\n\r\n", 1)[1])
    while left > 0:
        part = stream.recv(65536)
        assert part, "the answer breaks off"
        left -= len(part)


begun = time.monotonic()
if what == "bytes":
    stream = connect()
    get(stream, 1)
    begun = time.monotonic()
    get(stream, count)
elif what == "connections":
    for _ in range(count):
        with connect() as stream:
            get(stream, 1)
elif what == "hold":
    streams = [connect() for _ in range(count)]
    for stream in streams:
        get(stream, 1)
print(time.monotonic() - begun, flush=True)
if what == "hold":
    sys.stdin.read()
