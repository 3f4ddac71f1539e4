/** The sandboxes of a client. */
import type { CallOptions, Remote } from "./remote.js";
import { Sandbox, type SandboxIdentity } from "./sandbox.js";
import { sandboxParameters } from "./sandbox_options.js";
import type { HostPath, ListOptions, SandboxInfo, SandboxOptions } from "./types.js";

/** The sandboxes below the client's home. */
export class Sandboxes {
  readonly #remote: Remote;
  readonly #owned: Set<WeakRef<Sandbox>>;

  /** @internal */
  constructor(remote: Remote, owned: Set<WeakRef<Sandbox>>) {
    this.#remote = remote;
    this.#owned = owned;
  }

  /**
   * Creates and starts a sandbox that this process owns: it is shut down and removed when the scope of
   * `await using` ends, with `close()`, and when this process ends.
   */
  async run(image: string, options?: SandboxOptions): Promise<Sandbox>;
  /** Creates and starts a sandbox of another sandbox (`fromSandbox`) or of a disk image (`rootDisk`). */
  async run(options: SandboxOptions): Promise<Sandbox>;
  async run(image: string | SandboxOptions, options: SandboxOptions = {}): Promise<Sandbox> {
    return this.#made("sandboxes.run", image, options);
  }

  /** Creates a sandbox that stays until it is removed. It is not started. */
  async create(image: string, options?: SandboxOptions): Promise<Sandbox>;
  /** Creates a sandbox of another sandbox (`fromSandbox`) or of a disk image (`rootDisk`). */
  async create(options: SandboxOptions): Promise<Sandbox>;
  async create(image: string | SandboxOptions, options: SandboxOptions = {}): Promise<Sandbox> {
    return this.#made("sandboxes.create", image, options);
  }

  /**
   * Makes a sandbox of a snapshot that `Snapshots.export` wrote. It has the snapshot, and is not started. Without a name
   * it has that of the exported sandbox. Its image has to be in the store. Host directories, volumes, ports and
   * destinations that the network allowed are left out, and a warning names each.
   */
  async importSnapshot(path: HostPath, options: CallOptions & { readonly name?: string | undefined } = {}): Promise<Sandbox> {
    const parameters = { path, name: options.name };
    const [remote, identity] = await this.#remote.open<SandboxIdentity>("sandboxes.import", parameters, options);
    return new Sandbox(remote, identity, this.#owned);
  }

  /** Returns the sandbox with this name or id. */
  async get(name: string, options: CallOptions = {}): Promise<Sandbox> {
    const [remote, identity] = await this.#remote.open<SandboxIdentity>("sandboxes.get", { name }, options);
    return new Sandbox(remote, identity, this.#owned);
  }

  /** Returns the descriptions of the sandboxes, the earliest first. */
  async list(options: ListOptions = {}): Promise<SandboxInfo[]> {
    return this.#remote.value("sandboxes.list", options, options);
  }

  async #made(operation: string, image: string | SandboxOptions, given: SandboxOptions): Promise<Sandbox> {
    const [name, options] = typeof image === "string" ? [image, given] : ["", image];
    const parameters = sandboxParameters(name, options);
    const [remote, identity] = await this.#remote.open<SandboxIdentity>(operation, parameters, options);
    return new Sandbox(remote, identity, this.#owned);
  }
}
