# Keeps connections to the socket of the agent open, asks on some of them, and opens more without an end.
import socket
import time


def connect(data):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect("/dev/msb/ask")
    try:
        connection.sendall(data)
    except OSError:
        pass
    return connection


kept = [connect(b"/work/flood\0why\0") for _ in range(100)]
print("flooding", flush=True)
while True:
    for data in (b"", b"x" * 100000, b"/work/\xff\0\0", b"\0\0"):
        connect(data).close()
    time.sleep(0.01)
