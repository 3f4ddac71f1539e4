"""What programs do to an image's files in the guest. Prints a line for each check: its name, then
"ok" or what is wrong."""

import ctypes
import errno
import mmap
import os
import shutil
import subprocess

LOWER = "/lower"
UPPER = "/run/msb/upper"
MANY = 100_000
MIB = 1 << 20


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def grown_bytes(change):
    """What a change costs on the upper disk."""

    def used():
        os.sync()
        stat = os.statvfs(UPPER)
        return (stat.f_blocks - stat.f_bfree) * stat.f_frsize

    before = used()
    change()
    return used() - before


def as_user(uid, work):
    """Whether `work` succeeds for a user without rights."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            os._exit(0 if work() else 1)
        except BaseException:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0


def rename_directory():
    cost = grown_bytes(lambda: os.rename(f"{LOWER}/directory", f"{LOWER}/renamed"))
    assert not os.path.exists(f"{LOWER}/directory")
    assert sorted(os.listdir(f"{LOWER}/renamed")) == ["a", "b", "c"]
    assert read(f"{LOWER}/renamed/a") == b"directory/a"
    assert cost < MIB, f"{cost} bytes"


def chmod():
    before = read(f"{LOWER}/large")
    cost = grown_bytes(lambda: os.chmod(f"{LOWER}/large", 0o4711))
    assert os.stat(f"{LOWER}/large").st_mode & 0o7777 == 0o4711
    assert read(f"{LOWER}/large") == before
    assert cost < MIB < len(before), f"{cost} bytes"


def chown():
    def change():
        for name in os.listdir(f"{LOWER}/owned"):
            os.chown(f"{LOWER}/owned/{name}", 12, 34)

    cost = grown_bytes(change)
    for name in os.listdir(f"{LOWER}/owned"):
        stat = os.stat(f"{LOWER}/owned/{name}")
        assert (stat.st_uid, stat.st_gid) == (12, 34)
        assert read(f"{LOWER}/owned/{name}") == name.encode() * 65536
    assert cost < MIB, f"{cost} bytes"


def setxattr():
    path = f"{LOWER}/noted"
    assert os.getxattr(path, "user.image") == b"1"
    os.setxattr(path, "user.guest", b"2")
    os.removexattr(path, "user.image")
    assert os.listxattr(path) == ["user.guest"]
    assert read(path) == b"noted"


def link():
    os.link(f"{LOWER}/linked", f"{LOWER}/another")
    one, other = os.stat(f"{LOWER}/linked"), os.stat(f"{LOWER}/another")
    assert one.st_ino == other.st_ino and one.st_nlink == 2
    write(f"{LOWER}/another", b"changed")
    assert read(f"{LOWER}/linked") == b"changed"


def hard_links():
    assert os.stat(f"{LOWER}/one").st_nlink == 2
    write(f"{LOWER}/one", b"changed")
    assert read(f"{LOWER}/two") == b"changed"
    os.unlink(f"{LOWER}/one")
    assert os.stat(f"{LOWER}/two").st_nlink == 1


def inode_numbers():
    path = f"{LOWER}/numbered"
    with open(path, "rb") as held:
        number = os.stat(path).st_ino
        os.chmod(path, 0o600)
        assert os.stat(path).st_ino == number, "after chmod"
        write(path, b"changed")
        assert os.stat(path).st_ino == number, "after a write"
        assert os.fstat(held.fileno()).st_ino == number, "of an open file"


def types():
    class Entry(ctypes.Structure):
        _fields_ = [
            ("d_ino", ctypes.c_uint64),
            ("d_off", ctypes.c_int64),
            ("d_reclen", ctypes.c_ushort),
            ("d_type", ctypes.c_ubyte),
            ("d_name", ctypes.c_char * 256),
        ]

    libc = ctypes.CDLL(None)
    libc.opendir.restype = ctypes.c_void_p
    libc.readdir.restype = ctypes.POINTER(Entry)
    libc.readdir.argtypes = libc.closedir.argtypes = [ctypes.c_void_p]
    stream = libc.opendir(f"{LOWER}/types".encode())
    seen = {}
    while entry := libc.readdir(stream):
        seen[entry.contents.d_name.decode()] = entry.contents.d_type
    libc.closedir(stream)
    expected = {".": 4, "..": 4, "directory": 4, "file": 8, "link": 10, "pipe": 1}
    assert seen == expected, seen


def unlink_open():
    with open(f"{LOWER}/unlinked", "rb") as file:
        os.unlink(f"{LOWER}/unlinked")
        assert file.read() == b"unlinked"
    assert not os.path.exists(f"{LOWER}/unlinked")


def mappings():
    path = f"{LOWER}/mapped"
    content = read(path)
    with open(path, "rb") as file:
        with mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ) as shared:
            assert shared[:] == content
        with mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE) as private:
            private[:4] = b"mine"
            assert private[:4] == b"mine" and read(path) == content
    with open(path, "r+b") as file:
        with mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED) as shared:
            shared[:4] = b"ours"
            shared.flush()
    assert read(path) == b"ours" + content[4:]


def execute():
    assert subprocess.run([f"{LOWER}/cat", "/dev/null"]).returncode == 0
    os.rename(f"{LOWER}/cat", f"{LOWER}/moved-cat")
    assert subprocess.run([f"{LOWER}/moved-cat", "/dev/null"]).returncode == 0


def capabilities():
    secret = "/secret"
    write(secret, b"secret")
    os.chmod(secret, 0o600)
    shows = lambda program: lambda: subprocess.run(
        [program, secret], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ).returncode == 0
    assert not as_user(1000, shows("/bin/cat"))
    assert as_user(1000, shows(f"{LOWER}/capable-cat"))


def access_lists():
    path = f"{LOWER}/listed"
    assert as_user(1000, lambda: read(path) == b"listed")
    assert not as_user(1001, lambda: read(path) == b"listed")
    # A copy on the upper disk keeps the list.
    write(path, b"changed")
    assert as_user(1000, lambda: read(path) == b"changed")
    assert not as_user(1001, lambda: read(path) == b"changed")


def set_access_lists():
    path = "/listed"
    write(path, b"listed")
    os.setxattr(path, "system.posix_acl_access", os.getxattr(f"{LOWER}/listed", "system.posix_acl_access"))
    assert as_user(1000, lambda: read(path) == b"listed")
    assert not as_user(1001, lambda: read(path) == b"listed")


def full_disk():
    os.mkdir("/fill")
    number, errors = 0, set()
    for size in [256 * MIB, MIB, 4096]:
        try:
            while True:
                with open(f"/fill/{number}", "wb") as file:
                    os.posix_fallocate(file.fileno(), 0, size)
                number += 1
        except OSError as error:
            errors.add(error.errno)
    try:
        write("/fill/written", os.urandom(MIB))
    except OSError as error:
        errors.add(error.errno)
    assert errors == {errno.ENOSPC}, errors
    try:
        write(f"{LOWER}/copied", b"x")
    except OSError as error:
        assert error.errno == errno.ENOSPC
    shutil.rmtree("/fill")
    write("/after", b"after")
    os.sync()
    assert read("/after") == b"after"


def changing_directory():
    directory = f"{LOWER}/many"
    seen = []
    with os.scandir(directory) as entries:
        for count, entry in enumerate(entries):
            if entry.name.startswith("image-"):
                seen.append(entry.name)
            if count % 1000 == 0 and count < 50_000:
                write(f"{directory}/guest-{count}", b"")
    assert len(seen) == MANY and len(set(seen)) == MANY, len(seen)
    for number in range(0, MANY, 1000):
        os.unlink(f"{directory}/image-{number}")
    left = [name for name in os.listdir(directory) if name.startswith("image-")]
    assert len(left) == MANY - MANY // 1000, len(left)


def remove_and_create():
    shutil.rmtree(f"{LOWER}/tree")
    os.makedirs(f"{LOWER}/tree/new")
    assert os.listdir(f"{LOWER}/tree") == ["new"]
    # Last of all: what is needed from here on is loaded.
    for name in os.listdir("/usr"):
        path = f"/usr/{name}"
        os.unlink(path) if os.path.islink(path) else shutil.rmtree(path)
    assert os.listdir("/usr") == []
    os.mkdir("/usr/bin")
    write("/usr/bin/new", b"new")
    assert os.listdir("/usr") == ["bin"] and os.listdir("/usr/bin") == ["new"]


def main():
    # Imported late, from what is removed in the end.
    import encodings.idna  # noqa: F401

    for check in [
        rename_directory,
        chmod,
        chown,
        setxattr,
        link,
        hard_links,
        inode_numbers,
        types,
        unlink_open,
        mappings,
        execute,
        capabilities,
        access_lists,
        set_access_lists,
        full_disk,
        changing_directory,
        remove_and_create,
    ]:
        try:
            check()
            result = "ok"
        except Exception as error:
            line = error.__traceback__.tb_next.tb_lineno if error.__traceback__.tb_next else 0
            result = f"{type(error).__name__} in line {line}: {error}"
        print(check.__name__, result, flush=True)


main()
