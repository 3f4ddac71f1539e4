"""The tree of errors, without a machine."""

import pickle

import pytest
from msb import errors
from msb.errors import MsbError, from_description

TREE = {
    "MsbError": [
        "InvalidArgument",
        "NotFound",
        "AlreadyExists",
        "Busy",
        "NotRunning",
        "NotPaused",
        "PermissionDenied",
        "OutOfSpace",
        "PullError",
        "StartError",
        "SandboxEnded",
        "CommandError",
        "VersionMismatch",
        "ForkedError",
        "Unsupported",
        "InternalError",
    ],
    "NotFound": [
        "SandboxNotFound",
        "ImageNotFound",
        "VolumeNotFound",
        "PathNotFound",
        "JobNotFound",
    ],
    "AlreadyExists": ["NameTaken", "PathExists"],
    "Busy": ["SandboxRunning", "SandboxPaused", "VolumeInUse", "ImageInUse", "PortInUse"],
    "PullError": ["RegistryError", "Unauthorized"],
    "StartError": ["KernelMissing", "VmmMissing", "BootTimeout", "MachineFailed"],
    "CommandError": [
        "CommandFailed",
        "CommandNotFound",
        "NotExecutable",
        "CommandTimeout",
        "OutputLimit",
    ],
}


def described(kind, parents=(), **fields):
    description = {
        "kind": kind,
        "parents": list(parents),
        "code": "some-code",
        "message": "a message",
        "hint": None,
        "details": {},
        "causes": [],
    }
    return {**description, **fields}


def test_the_tree_is_the_documented_one():
    for parent, children in TREE.items():
        found = getattr(errors, parent).__subclasses__()
        assert [child.__name__ for child in found] == children


def test_codes_are_the_names_in_kebab_case():
    classes = [getattr(errors, name) for names in TREE.values() for name in names]
    for kind in classes:
        words = "".join(f"-{c.lower()}" if c.isupper() else c for c in kind.__name__)
        assert kind("a message").code == words[1:]


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        ("CommandTimeout", TimeoutError),
        ("BootTimeout", TimeoutError),
        ("PathNotFound", FileNotFoundError),
        ("PathExists", FileExistsError),
        ("PermissionDenied", PermissionError),
    ],
)
def test_some_errors_are_builtin_ones_too(kind, builtin):
    error = from_description(described(kind, details={"path": "/a"}))
    assert isinstance(error, builtin)
    assert isinstance(error, MsbError)
    assert error.filename == "/a"
    assert error.errno is not None
    assert str(error) == "a message"


def test_a_description_becomes_an_error_with_all_its_fields():
    description = described(
        "CommandTimeout", ["CommandError"], hint="wait longer", details={"last_words": ["x"]}
    )
    error = from_description(description, [b"out", b"err"])
    assert type(error) is errors.CommandTimeout
    assert (error.code, error.hint) == ("some-code", "wait longer")
    assert (error.stdout, error.stderr, error.last_words) == (b"out", b"err", ["x"])
    assert str(error) == "a message\nhint: wait longer"


def test_a_kind_that_is_newer_than_the_package_is_its_parent():
    assert type(from_description(described("LinkNotFound", ["NotFound"]))) is errors.NotFound
    assert type(from_description(described("Surprise"))) is MsbError


def test_errors_survive_pickling():
    error = errors.PathNotFound("a message", hint="h", details={"path": "/a"}, stdout=b"o")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is errors.PathNotFound
    assert vars(copy) == vars(error)
    assert copy.filename == "/a"
