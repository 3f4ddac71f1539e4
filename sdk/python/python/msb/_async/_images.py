from __future__ import annotations

import builtins
import os
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Literal, overload

from .. import _values
from .._core import Link
from .._types import (
    HistoryStep,
    ImageInfo,
    LoggedIn,
    Pruned,
    Pushed,
    RemovedImage,
)
from .._values import Duration, Size, decode
from ._bridge import call
from ._image import AsyncImage
from ._transfers import AsyncPull, AsyncPush


class AsyncImages:
    """The images in the store."""

    def __init__(self, link: Link) -> None:
        self._link = link

    @overload
    def pull(
        self,
        name: str,
        *,
        watch: Literal[False] = False,
        platform: str | None = None,
        plain_http: bool = False,
        tls_ca: str | os.PathLike[str] | None = None,
        limits: Mapping[str, str] | None = None,
        store_limit: Size | None = None,
    ) -> Awaitable[AsyncImage]: ...
    @overload
    def pull(
        self,
        name: str,
        *,
        watch: Literal[True],
        platform: str | None = None,
        plain_http: bool = False,
        tls_ca: str | os.PathLike[str] | None = None,
        limits: Mapping[str, str] | None = None,
        store_limit: Size | None = None,
    ) -> AsyncPull: ...
    def pull(
        self,
        name: str,
        *,
        watch: bool = False,
        platform: str | None = None,
        plain_http: bool = False,
        tls_ca: str | os.PathLike[str] | None = None,
        limits: Mapping[str, str] | None = None,
        store_limit: Size | None = None,
    ) -> Awaitable[AsyncImage] | AsyncPull:
        """Pulls an image from a registry. With `watch=True` it returns the pull, whose events can be iterated over.

        Raises `Unauthorized`, `ImageNotFound`, `RegistryError` or another `PullError`.
        """
        options = {
            "name": name,
            "platform": platform,
            "plain_http": plain_http,
            "tls_ca": None if tls_ca is None else os.fspath(tls_ca),
            "limits": dict(limits or {}),
            "store_limit": store_limit,
        }
        return AsyncPull(self._link, options) if watch else self._pull(options)

    async def _pull(self, options: dict[str, Any]) -> AsyncImage:
        async with AsyncPull(self._link, options) as pull:
            return await pull.result()

    async def load(
        self,
        path: str | os.PathLike[str],
        *,
        tag: str | None = None,
        image: str | None = None,
        platform: str | None = None,
        limits: Mapping[str, str] | None = None,
        store_limit: Size | None = None,
    ) -> builtins.list[AsyncImage]:
        """Loads the images of an archive: a directory with an OCI layout, an OCI archive or a docker archive.

        `tag` is the name of the image, instead of its name in the archive. `image` chooses one of several:
        its tag or its name there, its position as `@0`, or its digest as `@sha256:…`.
        """
        options = {
            "path": os.fspath(path),
            "tag": tag,
            "image": image,
            "platform": platform,
            "limits": dict(limits or {}),
            "store_limit": store_limit,
        }
        reply = await call(self._link, "images.load", options)
        return [self._image(image) for image in reply.value["images"]]

    async def get(self, name: str) -> AsyncImage:
        """Returns the image with this name, digest, or beginning of a digest. Raises `ImageNotFound`."""
        reply = await call(self._link, "images.get", {"name": name})
        return self._image(reply.value)

    async def list(self) -> builtins.list[AsyncImage]:
        """Returns every image, once for each of its names, sorted by name and digest."""
        reply = await call(self._link, "images.list")
        return [self._image(image) for image in reply.value]

    async def remove(self, name: str, *, force: bool = False) -> RemovedImage:
        """Removes a name of an image, and with its last name the image.

        `force=True` removes images of stopped sandboxes too, which can then not be started any more. Raises
        `ImageNotFound` and `ImageInUse`.
        """
        reply = await call(self._link, "images.remove", {"name": name, "force": force})
        return decode(RemovedImage, reply.value)

    async def prune(
        self, *, all: bool = False, unused_for: Duration | None = None, dry_run: bool = False
    ) -> Pruned:
        """Removes images that have no name and that no sandbox uses; with `all=True` every unused image."""
        options = {
            "all": all,
            "unused_for_ms": _values.milliseconds(unused_for, "unused_for"),
            "dry_run": dry_run,
        }
        reply = await call(self._link, "images.prune", options)
        return decode(Pruned, reply.value)

    async def history(self, name: str) -> builtins.list[HistoryStep]:
        """Returns the steps in which an image was made, as its config tells them, the last one first.

        Raises `ImageNotFound`, or `Unsupported` if an older msb stored the image.
        """
        reply = await call(self._link, "images.history", {"name": name})
        return [decode(HistoryStep, step) for step in reply.value]

    async def save(
        self,
        names: str | Sequence[str],
        path: str | os.PathLike[str],
        *,
        format: Literal["docker-archive", "oci-archive", "oci-dir"] = "docker-archive",
        compression: Literal["gzip", "zstd", "none"] = "gzip",
    ) -> None:
        """Saves images as an archive, or as a new directory, which is complete or absent.

        `compression` is that of the layers of an OCI layout; an archive of docker's form has none. Raises
        `ImageNotFound`, or `Unsupported` if an older msb stored an image.
        """
        options = {
            "names": [names] if isinstance(names, str) else [*names],
            "path": os.fspath(path),
            "format": format,
            "compression": compression,
        }
        await call(self._link, "images.save", options)

    async def tag(self, image: str, name: str) -> None:
        """Gives an image a further name. Another image's name leads to this one from then on.

        Raises `ImageNotFound`.
        """
        await call(self._link, "images.tag", {"image": image, "name": name})

    @overload
    def push(
        self,
        name: str,
        to: str | None = None,
        *,
        watch: Literal[False] = False,
        compression: Literal["gzip", "zstd", "none"] = "gzip",
        plain_http: bool = False,
        tls_ca: str | os.PathLike[str] | None = None,
    ) -> Awaitable[Pushed]: ...
    @overload
    def push(
        self,
        name: str,
        to: str | None = None,
        *,
        watch: Literal[True],
        compression: Literal["gzip", "zstd", "none"] = "gzip",
        plain_http: bool = False,
        tls_ca: str | os.PathLike[str] | None = None,
    ) -> AsyncPush: ...
    def push(
        self,
        name: str,
        to: str | None = None,
        *,
        watch: bool = False,
        compression: Literal["gzip", "zstd", "none"] = "gzip",
        plain_http: bool = False,
        tls_ca: str | os.PathLike[str] | None = None,
    ) -> Awaitable[Pushed] | AsyncPush:
        """Pushes an image to a registry, under its own name or `to`.

        Layers that the registry has are not sent. `compression` is that of layers which are made anew from the store,
        because no registry can give them. With `watch=True` it returns the push, whose events can be iterated over.
        Raises `ImageNotFound`, `Unauthorized`, and `RegistryError`.
        """
        options = {
            "name": name,
            "destination": to,
            "compression": compression,
            "plain_http": plain_http,
            "tls_ca": None if tls_ca is None else os.fspath(tls_ca),
        }
        return AsyncPush(self._link, options) if watch else self._push(options)

    async def _push(self, options: dict[str, Any]) -> Pushed:
        async with AsyncPush(self._link, options) as push:
            return await push.result()

    async def login(
        self,
        registry: str | None = None,
        *,
        username: str,
        password: str,
        plain_http: bool = False,
        tls_ca: str | os.PathLike[str] | None = None,
    ) -> LoggedIn:
        """Checks a password, or an access token, with a registry, and keeps it as `docker login` does.

        Without `registry` it is that of Docker Hub. Raises `Unauthorized` and `RegistryError`.
        """
        options = {
            "registry": registry,
            "username": username,
            "password": password,
            "plain_http": plain_http,
            "tls_ca": None if tls_ca is None else os.fspath(tls_ca),
        }
        reply = await call(self._link, "images.login", options)
        return decode(LoggedIn, reply.value)

    async def logout(self, registry: str | None = None) -> bool:
        """Removes the password of a registry; returns false if there was none."""
        reply = await call(self._link, "images.logout", {"registry": registry})
        return bool(reply.value["was_logged_in"])

    def _image(self, value: Any) -> AsyncImage:
        return AsyncImage(self._link, decode(ImageInfo, value))
