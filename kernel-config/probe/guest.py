"""What programs in a sandbox get of msb's own kernel. Numbers are x86-64's."""

import ctypes
import fcntl
import os
import platform
import struct
import subprocess
import time

from filesystems import Loop, Mounted, Upper, run
from processes import LIBC
from registry import proves
from system_calls import call

# A file's ACL in the form of posix_acl_xattr.h: version 2; owner, user 1234, group, mask, others.
ACL = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", tag, permissions, who)
    for tag, permissions, who in [(1, 6, 2**32 - 1), (2, 4, 1234), (4, 4, 2**32 - 1), (16, 4, 2**32 - 1), (32, 0, 2**32 - 1)]
)


def words_of(path):
    with open(path) as file:
        return file.read().split()


def keeps_an_acl(directory):
    os.mknod(f"{directory}/listed")
    os.setxattr(f"{directory}/listed", "system.posix_acl_access", ACL)
    assert os.getxattr(f"{directory}/listed", "system.posix_acl_access") == ACL


@proves("EXT4_FS_POSIX_ACL")
def lists_of_the_upper():
    with Upper() as upper:
        keeps_an_acl(upper)


@proves("TMPFS_POSIX_ACL")
def lists_of_temporary_files():
    with Mounted("tmpfs", "tmpfs") as directory:
        keeps_an_acl(directory)


@proves("BLK_DEV_LOOP", "BLK_DEV_WRITE_MOUNTED")
def mounted_disk_that_is_open_for_writing():
    with open("open.ext4", "wb") as file:
        file.truncate(16 << 20)
    run("mkfs.ext4", "-q", "-F", "open.ext4")
    with Loop("open.ext4") as device, open(device, "r+b"), Mounted("ext4", device) as directory:
        os.mknod(f"{directory}/file")


@proves("FS_VERITY")
def verified_file():
    with open("verity.ext4", "wb") as file:
        file.truncate(16 << 20)
    run("mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "verity", "verity.ext4")
    with Loop("verity.ext4") as device, Mounted("ext4", device) as directory:
        with open(f"{directory}/file", "wb") as file:
            file.write(b"verified")
        with open(f"{directory}/file", "rb") as file:
            # FS_IOC_ENABLE_VERITY with version 1, SHA-256 and blocks of 4096 bytes.
            fcntl.ioctl(file, 0x40806685, struct.pack("III", 1, 1, 4096).ljust(128, b"\0"))
        try:
            open(f"{directory}/file", "ab")
        except PermissionError:
            return
        raise AssertionError("a verified file was opened for writing")


@proves("BLK_DEV_DM", "DM_VERITY", "DM_SNAPSHOT", "DM_THIN_PROVISIONING", "DM_CRYPT")
def mapped_disks():
    # DM_LIST_VERSIONS (uapi/linux/dm-ioctl.h), of version 4.0.0, with its data behind the header.
    request = bytearray(struct.pack("IIIII", 4, 0, 0, 16384, 312).ljust(16384, b"\0"))
    with open("/dev/mapper/control") as control:
        fcntl.ioctl(control, 0xC138FD0D, request)
    for target in (b"verity", b"snapshot", b"thin-pool", b"crypt"):
        assert target + b"\0" in request, target


@proves("ZRAM", "ZRAM_BACKEND_ZSTD", "SWAP")
def compressed_swap():
    with open("/sys/block/zram0/comp_algorithm", "w") as file:
        file.write("zstd")
    with open("/sys/block/zram0/disksize", "w") as file:
        file.write("8M")
    run("mkswap", "/dev/zram0")
    run("swapon", "/dev/zram0")
    assert "/dev/zram0" in words_of("/proc/swaps")
    run("swapoff", "/dev/zram0")


@proves("VFAT_FS", "ISO9660_FS", "SQUASHFS")
def images_that_tools_mount():
    assert {"vfat", "iso9660", "squashfs"} <= set(words_of("/proc/filesystems"))


@proves("BINFMT_MISC")
def another_format():
    with Mounted("binfmt_misc", "binfmt_misc") as directory:
        with open(f"{directory}/register", "w") as file:
            file.write(":probe:E::probe::/bin/echo:")
        with open("hello.probe", "w") as file:
            file.write("words")
        os.chmod("hello.probe", 0o755)
        output = subprocess.run(["./hello.probe"], check=True, capture_output=True).stdout
        with open(f"{directory}/probe", "w") as file:
            file.write("-1")
        assert output == b"./hello.probe\n", output


@proves("USERFAULTFD")
def faults_as_files():
    # UFFD_USER_MODE_ONLY
    os.close(call(323, 1))


@proves("PERF_EVENTS")
def performance_events():
    # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, of this process.
    attributes = ctypes.create_string_buffer(struct.pack("IIQ", 1, 112, 1), 112)
    file = call(298, attributes, 0, -1, -1, 0)
    # The clock has steps, and a fast machine is here again within one.
    deadline = time.monotonic() + 5
    while struct.unpack("Q", os.read(file, 8))[0] == 0:
        assert time.monotonic() < deadline
    os.close(file)


@proves("BPF_SYSCALL")
def programs_in_the_kernel():
    # BPF_MAP_CREATE of a BPF_MAP_TYPE_ARRAY.
    os.close(call(321, 0, struct.pack("IIII", 2, 4, 8, 1).ljust(72, b"\0"), 72))


@proves("MEMCG", "CGROUP_SCHED", "BLK_CGROUP", "CPUSETS", "CGROUP_HUGETLB")
def controllers():
    found = set(words_of("/sys/fs/cgroup/cgroup.controllers"))
    assert {"cpu", "cpuset", "io", "memory", "hugetlb", "pids"} <= found, found


@proves("PSI")
def pressure():
    assert words_of("/proc/pressure/memory")[0] == "some"


@proves("IKCONFIG_PROC")
def configuration():
    assert os.path.isfile("/proc/config.gz")


@proves("SECURITY_LANDLOCK")
def landlock():
    # LANDLOCK_CREATE_RULESET_VERSION
    assert call(444, None, 0, 1) >= 6


@proves("SECURITY_YAMA")
def yama():
    assert os.path.isfile("/proc/sys/kernel/yama/ptrace_scope")


@proves("MODULES", "KEXEC", "DEVMEM")
def no_way_to_another_kernel():
    assert not os.path.exists("/proc/modules") and not os.path.exists("/dev/mem")
    ctypes.set_errno(0)
    assert LIBC.syscall(246, 0, 0, None, 0) == -1 and ctypes.get_errno() == 38


print("release", platform.release(), flush=True)
