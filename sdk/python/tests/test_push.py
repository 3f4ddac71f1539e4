"""Pushes and logins of an image, without a machine."""

import asyncio
import threading

import pytest
from msb import AsyncMsb, Msb, errors

from . import push_registry
from .push_registry import PushRegistry
from .registry import Registry, digest, serve

LAYERS = 3


@pytest.fixture
def origin():
    with serve(Registry(layers=LAYERS, size=1 << 20)) as registry:
        yield registry


@pytest.fixture
def target():
    with push_registry.serve(PushRegistry()) as registry:
        yield registry


@pytest.fixture
def home(tmp_path, origin):
    """A home whose image `app:1` was pulled."""
    path = tmp_path / "home"
    with Msb(home=path) as client:
        client.images.pull(origin.name)
        client.images.tag(origin.name, "app:1")
    return path


def test_the_progress_of_a_push_leads_to_its_end(home, origin, target):
    with Msb(home=home) as client:
        with client.images.push("app:1", f"{target.address}/app:1", watch=True) as push:
            assert push.pushed is None
            first, *events = list(push)
            pushed = push.pushed
        again = client.images.push("app:1", f"{target.address}/app:1")
    assert first.type == "image"
    sizes = {layer["diff_id"]: layer["size_bytes"] for layer in first.rest["layers"]}
    assert sizes == {digest(blob): len(blob) for blob in origin.layers}
    positions = [event for event in events if event.type == "layer-position"]
    assert positions
    assert all(0 <= event.position_bytes <= sizes[event.diff_id] for event in positions)
    done = {event.diff_id: event.rest["route"] for event in events if event.type == "layer-done"}
    assert done == dict.fromkeys(sizes, "streamed")
    assert (events[-1].type, events[-1].digest) == ("done", pushed.digest)
    assert target.manifests["1"] == origin.manifest
    assert pushed.digest == pushed.source_digest == digest(origin.manifest)
    assert pushed.uploaded_bytes == sum(sizes.values())
    assert [layer.digest for layer in pushed.layers] == [digest(blob) for blob in origin.layers]
    assert {layer.route for layer in again.layers} == {"present"}
    assert again.uploaded_bytes == 0


def test_a_cancelled_push_publishes_nothing(home, target):
    target.held = threading.Event()

    async def main():
        async with AsyncMsb(home=home) as client:
            name = f"{target.address}/app:1"
            async with client.images.push("app:1", name, watch=True) as push:
                async for event in push:
                    if event.type == "layer-position":
                        break
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.images.push("app:1", name), 0.5)

    asyncio.run(main())
    target.held.set()
    assert target.manifests == {}


def test_a_login_opens_a_registry_until_the_logout(home, target, tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    target.login = ("me", "secret")
    with Msb(home=home) as client:
        images, name = client.images, f"{target.address}/app:1"
        with pytest.raises(errors.Unauthorized):
            images.push("app:1", name)
        with pytest.raises(errors.Unauthorized) as refused:
            images.login(target.address, username="me", password="guessed")
        assert "guessed" not in str(refused.value)
        assert not (tmp_path / "docker/config.json").exists()
        kept = images.login(target.address, username="me", password="secret")
        assert kept.is_checked
        assert kept.file == str(tmp_path / "docker/config.json")
        assert images.push("app:1", name).digest in target.manifests
        assert images.logout(target.address) is True
        assert images.logout(target.address) is False
        with pytest.raises(errors.Unauthorized):
            images.push("app:1", name)
