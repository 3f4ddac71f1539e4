"""Conversions of values and options, without a machine."""

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest
from msb import Mount, Network, Port, RootDisk, Rule, SandboxOptions, errors
from msb import _core as core
from msb import _names as names
from msb import _options as options
from msb import _types as types
from msb import _values as values


@pytest.mark.parametrize("raw", [b"plain", "ä".encode(), b"\xff\x00", bytes(range(256))])
def test_text_of_guests_survives_json(raw):
    written = json.loads(json.dumps(values.text(raw)))
    assert os.fsencode(values.read_text(written)) == raw
    assert values.text(os.fsdecode(raw)) == written
    assert values.text(Path("/a")) == "/a"


@pytest.mark.parametrize(
    ("given", "expected"),
    [(None, None), (0, 0), (1.5, 1500), (0.0001, 1), (timedelta(minutes=1), 60000)],
)
def test_durations_are_milliseconds_rounded_up(given, expected):
    assert values.milliseconds(given, "timeout") == expected


@pytest.mark.parametrize("given", [-1, float("nan"), float("inf"), timedelta(seconds=-1)])
def test_a_duration_that_is_none_is_refused_by_name(given):
    with pytest.raises(errors.InvalidArgument, match="timeout="):
        values.milliseconds(given, "timeout")


def test_text_is_no_command():
    with pytest.raises(errors.InvalidArgument) as caught:
        values.argv("ls -l")
    assert "shell()" in caught.value.hint


def test_a_dataclass_ignores_fields_that_are_newer_than_it():
    stat = values.decode(types.FileInfo, {"name": {"bytes": "/w=="}, "type": "file", "new": 1})
    assert stat.name == "\udcff"
    assert stat.type is types.FileType.FILE
    info = values.decode(types.VolumeInfo, {"name": "v", "labels": {"a": "b"}})
    assert info.labels == {"a": "b"}


def test_a_record_of_the_network_has_the_fields_of_its_event():
    line = {"time": "t", "event": "dns", "name": "a.test", "type": "A", "code": "NXDOMAIN"}
    record = values.decode(types.NetworkRecord, {**line, "verdict": "denied", "new": 1})
    assert (record.name, record.type, record.verdict) == ("a.test", "A", "denied")
    assert (record.count, record.flow, record.hint) == (1, None, None)


def test_nested_values_are_read():
    value = {
        "id": "i",
        "name": "n",
        "image": "alpine",
        "image_digest": "sha256:0",
        "created_s": 1,
        "state": "stopped",
        "exit": {"code": 137, "signal": 9},
        "ports": [
            {"guest_port": 80, "host_port": 1, "host_address": "127.0.0.1", "protocol": "tcp"}
        ],
        "network": {"reach": "none"},
    }
    info = values.decode(types.SandboxInfo, value)
    assert info.state is types.SandboxState.STOPPED
    assert info.exit == types.Exit(137, 9)
    assert info.ports == [Port(80, 1)]
    assert info.rest == {"network": {"reach": "none"}}


def test_a_word_that_is_newer_than_the_package_stays_text():
    assert values.decode(types.FileInfo, {"name": "a", "type": "portal"}).type == "portal"


def test_options_are_written_with_the_names_of_the_rust_sdk():
    given: SandboxOptions = {
        "memory": "1G",
        "tty": True,
        "ports": {80: None, 443: 8443},
        "mounts": [Mount.bind("/a", "/b", read_only=True)],
        "network": Network.listed(["pypi.org"]),
        "copy": {Path("/h"): "/g"},
        "root_disk": RootDisk(Path("/d.qcow2"), partition=2),
        "native_root": True,
        "hosts": {"db": "10.0.0.1"},
        "restart": "on-failure:3",
        "ulimits": {"nofile": 10, "core": (0, None)},
        "max_duration": timedelta(hours=1),
    }
    written = options.sandbox("alpine", "run", given)
    assert written == {
        "image": "alpine",
        "memory": "1G",
        "tty": {"rows": 24, "cols": 80},
        "ports": [{"guest_port": 80, "host_port": 0}, {"guest_port": 443, "host_port": 8443}],
        "mounts": [
            {
                "type": "bind",
                "target": "/b",
                "source": "/a",
                "read_only": True,
                "exec": False,
                "rules": [],
                "default_rules": True,
            }
        ],
        "network": {
            "mode": "listed",
            "allow": ["pypi.org"],
            "deny": [],
            "dns": [],
            "ask": False,
            "upstream_proxy": None,
            "log": "http",
        },
        "copy": [{"source": "/h", "destination": "/g"}],
        "root_disk": {"path": "/d.qcow2", "format": None, "filesystem": None, "partition": 2},
        "native_root": True,
        "hosts": [{"names": ["db"], "address": "10.0.0.1"}],
        "restart": {"on-failure": {"retries_max": 3}},
        "ulimits": {"nofile": 10, "core": {"soft": 0, "hard": None}},
        "max_duration_ms": 3600000,
    }


