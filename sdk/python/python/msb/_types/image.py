"""Images, their pulls and pushes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ImageInfo:
    """The description of an image."""

    digest: str
    """The digest of the manifest."""
    reference: str | None = None
    """The name, in docker's short form; `None` if the image has no name."""
    platform: str = ""
    """The platform that the image runs on."""
    layer_count: int = 0
    """Number of layers."""
    size_bytes: int = 0
    """Length of its artifacts in their plain forms, in bytes. Other images may share layers."""
    disk_bytes: int = 0
    """Space of its artifacts in the forms that they have, cache files included, in bytes."""
    created: str | None = None
    """The time of creation as the image's config states it, usually as RFC 3339."""


@dataclass(frozen=True)
class PullEvent:
    """A step of a pull. `type` says which; the other fields are those of the step."""

    type: str
    """`resolving`, `image`, `layer-present`, `layer-waiting`, `layer-started`, `layer-bytes`, `layer-notes`,
    `layer-done`, `retrying`, `merging`, `verifying`, `verified-bytes` or `done`."""
    diff_id: str | None = None
    """The layer, by its diff ID."""
    bytes: int | None = None
    """Number of bytes since the last event of the layer."""
    digest: str | None = None
    """Digest of the image's manifest."""
    rest: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of single steps, such as the `layers` of `image`."""


@dataclass(frozen=True)
class PushEvent:
    """A step of a push. `type` says which; the other fields are those of the step."""

    type: str
    """`image`, `layer-compressing`, `layer-started`, `layer-position`, `layer-done`, `retrying` or `done`."""
    diff_id: str | None = None
    """The layer, by its diff ID."""
    position_bytes: int | None = None
    """Number of bytes of the layer's blob that are on their way. It goes back if the registry lost something."""
    digest: str | None = None
    """Digest of the manifest at the registry."""
    rest: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of single steps, such as the `layers` of `image` and the `route` of `layer-done`."""


@dataclass(frozen=True)
class HistoryStep:
    """A step in which an image was made."""

    diff_id: str | None = None
    """Diff ID of the step's layer; `None` if it made none."""
    created: str | None = None
    """Time of the step, usually as RFC 3339; `None` if the config does not tell it."""
    created_by: str | None = None
    """Command of the step; `None` if the config does not tell it."""
    author: str | None = None
    """Author of the step; `None` if the config does not tell it."""
    comment: str | None = None
    """Comment on the step; `None` if the config does not tell it."""
    size_bytes: int = 0
    """Length of the layer in the store, in bytes; 0 if the step made none."""


@dataclass(frozen=True)
class PushedLayer:
    """A layer of an image that was pushed."""

    diff_id: str
    """Diff ID of the layer."""
    digest: str
    """Digest of the blob at the registry."""
    media_type: str
    """Media type of the blob."""
    size_bytes: int
    """Length of the blob, in bytes."""
    route: str
    """The way of the layer to the registry: `present`, `mounted`, `streamed` from its origin, or `rebuilt` from the
    store."""


@dataclass(frozen=True)
class Pushed:
    """An image that was pushed."""

    reference: str
    """Name of the image at the registry, in docker's short form."""
    digest: str
    """Digest of the manifest at the registry."""
    source_digest: str
    """Digest of the manifest in the store; that at the registry is another one if layers were rebuilt."""
    uploaded_bytes: int = 0
    """Number of bytes of layers that were uploaded."""
    layers: tuple[PushedLayer, ...] = ()
    """Layers, the base layer first."""


@dataclass(frozen=True)
class LoggedIn:
    """The result of a login."""

    registry: str
    """The registry, as in the names of images."""
    is_checked: bool
    """True if the registry accepted the password; false if it asked for none."""
    file: str | None = None
    """The docker config that keeps the password, unencrypted; `None` if a credential helper does."""
    helper: str | None = None
    """The name of the credential helper that keeps the password; `None` if the docker config does."""


@dataclass(frozen=True)
class RemovedImage:
    """The result of the removal of an image."""

    references: list[str]
    """Removed names."""
    digest: str | None = None
    """Digest of the image that was removed with its last name; `None` if it has further names."""
    freed_bytes: int = 0
    """Length of the removed artifacts, in bytes."""


@dataclass(frozen=True)
class Pruned:
    """The result of a prune of images."""

    images: list[dict[str, Any]]
    """The removed images, each with `digest` and `references`."""
    spared: list[str]
    """Digests of selected images that stay, because they are in use or a sandbox needs them."""
    left_overs: int = 0
    """Number of removed files that no image needed before."""
    older_stores: int = 0
    """Number of removed stores of earlier formats."""
    staged_directories: int = 0
    """Number of removed images of staged directories, which no sandbox had."""
    freed_bytes: int = 0
    """Length of all removed files, in bytes."""
    kept_bytes: int = 0
    """Length of the remaining artifacts, in bytes."""
    dry_run: bool = False
    """True if nothing was changed."""
