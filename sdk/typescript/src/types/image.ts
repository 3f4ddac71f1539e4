/** The options and results of images. */
import type { CallOptions } from "../remote.js";
import type { HostPath, Size } from "./client.js";

/** The source of an image. */
export interface SourceOptions {
  /** The platform as `OS/ARCH[/VARIANT]`; linux on the architecture of this host if it is absent. */
  readonly platform?: string | undefined;
  /** True to use HTTP without TLS. */
  readonly plainHttp?: boolean | undefined;
  /** File of certificate authorities to trust too, in PEM. */
  readonly tlsCa?: HostPath | undefined;
  /** Limits on the cost of an image by name, such as `{ "layer-time": "3d" }`. */
  readonly limits?: Readonly<Record<string, string>> | undefined;
  /** The least recently used images are removed if all images take more than this. */
  readonly storeLimit?: Size | undefined;
}

/** The options of a pull. */
export interface PullOptions extends SourceOptions, CallOptions {}

/** The options of a load from an archive. */
export interface LoadOptions extends CallOptions {
  /** Name of the image instead of its name in the archive. */
  readonly tag?: string | undefined;
  /** The one image to load of several: its tag or name there, its position as `@0`, or its digest as `@sha256:…`. */
  readonly image?: string | undefined;
  /** The platform as `OS/ARCH[/VARIANT]`. */
  readonly platform?: string | undefined;
  /** Limits on the cost of an image by name. */
  readonly limits?: Readonly<Record<string, string>> | undefined;
  /** The least recently used images are removed if all images take more than this. */
  readonly storeLimit?: Size | undefined;
}

/** The options of a save to an archive. */
export interface SaveOptions extends CallOptions {
  /** The form of the archive; `docker-archive` if it is absent. */
  readonly format?: "docker-archive" | "oci-archive" | "oci-dir" | undefined;
  /** The compression of the layers of an OCI layout; `gzip` if it is absent. */
  readonly compression?: "gzip" | "zstd" | "none" | undefined;
}

/** The options of a push. */
export interface PushOptions extends CallOptions {
  /** Name of the image at the registry; its own name if it is absent. */
  readonly to?: string | undefined;
  /** The compression of layers that are made anew from the store; `gzip` if it is absent. */
  readonly compression?: "gzip" | "zstd" | "none" | undefined;
  /** True to use HTTP without TLS. */
  readonly plainHttp?: boolean | undefined;
  /** File of certificate authorities to trust too, in PEM. */
  readonly tlsCa?: HostPath | undefined;
}

/** An image that was pushed. */
export interface Pushed {
  /** Name of the image at the registry, in docker's short form. */
  readonly reference: string;
  /** Digest of the manifest at the registry. */
  readonly digest: string;
  /** Digest of the manifest in the store; that at the registry is another one if layers were rebuilt. */
  readonly sourceDigest: string;
  /** Number of bytes of layers that were uploaded. */
  readonly uploadedBytes: number;
  /** Layers, the base layer first. */
  readonly layers: readonly PushedLayer[];
}

/** A layer of an image that was pushed. */
export interface PushedLayer {
  /** Diff ID of the layer. */
  readonly diffId: string;
  /** Digest of the blob at the registry. */
  readonly digest: string;
  /** Media type of the blob. */
  readonly mediaType: string;
  /** Length of the blob in bytes. */
  readonly sizeBytes: number;
  /** The way of the layer to the registry. */
  readonly route: "present" | "mounted" | "streamed" | "rebuilt";
}

/** The options of a login to a registry. */
export interface LoginOptions extends CallOptions {
  /** The registry, such as `ghcr.io`; Docker Hub if it is absent. */
  readonly registry?: string | undefined;
  /** Name of the user. */
  readonly username: string;
  /** Password of the user, or an access token in its place. */
  readonly password: string;
  /** True to use HTTP without TLS. */
  readonly plainHttp?: boolean | undefined;
  /** File of certificate authorities to trust too, in PEM. */
  readonly tlsCa?: HostPath | undefined;
}

/** The result of a login. */
export interface LoggedIn {
  /** The registry, as in the names of images. */
  readonly registry: string;
  /** True if the registry accepted the password; false if it asked for none. */
  readonly isChecked: boolean;
  /** The docker config that keeps the password, unencrypted; null if a credential helper does. */
  readonly file: string | null;
  /** The name of the credential helper that keeps the password; null if the docker config does. */
  readonly helper: string | null;
}

/** A step in which an image was made. */
export interface HistoryStep {
  /** Diff ID of the step's layer; null if it made none. */
  readonly diffId: string | null;
  /** Time of the step, usually as RFC 3339; null if the config does not tell it. */
  readonly created: string | null;
  /** Command of the step; null if the config does not tell it. */
  readonly createdBy: string | null;
  /** Author of the step; null if the config does not tell it. */
  readonly author: string | null;
  /** Comment on the step; null if the config does not tell it. */
  readonly comment: string | null;
  /** Length of the layer in the store, in bytes; 0 if the step made none. */
  readonly sizeBytes: number;
}

/** The options of a prune of images. */
export interface PruneOptions extends CallOptions {
  /** True to remove every unused image, not only those without a name. */
  readonly all?: boolean | undefined;
  /** Removes only images that were not used for this long, in milliseconds. */
  readonly unusedForMs?: number | undefined;
  /** True to report only. */
  readonly dryRun?: boolean | undefined;
}