def test_rules_of_a_staged_directory_are_text_or_values():
    rules = ["target=hide", Rule("docs", "read-only"), Rule(b"\xff", "deny")]
    mount = Mount.staged(Path("/a"), "/b", rules=rules, default_rules=False)
    assert hash(mount) == hash(Mount.staged("/a", "/b", rules=rules, default_rules=False))
    (written,) = options.sandbox("alpine", "run", {"mounts": [mount]})["mounts"]
    assert (written["type"], written["source"], written["target"]) == ("staged", "/a", "/b")
    assert (written["read_only"], written["default_rules"]) == (False, False)
    assert written["rules"] == [
        "target=hide",
        {"path": "docs", "state": "read-only"},
        {"path": {"bytes": "/w=="}, "state": "deny"},
    ]
    json.dumps(written)
    with pytest.raises(errors.InvalidArgument, match="'a=hide' is not a list"):
        Mount.staged("/a", "/b", rules="a=hide")


def test_what_was_applied_to_staged_directories_is_read():
    change = {"path": "LICENSE", "sandbox_path": "/work/LICENSE"}
    value = {
        "target": "/work",
        "directory": "/home/me/project",
        "changes": [{"path": "app.py", "kind": "changed"}],
        "sockets": [],
        "left_out": ["/work/.git"],
        "marked": [],
        "refused": [{**change, "state": "read-only", "rule": "LICENSE=read-only"}],
    }
    applied = values.decode(types.AppliedDirectory, value)
    assert (applied.target, applied.directory) == ("/work", "/home/me/project")
    assert applied.changes == (types.AppliedChange("app.py", types.ChangeKind.CHANGED),)
    refused = types.RefusedChange("LICENSE", "/work/LICENSE", "read-only", "LICENSE=read-only")
    assert applied.refused == (refused,)
    assert values.decode(types.Applied, {"changes": []}).refused == ()


def test_an_unknown_option_is_a_type_error_that_names_it():
    with pytest.raises(TypeError, match=r"run\(\) got an unexpected keyword argument 'memroy'"):
        options.sandbox("alpine", "run", {"memroy": "1G"})


def test_a_value_that_json_cannot_hold_is_an_invalid_argument():
    with pytest.raises(errors.InvalidArgument):
        values.dumps({"labels": {"a": object()}})


def test_wrong_types_are_type_errors():
    for wrong in [7, [65, 66], None, 1.5]:
        with pytest.raises(TypeError, match="data must be str or bytes-like, not"):
            core.as_bytes(wrong)
    assert core.as_bytes(memoryview(b"ab")) == b"ab"
    for name, wrong in [("network", False), ("ports", 80), ("user", 1.5), ("user", True)]:
        with pytest.raises(TypeError, match=name):
            options.sandbox("alpine", "run", {name: wrong})
    for wrong in [7, object()]:
        with pytest.raises(TypeError, match="name"):
            names.name(wrong)


def test_ports_and_users_are_taken_as_docker_takes_them():
    written = options.sandbox(
        "alpine", "run", {"ports": {"80/tcp": 8080, "53/udp": None}, "user": 1000}
    )
    assert written["user"] == "1000"
    assert written["ports"] == [
        {"guest_port": 80, "host_port": 8080, "protocol": "tcp"},
        {"guest_port": 53, "host_port": 0, "protocol": "udp"},
    ]
    with pytest.raises(errors.InvalidArgument, match="'http' is not a port"):
        options.sandbox("alpine", "run", {"ports": {"http": 80}})


def test_objects_stand_for_their_names():
    snapshot = types.SnapshotInfo(sandbox="web", name="ready", number=1, created_s=1)
    assert names.name(snapshot) == "ready"
    assert names.side(snapshot) == "web@ready"
    assert names.side("app:1") == "app:1"
