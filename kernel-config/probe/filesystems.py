"""The filesystems that make the root, and those around it.

`chunks.erofs` and its device `chunks.blob` come from the host: one directory `directory` with a
file `file` in it that bears extended attributes.
"""

import errno
import mmap
import os
import subprocess

from registry import proves

CONTENT = b"chunked\n" * 4096
# VFS_CAP_REVISION_2 with CAP_NET_BIND_SERVICE and the effective bit (uapi/linux/capability.h).
CAPABILITY = bytes.fromhex("0100000200040000000000000000000000000000")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


class Mounted:
    """A mount for the time of a `with`."""

    def __init__(self, kind, source, options="defaults"):
        self.kind, self.source, self.options = kind, source, options

    def __enter__(self):
        self.path = run("mktemp", "-d", "/run/probe-XXXXXX")
        run("mount", "-t", self.kind, "-o", self.options, self.source, self.path)
        return self.path

    def __exit__(self, *_):
        run("umount", self.path)


class Loop:
    """A loop device on `file` for the time of a `with`."""

    def __init__(self, file):
        self.file = file

    def __enter__(self):
        self.device = run("losetup", "--find", "--show", self.file)
        return self.device

    def __exit__(self, *_):
        run("losetup", "--detach", self.device)


class Image:
    """The EROFS image from the host, mounted with its device for the time of a `with`."""

    def __enter__(self):
        self.image, self.blob = Loop("chunks.erofs"), Loop("chunks.blob")
        options = f"ro,device={self.blob.__enter__()}"
        self.mounted = Mounted("erofs", self.image.__enter__(), options)
        return self.mounted.__enter__()

    def __exit__(self, *_):
        for part in (self.mounted, self.image, self.blob):
            part.__exit__()


class Upper:
    """A new ext4 as msb makes it, mounted for the time of a `with`."""

    def __enter__(self):
        with open("upper.ext4", "wb") as file:
            file.truncate(64 << 20)
        run("mkfs.ext4", "-q", "-F", "-O", "has_journal,metadata_csum", "upper.ext4")
        self.loop = Loop("upper.ext4")
        self.mounted = Mounted("ext4", self.loop.__enter__(), "journal_checksum")
        return self.mounted.__enter__()

    def __exit__(self, *_):
        self.mounted.__exit__()
        self.loop.__exit__()


@proves("EROFS_FS")
def image_with_a_device_and_chunks():
    with Image() as image, open(f"{image}/directory/file", "rb") as file:
        assert file.read() == CONTENT


@proves("EROFS_FS_XATTR")
def attributes_of_the_image():
    with Image() as image:
        file = f"{image}/directory/file"
        assert os.getxattr(file, "user.probe") == b"1"
        assert os.getxattr(file, "trusted.probe") == b"2"


@proves("EROFS_FS_SECURITY")
def capability_of_the_image():
    with Image() as image:
        assert os.getxattr(f"{image}/directory/file", "security.capability") == CAPABILITY


@proves("EXT4_FS", "JBD2", "CRYPTO_CRC32C")
def journaled_upper():
    with Upper() as upper:
        # Journal and checksums are at work only while this is there; both use crc32c.
        assert any(name.startswith("loop") for name in os.listdir("/proc/fs/jbd2"))
        with open(f"{upper}/file", "wb") as file:
            file.write(CONTENT)
            os.fsync(file.fileno())
        device = run("findmnt", "--noheadings", "--output", "SOURCE", upper)
        features = run("dumpe2fs", "-h", device)
        assert "metadata_csum" in features and "has_journal" in features


@proves("EXT4_FS_SECURITY")
def attributes_of_the_upper():
    with Upper() as upper:
        for name in ("user.probe", "trusted.probe"):
            os.setxattr(upper, name, b"1")
            assert os.getxattr(upper, name) == b"1"
        os.mknod(f"{upper}/file")
        os.setxattr(f"{upper}/file", "security.capability", CAPABILITY)
        assert os.getxattr(f"{upper}/file", "security.capability") == CAPABILITY


@proves("OVERLAY_FS")
def upper_over_the_image():
    with Image() as image, Upper() as upper:
        os.mkdir(f"{upper}/upper")
        os.mkdir(f"{upper}/work")
        options = f"lowerdir={image},upperdir={upper}/upper,workdir={upper}/work"
        # msb sets each of these itself; none may be refused.
        options += ",redirect_dir=on,index=on,metacopy=off"
        with Mounted("overlay", "overlay", options) as root:
            os.rename(f"{root}/directory", f"{root}/renamed")
            with open(f"{root}/renamed/file", "ab") as file:
                file.write(b"more")
            with open(f"{root}/renamed/file", "rb") as file:
                assert file.read() == CONTENT + b"more"
            assert os.getxattr(f"{root}/renamed/file", "user.probe") == b"1"
        assert os.getxattr(f"{upper}/upper/renamed", "trusted.overlay.redirect")


@proves("FUSE_FS", "VIRTIO_FS")
def host_directories():
    with open("/proc/filesystems") as file:
        kinds = file.read().split()
    assert "fuse" in kinds and "virtiofs" in kinds


@proves("SHMEM")
def shared_memory():
    memory = mmap.mmap(-1, 4096, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    child = os.fork()
    if child == 0:
        memory[:5] = b"child"
        os._exit(0)
    os.waitpid(child, 0)
    assert memory[:5] == b"child"


@proves("TMPFS")
def temporary_files():
    with Mounted("tmpfs", "tmpfs", "size=65536") as directory:
        try:
            with open(f"{directory}/file", "wb") as file:
                file.write(bytes(1 << 20))
        except OSError as error:
            assert error.errno == errno.ENOSPC
        else:
            raise AssertionError("the size is not kept")


@proves("TMPFS_XATTR")
def attributes_of_temporary_files():
    with Mounted("tmpfs", "tmpfs") as directory:
        for name in ("user.probe", "trusted.probe"):
            os.setxattr(directory, name, b"1")
            assert os.getxattr(directory, name) == b"1"


@proves("PROC_FS")
def processes_as_files():
    with Mounted("proc", "proc") as directory:
        assert os.readlink(f"{directory}/self") == str(os.getpid())


@proves("SYSFS")
def devices_as_files():
    with Mounted("sysfs", "sysfs") as directory:
        assert os.path.exists(f"{directory}/block/vda/serial")
