"""Calls of language runtimes and databases. Numbers are x86-64's (asm/unistd_64.h)."""

import ctypes
import fcntl
import mmap
import os
import select
import signal
import struct

from processes import LIBC, check
from registry import in_child, proves


def call(number, *arguments):
    return check(LIBC.syscall(number, *arguments))


@proves("FUTEX")
def futex():
    word = ctypes.c_uint32(0)
    # FUTEX_WAKE wakes nobody.
    assert call(202, ctypes.byref(word), 1, 1, None, None, 0) == 0


@proves("EPOLL", "EVENTFD")
def events():
    event = os.eventfd(0, os.EFD_NONBLOCK)
    epoll = select.epoll()
    epoll.register(event, select.EPOLLIN)
    assert epoll.poll(0) == []
    os.eventfd_write(event, 3)
    assert epoll.poll(1) == [(event, select.EPOLLIN)]
    assert os.eventfd_read(event) == 3


@proves("SIGNALFD")
def signals_as_files():
    def receive():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        mask = ctypes.c_uint64(1 << (signal.SIGUSR1 - 1))
        file = call(289, -1, ctypes.byref(mask), 8, 0)
        os.kill(os.getpid(), signal.SIGUSR1)
        assert struct.unpack_from("I", os.read(file, 128))[0] == signal.SIGUSR1

    in_child(receive)


@proves("TIMERFD")
def timers_as_files():
    # CLOCK_MONOTONIC; once, after a millisecond.
    timer = call(283, 1, 0)
    call(286, timer, 0, struct.pack("4Q", 0, 0, 0, 1_000_000), None)
    assert struct.unpack("Q", os.read(timer, 8)) == (1,)


@proves("INOTIFY_USER")
def inotify():
    os.mkdir("watched")
    watcher = call(294, 0)
    # IN_CREATE
    call(254, watcher, b"watched", 0x100)
    os.mknod("watched/file")
    assert b"file" in os.read(watcher, 4096)


@proves("AIO")
def asynchronous_reads():
    context = ctypes.c_uint64(0)
    call(206, 1, ctypes.byref(context))
    assert context.value != 0
    call(207, context)


@proves("IO_URING")
def rings():
    parameters = ctypes.create_string_buffer(120)
    os.close(call(425, 4, parameters))


@proves("FILE_LOCKING")
def locks():
    with open("lock", "w") as first, open("lock", "w") as second:
        fcntl.flock(first, fcntl.LOCK_EX)
        try:
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        raise AssertionError("two locks at once")


@proves("FHANDLE")
def file_handles():
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 136)
    mount = ctypes.c_int()
    # AT_FDCWD; the working directory is on an ext4.
    call(303, -100, b".", handle, ctypes.byref(mount), 0)
    directory = os.open(".", os.O_RDONLY)
    opened = call(304, directory, handle, os.O_RDONLY)
    assert os.fstat(opened).st_ino == os.stat(".").st_ino


@proves("MEMFD_CREATE")
def memory_files():
    file = os.memfd_create("probe", os.MFD_ALLOW_SEALING)
    os.write(file, b"hello")
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    assert os.pread(file, 5, 0) == b"hello"


@proves("ADVISE_SYSCALLS")
def advice():
    memory = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[:5] = b"hello"
    memory.madvise(mmap.MADV_DONTNEED)
    assert memory[:5] == bytes(5)
    with open("advised", "w") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)


@proves("MEMBARRIER")
def barriers():
    # MEMBARRIER_CMD_QUERY
    assert call(324, 0, 0, 0) > 0


@proves("RSEQ")
def restartable_sequences():
    # The C library registers at start, and this is 0 if the kernel refused.
    assert ctypes.c_uint.in_dll(LIBC, "__rseq_size").value > 0


@proves("SYSVIPC")
def system_v():
    # Of key IPC_PRIVATE, with IPC_CREAT and mode 0600; removed with IPC_RMID.
    call(31, call(29, 0, 4096, 0o1600), 0, None)  # shmctl, shmget
    call(66, call(64, 0, 1, 0o1600), 0, 0, None)  # semctl, semget
    call(71, call(68, 0, 0o1600), 0, None)  # msgctl, msgget