/** An event of a pull. Layers are identified by their diff ID. */
export type PullEvent =
  PullResolvingEvent | PullImageEvent | PullLayerEvent | PullBytesEvent | PullNotesEvent | PullRetryEvent | PullDigestEvent | PullVerifyEvent;

/** A registry is asked for the image. */
export interface PullResolvingEvent {
  /** The kind of the event. */
  readonly type: "resolving";
  /** Name of the image. */
  readonly name: string;
}

/** An image was found and its import begins. */
export interface PullImageEvent {
  /** The kind of the event. */
  readonly type: "image";
  /** Name of the image; its digest if it has no name. */
  readonly name: string;
  /** Digest of the manifest. */
  readonly digest: string;
  /** Layers of the image, the base layer first. */
  readonly layers: readonly LayerSize[];
}

/** A layer and the length of its blob. */
export interface LayerSize {
  /** Diff ID of the layer. */
  readonly diffId: string;
  /** Length of the blob in bytes. */
  readonly sizeBytes: number;
}

/** A layer is already in the store, is imported by another process, begins, or is done. */
export interface PullLayerEvent {
  /** The kind of the event. */
  readonly type: "layer-present" | "layer-waiting" | "layer-started" | "layer-done";
  /** Diff ID of the layer. */
  readonly diffId: string;
}

/** More bytes of a layer's blob were read. */
export interface PullBytesEvent {
  /** The kind of the event. */
  readonly type: "layer-bytes";
  /** Diff ID of the layer. */
  readonly diffId: string;
  /** Number of bytes since the layer's last event. */
  readonly bytes: number;
}

/** A layer was converted, but lacks something that its archive has. */
export interface PullNotesEvent {
  /** The kind of the event. */
  readonly type: "layer-notes";
  /** Diff ID of the layer. */
  readonly diffId: string;
  /** Notes on the losses that were kept. */
  readonly notes: readonly string[];
  /** Number of all notes, kept or not. */
  readonly total: number;
}

/** A registry failed temporarily and will be asked again. */
export interface PullRetryEvent {
  /** The kind of the event. */
  readonly type: "retrying";
  /** Address or object that is requested. */
  readonly what: string;
  /** Error of the last attempt. */
  readonly reason: string;
  /** Time until the next attempt in milliseconds. */
  readonly afterMs: number;
}

/** The metadata of all layers is merged, or the image is in the store. */
export interface PullDigestEvent {
  /** The kind of the event. */
  readonly type: "merging" | "done";
  /** Digest of the image's manifest. */
  readonly digest: string;
}

/** The verification of artifacts begins, or one artifact was verified. */
export interface PullVerifyEvent {
  /** The kind of the event. */
  readonly type: "verifying" | "verified-bytes";
  /** Length of the artifacts in bytes. */
  readonly bytes: number;
}

/** An event of a push. Layers are identified by their diff ID. */
export type PushEvent =
  PushImageEvent | PushCompressingEvent | PushStartedEvent | PushPositionEvent | PushLayerDoneEvent | PullRetryEvent | PushDoneEvent;

/** The push begins. */
export interface PushImageEvent {
  /** The kind of the event. */
  readonly type: "image";
  /** Name of the image at the registry. */
  readonly name: string;
  /** Layers of the image, the base layer first. */
  readonly layers: readonly LayerSize[];
}

/** A layer is compressed, because no registry can give it. */
export interface PushCompressingEvent {
  /** The kind of the event. */
  readonly type: "layer-compressing";
  /** Diff ID of the layer. */
  readonly diffId: string;
}

/** A layer's upload begins. */
export interface PushStartedEvent {
  /** The kind of the event. */
  readonly type: "layer-started";
  /** Diff ID of the layer. */
  readonly diffId: string;
  /** Length of the blob in bytes. */
  readonly sizeBytes: number;
}

/** A layer's upload has come so far. It goes back if the registry lost something. */
export interface PushPositionEvent {
  /** The kind of the event. */
  readonly type: "layer-position";
  /** Diff ID of the layer. */
  readonly diffId: string;
  /** Number of bytes of the blob that are on their way. */
  readonly positionBytes: number;
}

/** The registry has a layer. */
export interface PushLayerDoneEvent {
  /** The kind of the event. */
  readonly type: "layer-done";
  /** Diff ID of the layer. */
  readonly diffId: string;
  /** The way of the layer to the registry. */
  readonly route: PushedLayer["route"];
}

/** The manifest is published. */
export interface PushDoneEvent {
  /** The kind of the event. */
  readonly type: "done";
  /** Digest of the manifest at the registry. */
  readonly digest: string;
}

/** The description of an image. */
export interface ImageInfo {
  /** The name in docker's short form; `null` if the image has no name. */
  readonly reference: string | null;
  /** The digest of the manifest. */
  readonly digest: string;
  /** The platform. */
  readonly platform: string;
  /** Number of layers. */
  readonly layerCount: number;
  /** Length of its artifacts in their plain forms, in bytes. */
  readonly sizeBytes: number;
  /** Space of its artifacts in the forms that they have, cache files included, in bytes. */
  readonly diskBytes: number;
  /** The time of creation, usually as RFC 3339. */
  readonly created: string | null;
}
