"""Files of running and stopped sandboxes."""

import hashlib
import io
import os
import tarfile

import pytest
from msb import FileType, errors

from .conftest import count
from .test_exec import resident_bytes

pytestmark = pytest.mark.machine


@pytest.fixture(scope="module")
def files(sandbox):
    sandbox.files.mkdir("/files")
    return sandbox.files


def test_content_survives(files):
    for content in [b"", b"x", bytes(range(256)) * 1000, b"no newline"]:
        files.write("/files/a", content)
        assert files.read("/files/a") == content
    files.write("/files/text", "ä\n")
    assert files.read_text("/files/text") == "ä\n"


def test_modes_and_parents(files):
    with pytest.raises(errors.PathNotFound):
        files.write("/files/new/deep/a", b"x")
    files.write("/files/new/deep/a", b"x", parents=True, mode=0o600)
    assert files.stat("/files/new/deep/a").mode == 0o600
    files.write("/files/new/deep/a", b"y")
    assert files.stat("/files/new/deep/a").mode == 0o600
    files.chmod("/files/new/deep/a", 0o4755)
    assert files.stat("/files/new/deep/a").mode == 0o4755


def test_directories(files):
    files.mkdir("/files/dir", mode=0o700)
    with pytest.raises(errors.PathExists):
        files.mkdir("/files/dir")
    files.mkdir("/files/dir", parents=True)
    files.write("/files/dir/a", b"x")
    with pytest.raises(errors.MsbError):
        files.remove("/files/dir")
    files.remove("/files/dir", recursive=True)
    assert not files.exists("/files/dir")
    with pytest.raises(FileNotFoundError):
        files.remove("/files/dir")
    files.remove("/files/dir", missing_ok=True)


def test_rename_replaces(files):
    files.write("/files/from", b"new")
    files.write("/files/to", b"old")
    files.rename("/files/from", "/files/to")
    assert files.read("/files/to") == b"new"
    assert not files.exists("/files/from")


def test_names_are_any_bytes_but_nul_and_slash(files):
    files.mkdir("/files/names")
    names = [bytes([byte]) for byte in range(1, 256) if byte not in b"/."]
    names = names if count(0, 1) else names[::16] + [b"\xff", b"\n"]
    for name in names:
        files.write(b"/files/names/" + name, name)
    listed = {os.fsencode(info.name) for info in files.list("/files/names")}
    assert listed == set(names)
    for name in names:
        assert files.read(b"/files/names/" + name) == name


def test_symlinks(sandbox, files):
    sandbox.shell(
        "ln -s target /files/link; ln -s loop /files/loop; echo t > /files/target", check=True
    )
    link = files.stat("/files/link", follow=False)
    assert (link.type, link.target, link.name) == (FileType.SYMLINK, "target", "link")
    assert files.stat("/files/link").type is FileType.FILE
    assert files.read("/files/link") == b"t\n"
    with pytest.raises(errors.MsbError):
        files.read("/files/loop")


def test_large_directories(sandbox, files):
    entries = count(2000, 10000)
    sandbox.shell(f"mkdir /files/many; cd /files/many; seq 1 {entries} | xargs touch", check=True)
    assert len(files.list("/files/many")) == entries


def test_streams_need_little_memory(sandbox, files):
    size = count(24, 100) << 20
    sandbox.shell(f"head -c {size} /dev/urandom > /files/big", check=True)
    expected = sandbox.exec(["sha256sum", "/files/big"]).text.split()[0]
    before, peak, found = resident_bytes(), 0, hashlib.sha256()
    for number, part in enumerate(files.read_stream("/files/big")):
        found.update(part)
        if number % 16 == 0:
            peak = max(peak, resident_bytes() - before)
    assert found.hexdigest() == expected
    assert peak < 32 << 20
    content = os.urandom(size)
    before = resident_bytes()
    files.write("/files/big", content)
    assert resident_bytes() - before < 32 << 20
    assert (
        sandbox.exec(["sha256sum", "/files/big"]).text.split()[0]
        == hashlib.sha256(content).hexdigest()
    )
    files.remove("/files/big")


def test_copies_between_host_and_sandbox(files, tmp_path):
    (tmp_path / "tree/sub").mkdir(parents=True)
    (tmp_path / "tree/sub/a").write_bytes(b"from the host")
    copied = files.upload(tmp_path / "tree", "/files")
    assert copied.entries >= 3
    assert files.read("/files/tree/sub/a") == b"from the host"
    files.download("/files/tree", tmp_path / "back")
    assert (tmp_path / "back/sub/a").read_bytes() == b"from the host"
    with pytest.raises(errors.PathNotFound):
        files.upload(tmp_path / "missing", "/files")
    with pytest.raises(errors.PathNotFound):
        files.download("/files/missing", tmp_path)


def test_archives(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo("packed/a")
        info.size = 6
        archive.addfile(info, io.BytesIO(b"packed"))
    files.mkdir("/files/tar")
    with files.put_tar("/files/tar") as upload:
        data = buffer.getvalue()
        upload.write(data[:700])
        upload.write(data[700:])
    assert files.read("/files/tar/packed/a") == b"packed"
    packed = io.BytesIO(files.get_tar("/files/tar/packed").read())
    with tarfile.open(fileobj=packed) as archive:
        members = archive.getmembers()
    assert any(member.name.endswith("a") and member.size == 6 for member in members)


def test_a_stream_can_be_closed_early(files):
    files.write("/files/long", b"x" * (4 << 20))
    with files.read_stream("/files/long") as stream:
        assert next(stream)
    with pytest.raises(StopIteration):
        next(stream)
    with pytest.raises(errors.PathNotFound):
        next(files.read_stream("/files/none"))
