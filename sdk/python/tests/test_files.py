"""Files of running and stopped sandboxes."""

import hashlib
import io
import os
import tarfile

import pytest
from msb import errors

from .conftest import count
from .test_exec import resident_bytes

pytestmark = pytest.mark.machine


@pytest.fixture(scope="module")
def files(sandbox):
    sandbox.files.mkdir("/files")
    return sandbox.files


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
