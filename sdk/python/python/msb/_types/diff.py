"""Changes of the files of a sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from .file import FileInfo
from .mount import RuleState


class ChangeKind(str, Enum):
    """The kind of a change."""

    ADDED = "added"
    CHANGED = "changed"
    DELETED = "deleted"

    @property
    def letter(self) -> str:
        """The letter that `docker diff` prints: `A`, `C` or `D`."""
        return self.value[0].upper()


@dataclass(frozen=True)
class Xattr:
    """An extended attribute of a file."""

    name: str
    """The full name, such as `user.note`."""
    value: str
    """The value. Bytes that are not UTF-8 are surrogates, as with `os.fsdecode`."""


@dataclass(frozen=True)
class ChangedFile(FileInfo):
    """The attributes of a file on one side of a change."""

    xattrs: tuple[Xattr, ...] = ()
    """The extended attributes, sorted by name."""


@dataclass(frozen=True)
class Change:
    """A name that stands for different files on the two sides of a comparison."""

    index: int
    """The index in the comparison."""
    path: str
    """The path, from `/` on. Bytes that are not UTF-8 are surrogates, as with `os.fsdecode`."""
    kind: ChangeKind
    """The kind of the change."""
    changed: tuple[str, ...] = ()
    """The properties of a changed file that differ: `type`, `content`, `mode`, `owner`, `mtime`, `xattrs`, `target`,
    `device`, `links`."""
    old: ChangedFile | None = None
    """The old file; `None` if the name was added."""
    new: ChangedFile | None = None
    """The new file; `None` if the name was deleted."""
    hard_link: str | None = None
    """Another name of the new file, which has several."""
    renamed_from: str | None = None
    """The path from which the file was moved, if that is known."""
    is_implied: bool = False
    """True if the name is deleted because a directory above it is deleted or replaced."""

    @property
    def letter(self) -> str:
        """The letter that `docker diff` prints: `A`, `C` or `D`."""
        return self.kind.letter


@dataclass(frozen=True)
class PatchLines:
    """The extent of a change of content."""

    type: Literal["unchanged", "text", "binary"]
    """`unchanged`, also if the file has no content; `text`; or `binary`, also for text of more than 8 MiB."""
    inserted: int = 0
    """Number of lines that were inserted into a text."""
    deleted: int = 0
    """Number of lines that were deleted from a text."""
    old_bytes: int = 0
    """Size of the old binary file, in bytes."""
    new_bytes: int = 0
    """Size of the new binary file, in bytes."""


@dataclass(frozen=True)
class Patch:
    """A change in the form of `git diff`."""

    text: bytes
    """The text, with the prefixes `a/` and `b/`; empty if nothing of the change can be expressed."""
    lines: PatchLines
    """The extent of the change."""
    is_partial: bool
    """True if `git apply` does not make the whole change, such as an owner or a binary file."""


@dataclass(frozen=True)
class AppliedChange:
    """A change of a file of this host."""

    path: str
    """The path in the directory. Bytes that are not UTF-8 are surrogates, as with `os.fsdecode`."""
    kind: ChangeKind
    """The kind of the change."""


@dataclass(frozen=True)
class DiscardedChange:
    """A change that takes another one back."""

    path: str
    """The path, from `/` on. Bytes that are not UTF-8 are surrogates, as with `os.fsdecode`."""
    kind: ChangeKind
    """The kind of the change: a name that the sandbox added is deleted."""


@dataclass(frozen=True)
class MarkedChange:
    """A change that has an effect beyond its file, such as commands that a program of this host runs."""

    path: str
    """The path in the directory. Bytes that are not UTF-8 are surrogates, as with `os.fsdecode`."""
    sandbox_path: str
    """The path in the sandbox, from `/` on."""
    effect: str
    """The effect, as a clause."""
    needs_acceptance: bool = False
    """True if the change is applied only once its path is accepted."""


@dataclass(frozen=True)
class RefusedChange:
    """A change that a rule of a staged directory keeps out of the directory of this host."""

    path: str
    """The path in the directory. Bytes that are not UTF-8 are surrogates, as with `os.fsdecode`."""
    sandbox_path: str
    """The path in the sandbox, from `/` on."""
    state: RuleState
    """The state of the path: `read-only`, `deny` or `hide`."""
    rule: str
    """The rule, `PATH=STATE`, or the program of this host that would run commands of the file."""


@dataclass(frozen=True)
class Applied:
    """Changes that were put into a directory of this host, or would be."""

    changes: tuple[AppliedChange, ...] = ()
    """The changes, parents before children. Of a removed directory only the directory itself is listed."""
    sockets: tuple[str, ...] = ()
    """Paths of changed sockets, which are left out."""
    left_out: tuple[str, ...] = ()
    """Paths in the sandbox of the repositories of git whose changes are left out, because no path names them."""
    marked: tuple[MarkedChange, ...] = ()
    """The changes that have an effect beyond their files."""
    refused: tuple[RefusedChange, ...] = ()
    """The changes that a rule of a staged directory keeps back."""


@dataclass(frozen=True, kw_only=True)
class AppliedDirectory(Applied):
    """Changes that were put into the directory of this host that a staged directory was made of, or would be."""

    target: str
    """The path in the sandbox."""
    directory: str
    """The directory of this host."""


@dataclass(frozen=True)
class TextHunk:
    """A hunk of a change of text, as `git diff` has it."""

    text: bytes
    """The text, from the line `@@` on."""
    overlaps: bool
    """True if this host changed the same lines in another way, so that the hunk cannot be applied."""


@dataclass(frozen=True, kw_only=True)
class PlannedChange:
    """A change that is about to be put into a directory of this host."""

    index: int
    """The index in the plan."""
    directory: str
    """The directory of this host."""
    path: str
    """The path in the directory. Bytes that are not UTF-8 are surrogates, as with `os.fsdecode`."""
    kind: ChangeKind
    """The kind of the change."""
    effect: str | None = None
    """The effect of the change beyond its file, as a clause; `None` if it has none."""
    needs_acceptance: bool = False
    """True if only a yes, or an accepted path, lets the change be made: programs of this host run its commands."""
    patch: bytes = b""
    """The change in the form of `git diff`."""
    hunks: tuple[TextHunk, ...] = ()
    """The hunks of the change, if it is one of a text."""


@dataclass(frozen=True)
class Committed:
    """An image that was made of a sandbox."""

    digest: str
    """The digest of the image's manifest."""
    name: str
    """The image's name, in full."""
    layer: str | None = None
    """The digest of the uncompressed layer; `None` if the image has the same layers as its parent."""
    layer_bytes: int = 0
    """The length of the uncompressed layer, in bytes."""
    notes: tuple[str, ...] = ()
    """Files and attributes that the layer lacks, each as a clause; the first hundred of them."""
    notes_total: int = 0
    """The number of all such files and attributes."""
