"""Programs, users, terminals, sockets, namespaces and sandboxes."""

import ctypes
import errno
import fcntl
import os
import pty
import signal
import socket
import struct
import subprocess

from registry import in_child, proves

LIBC = ctypes.CDLL(None, use_errno=True)

# uapi/linux/sched.h
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000


def check(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


@proves("BINFMT_ELF", "BINFMT_SCRIPT")
def programs():
    with open("script", "w") as file:
        file.write("#!/bin/echo interpreted\n")
    os.chmod("script", 0o755)
    output = subprocess.run(["./script", "me"], check=True, capture_output=True).stdout
    assert output == b"interpreted ./script me\n"


@proves("MULTIUSER")
def users():
    def become_another():
        os.setgroups([77])
        os.setgid(1234)
        os.setuid(4321)
        assert (os.getuid(), os.getgid(), os.getgroups()) == (4321, 1234, [77])
        assert not os.access("/etc/shadow", os.R_OK)

    in_child(become_another)


@proves("UNIX98_PTYS")
def terminal():
    child, terminal_file = pty.fork()
    if child == 0:
        os.execlp("tty", "tty")
    name = os.read(terminal_file, 100)
    os.waitpid(child, 0)
    assert name.startswith(b"/dev/pts/"), name


@proves("UNIX")
def local_sockets():
    server = socket.socket(socket.AF_UNIX)
    server.bind("/run/probe.socket")
    server.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect("/run/probe.socket")
    client.sendall(b"hello")
    assert server.accept()[0].recv(5) == b"hello"


def raise_loopback(any_socket):
    # SIOCSIFFLAGS (uapi/linux/sockios.h) with IFF_UP.
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))


@proves("NET", "INET")
def loopback():
    server = socket.socket()
    raise_loopback(server)
    server.bind(("127.0.0.1", 0))
    server.listen()
    client = socket.create_connection(server.getsockname(), timeout=10)
    client.sendall(b"hello")
    assert server.accept()[0].recv(5) == b"hello"


@proves("NAMESPACES")
def mount_namespace():
    def mount_alone():
        check(LIBC.unshare(CLONE_NEWNS))
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "alone", "/mnt"], check=True)

    in_child(mount_alone)
    with open("/proc/mounts") as mounts:
        assert "alone /mnt" not in mounts.read()


@proves("USER_NS")
def user_namespace():
    def become_root_again():
        os.setgid(1234)
        os.setuid(1234)
        # Leaving root made /proc/self unwritable for the process itself.
        check(LIBC.prctl(4, 1, 0, 0, 0))
        check(LIBC.unshare(CLONE_NEWUSER))
        with open("/proc/self/uid_map", "w") as file:
            file.write("0 1234 1")
        assert os.getuid() == 0

    in_child(become_root_again)


@proves("PID_NS")
def process_namespace():
    def count_anew():
        check(LIBC.unshare(CLONE_NEWPID))

        def be_the_first():
            assert os.getpid() == 1

        in_child(be_the_first)

    in_child(count_anew)


@proves("NET_NS")
def network_namespace():
    def be_alone():
        check(LIBC.unshare(CLONE_NEWNET))
        assert [name for _, name in socket.if_nameindex()] == ["lo"]
        raise_loopback(socket.socket())

    in_child(be_alone)


@proves("CGROUPS")
def control_groups():
    group = "/sys/fs/cgroup/probe"
    os.mkdir(group)
    sleeper = subprocess.Popen(["sleep", "60"])
    with open(f"{group}/cgroup.procs", "w") as file:
        file.write(str(sleeper.pid))
    with open(f"{group}/cgroup.procs") as file:
        assert file.read().split() == [str(sleeper.pid)]
    sleeper.kill()
    sleeper.wait()


@proves("CGROUP_PIDS")
def limited_processes():
    with open("/sys/fs/cgroup/cgroup.controllers") as file:
        assert "pids" in file.read().split()
    with open("/sys/fs/cgroup/cgroup.subtree_control", "w") as file:
        file.write("+pids")
    group = "/sys/fs/cgroup/limited"
    os.mkdir(group)
    with open(f"{group}/pids.max", "w") as file:
        file.write("1")

    def cannot_fork():
        with open(f"{group}/cgroup.procs", "w") as file:
            file.write("0")
        try:
            os.fork()
        except BlockingIOError:
            return
        raise AssertionError("a second process was started")

    in_child(cannot_fork)


@proves("SECCOMP")
def strict_sandbox():
    child = os.fork()
    if child == 0:
        # PR_SET_SECCOMP, SECCOMP_MODE_STRICT: getpid() is forbidden.
        LIBC.prctl(22, 1, 0, 0, 0)
        os.getpid()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@proves("SECCOMP_FILTER")
def filtering_sandbox():
    def forbid_getppid():
        # Load the number; if it is getppid's (110) fail with EPERM; else allow
        # (uapi/linux/filter.h, uapi/linux/seccomp.h).
        instructions = [(0x20, 0, 0, 0), (0x15, 0, 1, 110), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000)]
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *i) for i in instructions))
        program = struct.pack("HxxxxxxQ", len(instructions), ctypes.addressof(code))
        check(LIBC.prctl(38, 1, 0, 0, 0))
        check(LIBC.prctl(22, 2, program, 0, 0))
        assert LIBC.syscall(110) == -1 and ctypes.get_errno() == errno.EPERM

    in_child(forbid_getppid)
