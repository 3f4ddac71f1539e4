"""The types that users see. A type checker reads this file; nothing runs it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from msb import (
    Allowed,
    Answering,
    Applied,
    AppliedDirectory,
    AsyncImage,
    AsyncMsb,
    AsyncPull,
    AsyncPush,
    AsyncSandbox,
    DiscardedChange,
    Event,
    Exit,
    FileInfo,
    Image,
    Mount,
    Msb,
    Network,
    NetworkRecord,
    Output,
    Process,
    Pull,
    Push,
    Pushed,
    PushEvent,
    Rule,
    Sandbox,
    SandboxInfo,
    SandboxOptions,
    TextEvent,
)
from typing_extensions import assert_type


def synchronous(msb: Msb) -> None:
    options: SandboxOptions = {"memory": "1G", "mounts": [Mount.tmpfs("/scratch")]}
    with msb.sandboxes.run("alpine", name="a", network=Network.none()) as sandbox:
        assert_type(sandbox, Sandbox)
    assert_type(msb.sandboxes.create("alpine", **options), Sandbox)
    assert_type(msb.sandboxes.list(state="running"), list[SandboxInfo])
    assert_type(sandbox.exec(["ls"], stdin=b"", timeout=1.5), Output)
    assert_type(sandbox.exec(["ls"]).text, str)
    assert_type(sandbox.files.list("/"), list[FileInfo])
    assert_type(sandbox.wait(), Exit)
    assert_type(iter(sandbox.network_log(denied=True)), Iterator[NetworkRecord])
    with sandbox.spawn(["ls"]) as process:
        assert_type(process, Process)
        assert_type(iter(process), Iterator[Event])
        assert_type(process.text(), Iterator[TextEvent])
        assert_type(process.stdout.read(), bytes)
    assert_type(msb.images.pull("alpine"), Image)
    assert_type(msb.images.pull("alpine", watch=True), Pull)
    assert_type(msb.images.push("app:dev"), Pushed)
    assert_type(msb.images.push("app:dev", watch=True), Push)
    Mount.staged(".", "/work", rules=["target=hide", Rule("docs", "read-only")])
    assert_type(sandbox.apply(), list[AppliedDirectory])
    assert_type(sandbox.apply(paths=["/work"], dry_run=True), list[AppliedDirectory])
    assert_type(sandbox.apply("project", from_path="/work"), Applied)
    assert_type(sandbox.restage(dry_run=True), list[DiscardedChange])
    assert_type(sandbox.allow("/work/.env"), Allowed)
    with sandbox.on_ask(lambda question: question.subject == "/work/.env") as answering:
        assert_type(answering, Answering)
    msb.sandboxes.run("alpine", memroy="1G")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    msb.sandboxes.run("alpine", cpus="two")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def asynchronous(msb: AsyncMsb) -> None:
    async with msb.sandboxes.run("alpine", memory=1 << 30) as sandbox:
        assert_type(sandbox, AsyncSandbox)
    assert_type(await msb.sandboxes.run("alpine"), AsyncSandbox)
    assert_type(await sandbox.shell("ls", check=True), Output)
    assert_type(await sandbox.apply(), list[AppliedDirectory])
    assert_type(await sandbox.apply("project"), Applied)
    assert_type(await sandbox.restage(), list[DiscardedChange])
    process = await sandbox.spawn(["ls"])
    assert_type(process.__aiter__(), AsyncIterator[Event])
    assert_type([line async for line in process.stdout.lines()], list[str])
    assert_type(await msb.images.pull("alpine"), AsyncImage)
    assert_type(msb.images.pull("alpine", watch=True), AsyncPull)
    assert_type(await msb.images.push("app:dev"), Pushed)
    async with msb.images.push("app:dev", watch=True) as push:
        assert_type(push, AsyncPush)
        assert_type([event async for event in push], list[PushEvent])
