# Generated from _async/_sandbox_changes.py by generate_sync.py: edit that file.
from __future__ import annotations

import os
from collections.abc import Sequence

from .. import _names, _values
from .._core import Link
from .._names import Name, Side
from .._types import Applied, Committed, DiscardedChange
from .._values import Text, decode
from ._bridge import call, opening
from ._diff import Diff


class SandboxChanges:
    """The changes of a sandbox's files: listed, taken back, put elsewhere, made an image."""

    _link: Link

    def diff(
        self,
        paths: Sequence[Text] = (),
        *,
        exclude: Sequence[Text] = (),
        include: Sequence[Text] = (),
        snapshot: Name | None = None,
        pause: bool = True,
    ) -> Diff:
        """Compares the sandbox, or a snapshot of it, with what it began with.

        That is its image, with the files that were copied and written before its first boot.
        `exclude` and `include` are patterns of paths, as gitignore has them: changes that an `exclude` matches are left
        out, and if there are includes, only the changes that one of them matches are taken.

        `paths` limits the comparison to them and what is below them; symlinks are not followed. Use the result with
        `with`: until it is closed, a stopped sandbox cannot be started. The disk of a running sandbox is frozen
        while it is copied, for at most 60 seconds; with `pause=False` a running sandbox is refused.

        Raises `PathNotFound` if neither side has one of the paths. For a running sandbox it also raises
        `SandboxRunning`, `OutOfSpace` if this host has no room for the copy, and `Busy` if the disk did not stay
        frozen until it was copied.
        """
        options: dict[str, object] = {
            "paths": _values.paths(paths),
            "exclude": _values.paths(exclude),
            "include": _values.paths(include),
            "snapshot": _names.optional(snapshot),
            "pause": pause,
        }
        return opening(self._diff(options))

    def _diff(self, options: dict[str, object]) -> Diff:
        reply = call(self._link, "diff", options)
        return Diff(reply.new)

    def discard(
        self,
        paths: Sequence[Text],
        *,
        base: Side | None = None,
        exclude: Sequence[Text] = (),
        include: Sequence[Text] = (),
        dry_run: bool = False,
    ) -> list[DiscardedChange]:
        """Takes back all changes of the stopped sandbox at and below these paths, and returns what that changes.

        The files are then what the sandbox began with, or those of `base`: a sandbox, a snapshot or an image.
        With `dry_run=True` nothing is written.
        `exclude` and `include` are patterns of paths, as gitignore has them: changes that an `exclude` matches are left
        out, and if there are includes, only the changes that one of them matches are taken.

        Raises `SandboxRunning`, `PathNotFound` if neither side has one of the paths, and `InvalidArgument` if a path
        is in a directory that the sandbox deleted or replaced, or a file would be deleted of which there is no copy.
        The sandbox is unchanged then.
        """
        options = {
            "paths": _values.paths(paths),
            "base": None if base is None else _names.side(base),
            "exclude": _values.paths(exclude),
            "include": _values.paths(include),
            "dry_run": dry_run,
        }
        reply = call(self._link, "discard", options)
        return [decode(DiscardedChange, change) for change in reply.value]

    def apply(
        self,
        directory: str | os.PathLike[str],
        paths: Sequence[Text] = (),
        *,
        from_path: Text | None = None,
        base: Side | None = None,
        snapshot: Name | None = None,
        exclude: Sequence[Text] = (),
        include: Sequence[Text] = (),
        accept: Sequence[Text] = (),
        owner: bool = False,
        dry_run: bool = False,
        pause: bool = True,
    ) -> Applied:
        """Puts the changes of the sandbox into a directory of this host.

        The changes below `from_path`, the root by default, go into `directory`. `base` is the sandbox, snapshot or
        image that the sandbox is compared with; what it began with by default. With `snapshot` the changes are those
        of a snapshot. `owner=True` applies owners, too, which takes root. With `dry_run=True` nothing is
        written. A running sandbox is frozen, or refused, as by `diff`.
        `exclude` and `include` are patterns of paths, as gitignore has them: changes that an `exclude` matches are left
        out, and if there are includes, only the changes that one of them matches are taken.

        Repositories of git are left out, unless a path leads into one. Changes that make programs of this host run
        commands, such as `.envrc`, are applied only at and below the paths of the sandbox in `accept`.

        Raises what `diff` raises, `PathExists` if files of the host are in the way, and `PermissionDenied` if changes
        are not accepted: then nothing is changed, and the details `conflicts` and `marked` list them.
        """
        options = {
            "directory": os.fspath(directory),
            "paths": _values.paths(paths),
            "from": None if from_path is None else _values.text(from_path),
            "base": None if base is None else _names.side(base),
            "snapshot": _names.optional(snapshot),
            "exclude": _values.paths(exclude),
            "include": _values.paths(include),
            "accept": _values.paths(accept),
            "owner": owner,
            "dry_run": dry_run,
            "pause": pause,
        }
        reply = call(self._link, "apply", options)
        return decode(Applied, reply.value)

    def commit(
        self,
        name: str,
        *,
        message: str | None = None,
        author: str | None = None,
        changes: Sequence[str] = (),
        source_date_epoch: int | None = None,
        exclude: Sequence[Text] = (),
        include: Sequence[Text] = (),
        snapshot: Name | None = None,
        pause: bool = True,
    ) -> Committed:
        """Makes an image of the sandbox: a child of its image, or of the last image that was made of it.

        The image of a `snapshot` is a child of the sandbox's own image.

        `changes` are instructions of a Dockerfile for running the image, such as `CMD ["python3"]`. With
        `source_date_epoch`, in seconds, the same changes make the same image. A running sandbox is frozen, or
        refused, as by `diff`.
        `exclude` and `include` are patterns of paths, as gitignore has them: changes that an `exclude` matches are left
        out, and if there are includes, only the changes that one of them matches are taken.

        Raises what `diff` raises, and `InvalidArgument`.
        """
        options = {
            "name": name,
            "message": message,
            "author": author,
            "changes": [*changes],
            "source_date_epoch": source_date_epoch,
            "exclude": _values.paths(exclude),
            "include": _values.paths(include),
            "snapshot": _names.optional(snapshot),
            "pause": pause,
        }
        reply = call(self._link, "commit", options)
        return decode(Committed, reply.value)
