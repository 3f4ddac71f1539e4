from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import overload

from .. import _names, _values
from .._core import Link
from .._names import Name, Side
from .._types import (
    Applied,
    AppliedDirectory,
    Committed,
    DiscardedChange,
    PlannedChange,
    TextHunk,
)
from .._values import Text, decode
from ._bridge import Opening, call, opening
from ._diff import AsyncDiff

#: Decides about a change: as a whole, or with a value for each of its hunks.
OnChange = Callable[[PlannedChange], bool | Sequence[bool]]


class AsyncSandboxChanges:
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
    ) -> Opening[AsyncDiff]:
        """Compares the sandbox, or a snapshot of it, with what it began with.

        That is its image, with the files that were copied and written before its first boot.
        `exclude` and `include` are patterns of paths, as gitignore has them: changes that an `exclude` matches are left
        out, and if there are includes, only the changes that one of them matches are taken.

        `paths` limits the comparison to them and what is below them; symlinks are not followed. Use the result with
        `async with`: until it is closed, a stopped sandbox cannot be started. The disk of a running sandbox is frozen
        while it is cut, for at most one second; with `pause=False` a running sandbox is refused.

        Raises `PathNotFound` if neither side has one of the paths. For a running sandbox it also raises
        `SandboxRunning`, `OutOfSpace` if this host's disk is full, and `Busy` if the disk did not stay frozen until it
        was cut.
        """
        options: dict[str, object] = {
            "paths": _values.paths(paths),
            "exclude": _values.paths(exclude),
            "include": _values.paths(include),
            "snapshot": _names.optional(snapshot),
            "pause": pause,
        }
        return opening(self._diff(options))

    async def _diff(self, options: dict[str, object]) -> AsyncDiff:
        reply = await call(self._link, "diff", options)
        return AsyncDiff(reply.new)

    async def discard(
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
        reply = await call(self._link, "discard", options)
        return [decode(DiscardedChange, change) for change in reply.value]

    async def restage(self, *, dry_run: bool = False) -> list[DiscardedChange]:
        """Stages the directories of the stopped sandbox anew, and returns the changes of its files.

        The sandbox keeps its own changes, and has the host's files of this moment where it changed nothing. With
        `dry_run=True` nothing is written. Snapshots keep the files that they have.

        Raises `SandboxRunning`, `InvalidArgument` if the sandbox has no staged directory or one of another host, and
        `PathExists` if the host and the sandbox changed a path in different ways: the detail `conflicts` lists them.
        The sandbox is unchanged then.
        """
        reply = await call(self._link, "restage", {"dry_run": dry_run})
        return [decode(DiscardedChange, change) for change in reply.value]

    @overload
    async def apply(
        self,
        directory: None = None,
        paths: Sequence[Text] = (),
        *,
        snapshot: Name | None = None,
        exclude: Sequence[Text] = (),
        include: Sequence[Text] = (),
        accept: Sequence[Text] = (),
        owner: bool = False,
        dry_run: bool = False,
        on_change: OnChange | None = None,
        then_discard: bool = False,
        pause: bool = True,
    ) -> list[AppliedDirectory]: ...

    @overload
    async def apply(
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
        on_change: OnChange | None = None,
        then_discard: bool = False,
        pause: bool = True,
    ) -> Applied: ...

    async def apply(
        self,
        directory: str | os.PathLike[str] | None = None,
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
        on_change: OnChange | None = None,
        then_discard: bool = False,
        pause: bool = True,
    ) -> Applied | list[AppliedDirectory]:
        """Puts the changes of the sandbox into a directory of this host.

        Without a `directory`, the changes of the staged directories go into the directories that they were made of, and
        there is a result for each, in the order of their mounts. With one, the changes below `from_path`, the root by
        default, go into it, and `base` is the sandbox, snapshot or image that the sandbox is compared with; what it
        began with by default.

        `paths` limits the changes to them and what is below them. With `snapshot` the changes are those of a snapshot.
        `owner=True` applies owners, too, which takes root. With `dry_run=True` nothing is written. A running sandbox is
        frozen, or refused, as by `diff`.
        `exclude` and `include` are patterns of paths, as gitignore has them: changes that an `exclude` matches are left
        out, and if there are includes, only the changes that one of them matches are taken.

        Repositories of git are left out, unless a path leads into one. Changes that make programs of this host run
        commands, such as `.envrc`, are applied only at and below the paths of the sandbox in `accept`. Changes that a
        rule of a staged directory keeps back are in `refused`.

        `on_change` is called with each change, and returns `True` if it is made, `False` if not, or a list with such a
        value for each hunk of a text. Its yes accepts the change, too, and texts that this host changed in other lines
        are merged. All calls come before the first change is made; an exception ends them, and nothing is changed. With
        `then_discard=True` the changes that were applied are discarded from the sandbox, which has to be stopped.

        Raises what `diff` raises, `PathExists` if files of the host are in the way, and `PermissionDenied` if changes
        are not accepted: then nothing is changed, and the details `conflicts` and `marked` list them. Without a
        `directory` it also raises `InvalidArgument` if the sandbox has no staged directory, or none at one of the
        paths.
        """
        options: dict[str, object] = {
            "directory": None if directory is None else os.fspath(directory),
            "paths": _values.paths(paths),
            "from": None if from_path is None else _values.text(from_path),
            "base": None if base is None else _names.side(base),
            "snapshot": _names.optional(snapshot),
            "exclude": _values.paths(exclude),
            "include": _values.paths(include),
            "accept": _values.paths(accept),
            "owner": owner,
            "dry_run": dry_run,
            "then_discard": then_discard,
            "merges": on_change is not None,
            "pause": pause,
        }
        if on_change is not None:
            chosen = await self._apply_chosen(options, on_change)
            return chosen if directory is None else chosen[0]
        reply = await call(self._link, "apply", options)
        if directory is None:
            return [decode(AppliedDirectory, applied) for applied in reply.value]
        return decode(Applied, reply.value)

    async def _apply_chosen(
        self, options: dict[str, object], on_change: OnChange
    ) -> list[AppliedDirectory]:
        plan = (await call(self._link, "plan_apply", options)).new
        try:
            index = 0
            while True:
                offered = (await call(plan, "offered", {"from": index})).value
                if not offered:
                    break
                index += len(offered)
                for item in offered:
                    change = await self._planned(plan, decode(PlannedChange, item))
                    answer = on_change(change)
                    choice: object = "yes" if answer is True else "no"
                    if not isinstance(answer, bool):
                        choice = {"hunks": [bool(is_made) for is_made in answer]}
                    await call(plan, "choose", {"index": change.index, "choice": choice})
            reply = await call(plan, "run")
            return [decode(AppliedDirectory, applied) for applied in reply.value]
        finally:
            plan.close()

    async def _planned(self, plan: Link, change: PlannedChange) -> PlannedChange:
        patch = await call(plan, "patch", {"index": change.index})
        hunks = await call(plan, "hunks", {"index": change.index})
        texts = zip(hunks.content, hunks.value, strict=True)
        return replace(
            change,
            patch=patch.content[0],
            hunks=tuple(TextHunk(text=text, overlaps=hunk["overlaps"]) for text, hunk in texts),
        )

    async def commit(
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
        reply = await call(self._link, "commit", options)
        return decode(Committed, reply.value)
