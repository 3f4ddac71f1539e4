/** The images of a client's store. */
import type { CallOptions, Remote } from "./remote.js";
import { Pull, Push } from "./transfers.js";
import type {
  HistoryStep,
  HostPath,
  ImageInfo,
  LoadOptions,
  LoggedIn,
  LoginOptions,
  PruneOptions,
  PullOptions,
  PushOptions,
  SaveOptions,
} from "./types.js";

/** The images in the store. */
export class Images {
  readonly #remote: Remote;

  /** @internal */
  constructor(remote: Remote) {
    this.#remote = remote;
  }

  /** Pulls an image from its registry. Await the result for the image, and iterate over `progress` for events. */
  pull(name: string, options: PullOptions = {}): Pull {
    const open = async () => (await this.#remote.open("images.pull", { ...options, name }, options))[0];
    return new Pull(open(), (info) => this.#image(info), options);
  }

  /** Loads images from a directory with an OCI layout, an OCI archive or a docker archive. */
  async load(path: HostPath, options: LoadOptions = {}): Promise<Image[]> {
    const { images } = await this.#remote.value<{ images: ImageInfo[] }>("images.load", { ...options, path }, options);
    return images.map((info) => this.#image(info));
  }

  /** Returns the image with this name or digest. */
  async get(name: string, options: CallOptions = {}): Promise<Image> {
    return this.#image(await this.#remote.value<ImageInfo>("images.get", { name }, options));
  }

  /** Returns the images. An image with several names is listed once for each. */
  async list(options: CallOptions = {}): Promise<Image[]> {
    const images = await this.#remote.value<ImageInfo[]>("images.list", {}, options);
    return images.map((info) => this.#image(info));
  }

  /** Removes a name, and the image with its last name. */
  async remove(name: string, options: CallOptions & { readonly force?: boolean | undefined } = {}): Promise<void> {
    await this.#remote.call("images.remove", { ...options, name }, options);
  }

  /** Returns the steps in which an image was made, as its config tells them, the last one first. */
  async history(name: string, options: CallOptions = {}): Promise<HistoryStep[]> {
    return this.#remote.value("images.history", { name }, options);
  }

  /** Saves images as an archive, or as a new directory, which is complete or absent. */
  async save(names: string | readonly string[], path: HostPath, options: SaveOptions = {}): Promise<void> {
    const chosen = typeof names === "string" ? [names] : names;
    await this.#remote.call("images.save", { ...options, names: chosen, path }, options);
  }

  /** Gives an image a further name; the name of another image leads to this one from then on. */
  async tag(image: string, name: string, options: CallOptions = {}): Promise<void> {
    await this.#remote.call("images.tag", { image, name }, options);
  }

  /**
   * Pushes an image to a registry. Layers that the registry has are not sent. Await the result, and iterate over
   * `progress` for events.
   */
  push(name: string, options: PushOptions = {}): Push {
    const { to, ...others } = options;
    const open = async () =>
      (await this.#remote.open("images.push", { ...others, name, destination: to }, options))[0];
    return new Push(open(), options);
  }

  /** Checks a password, or an access token, with a registry, and keeps it as `docker login` does. */
  async login(options: LoginOptions): Promise<LoggedIn> {
    return this.#remote.value("images.login", options, options);
  }

  /** Removes the password of a registry, Docker Hub's by default; returns false if there was none. */
  async logout(registry?: string, options: CallOptions = {}): Promise<boolean> {
    const result = await this.#remote.value<{ wasLoggedIn: boolean }>("images.logout", { registry }, options);
    return result.wasLoggedIn;
  }

  /** Removes unused images and the leftovers of killed processes. */
  async prune(options: PruneOptions = {}): Promise<Pruned> {
    return this.#remote.value("images.prune", options, options);
  }

  #image(info: ImageInfo): Image {
    const inspect = (options: CallOptions) =>
      this.#remote.value<Record<string, unknown>>("images.inspect", { name: info.digest }, options);
    return new Image(info, inspect);
  }
}

/** An image that was removed. */
export interface PrunedImage {
  /** The digest of the manifest. */
  readonly digest: string;
  /** The names. */
  readonly references: readonly string[];
}

/** The result of a prune. */
export interface Pruned {
  /** The images that were removed. */
  readonly images: readonly PrunedImage[];
  /** The number of images of staged directories that were removed, because no sandbox had them. */
  readonly stagedDirectories: number;
  /** Space that was freed, in bytes. */
  readonly freedBytes: number;
  /** Space that images still take, in bytes. */
  readonly keptBytes: number;
  /** All further fields, as `msb image prune` prints them. */
  readonly [field: string]: unknown;
}

/** An image in the store. */
export class Image implements ImageInfo {
  readonly reference: string | null;
  readonly digest: string;
  readonly platform: string;
  readonly layerCount: number;
  readonly sizeBytes: number;
  readonly diskBytes: number;
  readonly created: string | null;
  readonly #inspect: (options: CallOptions) => Promise<Record<string, unknown>>;

  /** @internal */
  constructor(info: ImageInfo, inspect: (options: CallOptions) => Promise<Record<string, unknown>>) {
    this.reference = info.reference;
    this.digest = info.digest;
    this.platform = info.platform;
    this.layerCount = info.layerCount;
    this.sizeBytes = info.sizeBytes;
    this.diskBytes = info.diskBytes;
    this.created = info.created;
    this.#inspect = inspect;
  }

  /** Returns the record of the image and the paths of its artifacts, as `msb image inspect` prints them. */
  async inspect(options: CallOptions = {}): Promise<Record<string, unknown>> {
    return this.#inspect(options);
  }
}
