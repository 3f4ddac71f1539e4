/** The volumes of a client. */
import { nameOf, type Name } from "./names.js";
import type { CallOptions, Remote } from "./remote.js";
import type { Size, VolumeInfo } from "./types.js";

/** The volumes below the client's home. */
export class Volumes {
  readonly #remote: Remote;

  /** @internal */
  constructor(remote: Remote) {
    this.#remote = remote;
  }

  /** Creates a volume. */
  async create(
    name: string,
    options: CallOptions & {
      readonly size?: Size | undefined;
      readonly labels?: Readonly<Record<string, string>> | undefined;
    } = {},
  ): Promise<VolumeInfo> {
    return this.#remote.value("volumes.create", { ...options, name }, options);
  }

  /** Returns the volume with this name. */
  async get(name: string, options: CallOptions = {}): Promise<VolumeInfo> {
    return this.#remote.value("volumes.get", { name }, options);
  }

  /** Returns the volumes, sorted by name. */
  async list(options: CallOptions = {}): Promise<VolumeInfo[]> {
    return this.#remote.value("volumes.list", {}, options);
  }

  /** Removes a volume that no sandbox mounts. */
  async remove(name: Name, options: CallOptions = {}): Promise<void> {
    await this.#remote.call("volumes.remove", { name: nameOf(name) }, options);
  }

  /** Removes the volumes that no sandbox mounts, and returns their names. */
  async prune(options: CallOptions = {}): Promise<string[]> {
    return this.#remote.value("volumes.prune", {}, options);
  }
}
