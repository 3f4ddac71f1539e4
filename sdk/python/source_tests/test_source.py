"""The sources: what is generated is current, and one surface is that of the operations and the guide."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import msb
from msb import SandboxOptions

PACKAGE = Path(__file__).resolve().parents[1]
GUIDE = PACKAGE.parents[1] / "docs/guide/python.md"
OPERATIONS = PACKAGE.parents[1] / "crates/sdk-binding/operations.toml"


def operations() -> dict[tuple[str, str], list[str]]:
    """Returns the parameters of each operation by its object and name."""
    found = {}
    for block in OPERATIONS.read_text().split("[[operation]]")[1:]:
        on, name = re.search(r'on = "(.*)"', block)[1], re.search(r'name = "(.*)"', block)[1]
        found[on, name] = re.findall(
            r'"(\w+)"', re.search(r"parameters = \[(.*?)\]", block, re.S)[1]
        )
    return found


def test_the_synchronous_client_is_current():
    command = [sys.executable, str(PACKAGE / "generate_sync.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_both_clients_have_the_same_methods_and_parameters():
    pairs = [name for name in msb.__all__ if f"Async{name}" in msb.__all__]
    assert len(pairs) >= 15
    for name in pairs:
        one, other = getattr(msb, name), getattr(msb, f"Async{name}")
        public = [member for member in vars(one) if not member.startswith("_")]
        assert public == [member for member in vars(other) if not member.startswith("_")]
        for member in public:
            if inspect.isfunction(getattr(one, member)):
                ours = inspect.signature(getattr(one, member)).parameters
                theirs = inspect.signature(getattr(other, member)).parameters
                assert list(ours) == list(theirs), f"{name}.{member}"


def test_every_operation_is_called():
    source = "".join(path.read_text() for path in (PACKAGE / "python/msb/_async").glob("*.py"))
    source += (PACKAGE / "python/msb/_core.py").read_text()
    missing = [name for _on, name in operations() if f'"{name}"' not in source]
    # A handle is closed without a call.
    assert set(missing) <= {"close"}


def test_every_operation_is_called_in_typescript():
    sources = PACKAGE.parents[1].glob("sdk/typescript/src/*.ts")
    source = "".join(path.read_text() for path in sources)
    assert not [name for _on, name in operations() if f'"{name}"' not in source]


def test_the_stub_of_the_native_module_is_current():
    command = [sys.executable, "-m", "mypy.stubtest", "msb._native"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_options_of_a_sandbox_are_those_of_the_operation():
    written = {
        f"{name}_ms"
        if name in {"max_duration", "idle_timeout", "stop_timeout", "boot_timeout"}
        else name
        for name in SandboxOptions.__annotations__
    }
    for operation in ["sandboxes.run", "sandboxes.create"]:
        assert written | {"image"} == set(operations()["client", operation])


def test_every_public_name_is_documented():
    bare = []
    for name in msb.__all__:
        value = getattr(msb, name)
        if inspect.isclass(value):
            members = {
                f"{name}.{key}": member
                for key, member in vars(value).items()
                if not key.startswith("_")
            }
            functions = {
                key: m
                for key, m in members.items()
                if inspect.isfunction(m) or isinstance(m, property)
            }
            bare += [
                key for key, member in {name: value, **functions}.items() if not member.__doc__
            ]
    assert not bare


def test_the_guide_shows_the_examples():
    blocks = GUIDE.read_text().split("```python\n")[1:]
    shown = [block.split("```")[0] for block in blocks]
    sources = "\n".join(file.read_text() for file in (PACKAGE / "examples").glob("*.py"))
    assert shown
    for block in shown:
        lines = [line for line in block.splitlines() if line]
        missing = [line for line in lines if line.strip() not in sources]
        assert not missing, missing


def lines(path: Path) -> int:
    """Returns the number of lines that are neither blank nor only a comment or a docstring."""
    comments = {".rs": "//", ".py": ("#", '"""'), ".ts": ("//", "/*", "*")}[path.suffix]
    texts = [line.strip() for line in path.read_text().splitlines()]
    return len([text for text in texts if text and not text.startswith(comments)])


def test_the_compared_examples_have_the_lengths_that_the_documentation_says():
    root = PACKAGE.parents[1]
    rows = re.findall(
        r"^\| ([a-z-]+) ((?:\| \d+ ){6})\|$", (root / "docs/sdk-examples.md").read_text(), re.M
    )
    assert len(rows) == len(list((PACKAGE / "examples/compared").glob("*.py"))) == 7
    for name, cells in rows:
        numbers = [int(cell) for cell in cells.split("|")[1:]]
        file = name.replace("-", "_")
        ours = [
            lines(root / "crates/sdk/examples/compared" / f"{file}.rs"),
            lines(PACKAGE / "examples/compared" / f"{file}.py"),
            lines(root / "sdk/typescript/examples/compared" / f"{name}.ts"),
        ]
        assert ours == numbers[3:], name
        assert all(our <= their for our, their in zip(ours, numbers[:3], strict=True)), name
