# Generated from _async/_images.py by generate_sync.py: edit that file.
from __future__ import annotations

import builtins
import os
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, overload

from .. import _values
from .._core import Link
from .._types import (
    HistoryStep,
    ImageInfo,
    LoggedIn,
    Pruned,
    PullEvent,
    Pushed,
    RemovedImage,
)
from .._values import Duration, Size, decode
from ._bridge import call


class Images:
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
    ) -> Image: ...
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
    ) -> Pull: ...
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
    ) -> Image | Pull:
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
        return Pull(self._link, options) if watch else self._pull(options)

    def _pull(self, options: dict[str, Any]) -> Image:
        with Pull(self._link, options) as pull:
            return pull.result()

    def load(
        self,
        path: str | os.PathLike[str],
        *,
        tag: str | None = None,
        platform: str | None = None,
        limits: Mapping[str, str] | None = None,
        store_limit: Size | None = None,
    ) -> builtins.list[Image]:
        """Loads the images of an archive: a directory with an OCI layout, an OCI archive or a docker archive.

        `tag` is the name of the image, instead of its name in the archive.
        """
        options = {
            "path": os.fspath(path),
            "tag": tag,
            "platform": platform,
            "limits": dict(limits or {}),
            "store_limit": store_limit,
        }
        reply = call(self._link, "images.load", options)
        return [self._image(image) for image in reply.value["images"]]

    def get(self, name: str) -> Image:
        """Returns the image with this name, digest, or beginning of a digest. Raises `ImageNotFound`."""
        reply = call(self._link, "images.get", {"name": name})
        return self._image(reply.value)

    def list(self) -> builtins.list[Image]:
        """Returns every image, once for each of its names, sorted by name and digest."""
        reply = call(self._link, "images.list")
        return [self._image(image) for image in reply.value]

    def remove(self, name: str, *, force: bool = False) -> RemovedImage:
        """Removes a name of an image, and with its last name the image.

        `force=True` removes images of stopped sandboxes too, which can then not be started any more. Raises
        `ImageNotFound` and `ImageInUse`.
        """
        reply = call(self._link, "images.remove", {"name": name, "force": force})
        return decode(RemovedImage, reply.value)

    def prune(
        self, *, all: bool = False, unused_for: Duration | None = None, dry_run: bool = False
    ) -> Pruned:
        """Removes images that have no name and that no sandbox uses; with `all=True` every unused image."""
        options = {
            "all": all,
            "unused_for_ms": _values.milliseconds(unused_for, "unused_for"),
            "dry_run": dry_run,
        }
        reply = call(self._link, "images.prune", options)
        return decode(Pruned, reply.value)

    def history(self, name: str) -> builtins.list[HistoryStep]:
        """Returns the steps in which an image was made, as its config tells them, the last one first.

        Raises `ImageNotFound`, or `Unsupported` if an older msb stored the image.
        """
        reply = call(self._link, "images.history", {"name": name})
        return [decode(HistoryStep, step) for step in reply.value]

    def save(
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
        call(self._link, "images.save", options)

    def tag(self, image: str, name: str) -> None:
        """Gives an image a further name. Another image's name leads to this one from then on.

        Raises `ImageNotFound`.
        """
        call(self._link, "images.tag", {"image": image, "name": name})

    def push(
        self,
        name: str,
        to: str | None = None,
        *,
        compression: Literal["gzip", "zstd", "none"] = "gzip",
        plain_http: bool = False,
        tls_ca: str | os.PathLike[str] | None = None,
    ) -> Pushed:
        """Pushes an image to a registry, under its own name or `to`.

        Layers that the registry has are not sent. `compression` is that of layers which are made anew from the store,
        because no registry can give them. Raises `ImageNotFound`, `Unauthorized`, and `RegistryError`.
        """
        options = {
            "name": name,
            "destination": to,
            "compression": compression,
            "plain_http": plain_http,
            "tls_ca": None if tls_ca is None else os.fspath(tls_ca),
        }
        reply = call(self._link, "images.push", options)
        return decode(Pushed, reply.value)

    def login(
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
        reply = call(self._link, "images.login", options)
        return decode(LoggedIn, reply.value)

    def logout(self, registry: str | None = None) -> bool:
        """Removes the password of a registry; returns false if there was none."""
        reply = call(self._link, "images.logout", {"registry": registry})
        return bool(reply.value["was_logged_in"])

    def _image(self, value: Any) -> Image:
        return Image(self._link, decode(ImageInfo, value))


class Image:
    """An image in the store."""

    def __init__(self, link: Link, info: ImageInfo) -> None:
        self._link = link
        self._info = info

    def __repr__(self) -> str:
        return f"<Image {self.reference or self.digest}>"

    @property
    def info(self) -> ImageInfo:
        """The description of the image."""
        return self._info

    @property
    def digest(self) -> str:
        """The digest of the image's manifest."""
        return self._info.digest

    @property
    def reference(self) -> str | None:
        """The name, in docker's short form; `None` if the image has no name."""
        return self._info.reference

    def inspect(self) -> dict[str, Any]:
        """Returns the image's record and the paths of its artifacts, as `msb image inspect` prints them."""
        reply = call(self._link, "images.inspect", {"name": self.digest})
        return dict(reply.value)


class Pull:
    """A pull that can be watched. It begins with the first event, or when the image is asked for.

    Leaving the `with` block before the end cancels the pull; layers that are complete stay in the store.
    """

    def __init__(self, link: Link, options: dict[str, Any]) -> None:
        self._client = link
        self._options = options
        self._link: Link | None = None
        self._image: Image | None = None

    @property
    def image(self) -> Image | None:
        """The image; `None` before the pull is complete."""
        return self._image

    def result(self) -> Image:
        """Waits until the pull is complete, and returns the image."""
        if self._image is None:
            link = self._begun()
            reply = call(link, "image")
            self._image = Image(self._client, decode(ImageInfo, reply.value))
        return self._image

    def close(self) -> None:
        """Cancels the pull, if it is not complete."""
        if self._link is not None:
            self._link.close()

    def __iter__(self) -> Iterator[PullEvent]:
        return self

    def __next__(self) -> PullEvent:
        if self._image is not None:
            raise StopIteration
        link = self._begun()
        reply = call(link, "next")
        if reply.value is None:
            self.result()
            raise StopIteration
        return decode(PullEvent, reply.value["event"])

    def __enter__(self) -> Pull:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _begun(self) -> Link:
        if self._link is None:
            reply = call(self._client, "images.pull", self._options)
            self._link = reply.new
        return self._link
