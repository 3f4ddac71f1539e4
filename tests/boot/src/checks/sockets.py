"""Uses sockets of the host in a guest."""

import base64
import hashlib
import os
import socket
import struct
import sys

NAMESPACE = b"file"


def string(data):
    return struct.pack(">I", len(data)) + data


def take(data):
    """Returns the first string, and the rest."""
    (length,) = struct.unpack(">I", data[:4])
    return data[4 : 4 + length], data[4 + length :]


def connect(path):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    connection.connect(path)
    return connection


def read_exactly(connection, length):
    data = b""
    while len(data) < length:
        part = connection.recv(length - len(data))
        assert part, "the connection was closed"
        data += part
    return data


def ask(connection, message):
    """Returns the agent's answer."""
    connection.sendall(string(message))
    (length,) = struct.unpack(">I", read_exactly(connection, 4))
    return read_exactly(connection, length)


def first_key(connection):
    answer = ask(connection, bytes([11]))
    assert answer[:5] == bytes([12, 0, 0, 0, 1]), answer
    key, rest = take(answer[5:])
    comment, rest = take(rest)
    assert not rest
    return key, comment.decode()


def sign(connection, key, message):
    """Prints a signature as `ssh-keygen -Y sign` does."""
    named = string(NAMESPACE) + string(b"") + string(b"sha512")
    signed = b"SSHSIG" + named + string(hashlib.sha512(message).digest())
    answer = ask(connection, bytes([13]) + string(key) + string(signed) + struct.pack(">I", 0))
    assert answer[0] == 14, answer
    signature, rest = take(answer[1:])
    assert not rest
    blob = b"SSHSIG" + struct.pack(">I", 1) + string(key) + named + string(signature)
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + 70] for at in range(0, len(text), 70)]
    print("\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----"]))


def refused(connection):
    """Each request that could change the agent is answered with a failure, and the connection stays."""
    for kind in [1, 9, 17, 18, 19, 20, 21, 22, 23, 25, 26, 27, 200]:
        answer = ask(connection, bytes([kind]) + string(b"x"))
        assert answer == bytes([5]), (kind, answer)


def agent():
    connection = connect(os.environ["SSH_AUTH_SOCK"])
    key, comment = first_key(connection)
    assert comment == "check", comment
    refused(connection)
    sign(connection, key, b"message")


def echo(path):
    """The host answers after the end of what it gets, so each direction ends by itself."""
    connection = connect(path)
    sent = os.urandom(1 << 20)
    connection.sendall(sent)
    connection.shutdown(socket.SHUT_WR)
    received = b""
    while part := connection.recv(1 << 16):
        received += part
    assert received == sent, (len(received), len(sent))
    print("echoed")


def flood(path):
    """Opens connections until they have to wait, then closes them."""
    connections = []
    for _ in range(300):
        connection = socket.socket(socket.AF_UNIX)
        connection.setblocking(False)
        try:
            connection.connect(path)
        except BlockingIOError:
            break
        connections.append(connection)
    assert len(connections) < 300
    connections[0].settimeout(60)
    connections[0].sendall(b"x")
    print("flooded")


def closed(path):
    """A socket of the host that refuses closes the connection."""
    assert connect(path).recv(1) == b""
    print("closed")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
