"""The networks that container engines build inside a sandbox."""

import ctypes
import fcntl
import os
import socket
import struct

from processes import LIBC, check, raise_loopback
from registry import proves

# uapi/linux/netlink.h
NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE = 1, 4, 0x200, 0x400
NLMSG_ERROR = 2


def attribute(kind, content):
    padded = content.ljust((len(content) + 3) & ~3, b"\0")
    return struct.pack("HH", 4 + len(content), kind) + padded


def ask(protocol, kind, flags, content):
    """Sends one message of netlink and returns the answer."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as link:
        link.bind((0, 0))
        link.send(struct.pack("IHHII", 16 + len(content), kind, NLM_F_REQUEST | flags, 1, 0) + content)
        answer = link.recv(65536)
    _, answered, _, _, _ = struct.unpack_from("IHHII", answer)
    if answered == NLMSG_ERROR:
        error = -struct.unpack_from("i", answer, 16)[0]
        if error:
            raise OSError(error, os.strerror(error))
    return answer


def make_link(name, kind):
    # RTM_NEWLINK with IFLA_IFNAME and IFLA_LINKINFO, which holds IFLA_INFO_KIND.
    content = bytes(16) + attribute(3, name.encode() + b"\0") + attribute(18, attribute(1, kind.encode()))
    ask(socket.NETLINK_ROUTE, 16, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, content)
    assert name in [found for _, found in socket.if_nameindex()]
    # RTM_DELLINK
    ask(socket.NETLINK_ROUTE, 17, NLM_F_ACK, bytes(16) + attribute(3, name.encode() + b"\0"))


@proves("BRIDGE")
def bridge():
    make_link("probe-bridge", "bridge")


@proves("VETH")
def pair():
    make_link("probe-veth", "veth")


@proves("DUMMY")
def dummy():
    make_link("probe-dummy", "dummy")


@proves("WIREGUARD")
def wireguard():
    make_link("probe-wg", "wireguard")


@proves("TUN")
def tunnel():
    with open("/dev/net/tun", "r+b", buffering=0) as file:
        # TUNSETIFF with IFF_TUN and IFF_NO_PI.
        fcntl.ioctl(file, 0x400454CA, struct.pack("16sH22x", b"probe-tun", 0x1001))
        assert "probe-tun" in [name for _, name in socket.if_nameindex()]


@proves("IPV6")
def loopback_of_version_6():
    raise_loopback(socket.socket())
    server = socket.socket(socket.AF_INET6)
    server.bind(("::1", 0))
    server.listen()
    client = socket.create_connection(server.getsockname()[:2], timeout=10)
    client.sendall(b"hello")
    assert server.accept()[0].recv(5) == b"hello"


@proves("VSOCKETS", "VSOCKETS_LOOPBACK")
def sockets_of_machines():
    server = socket.socket(socket.AF_VSOCK)
    server.bind((socket.VMADDR_CID_ANY, 1234))
    server.listen()
    client = socket.socket(socket.AF_VSOCK)
    # VMADDR_CID_LOCAL
    client.connect((1, 1234))
    client.sendall(b"hello")
    assert server.accept()[0].recv(5) == b"hello"


@proves("PACKET")
def packets():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()


@proves("CRYPTO_USER_API_HASH")
def hashes():
    with socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET) as algorithm:
        algorithm.bind(("hash", "sha256"))
        operation, _ = algorithm.accept()
        with operation:
            operation.sendall(b"abc")
            assert operation.recv(32).hex().startswith("ba7816bf")


@proves("NF_TABLES")
def tables():
    # NETLINK_NETFILTER is 12. NFT_MSG_GETGEN of subsystem NFNL_SUBSYS_NFTABLES; the header is struct nfgenmsg.
    ask(12, 10 << 8 | 16, 0, bytes(4))


@proves("NF_CONNTRACK")
def connections():
    assert os.path.isfile("/proc/sys/net/netfilter/nf_conntrack_max")


def table_of(family, level, name):
    with socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW) as any_socket:
        # IPT_SO_GET_INFO; what is asked and answered is struct ipt_getinfo, which begins with the name.
        answer = ctypes.create_string_buffer(name, 84)
        length = ctypes.c_uint32(84)
        check(LIBC.getsockopt(any_socket.fileno(), level, 64, answer, ctypes.byref(length)))
        return answer.raw


@proves("IP_NF_IPTABLES", "IP_NF_FILTER", "IP_NF_NAT")
def older_tables():
    for name in (b"filter", b"nat"):
        assert table_of(socket.AF_INET, socket.IPPROTO_IP, name).startswith(name)


@proves("IP6_NF_IPTABLES", "IP6_NF_FILTER", "IP6_NF_NAT")
def older_tables_of_version_6():
    for name in (b"filter", b"nat"):
        assert table_of(socket.AF_INET6, socket.IPPROTO_IPV6, name).startswith(name)


def names_in(path):
    with open(path) as file:
        return set(file.read().split())


@proves("NETFILTER_XT_TARGET_MASQUERADE", "NETFILTER_XT_NAT", "NETFILTER_XT_TARGET_REDIRECT")
def targets_of_engines():
    assert {"MASQUERADE", "DNAT", "SNAT", "REDIRECT"} <= names_in("/proc/net/ip_tables_targets")


@proves("NETFILTER_XT_MATCH_ADDRTYPE", "NETFILTER_XT_MATCH_COMMENT", "NETFILTER_XT_MATCH_CONNTRACK")
def matches_of_engines():
    assert {"addrtype", "comment", "conntrack"} <= names_in("/proc/net/ip_tables_matches")
