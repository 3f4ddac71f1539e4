/** The files of a sandbox. */
import { bytesOf, chunksOf, isWhole, iterableOf, type Data, type Parts } from "./content.js";
import { ReadableFiles } from "./readable-files.js";
import type { CallOptions, Remote } from "./remote.js";
import type {
  Copied,
  CopyOptions,
  HostPath,
  MkdirOptions,
  RemoveFileOptions,
  Text,
  WriteOptions,
} from "./types.js";

/** The files of a sandbox, which can be changed while it runs. */
export class Files extends ReadableFiles {
  readonly #remote: Remote;

  /** @internal */
  constructor(remote: Remote) {
    super(remote);
    this.#remote = remote;
  }

  /**
   * Replaces the content of a file. The file has the old content or the new one at every moment. `data` is in memory, or
   * is read piece by piece, with memory for a few pieces: a web stream, a Node.js stream, or any iterable of text or bytes.
   */
  async write(path: Text, data: Data | Parts, options: WriteOptions = {}): Promise<void> {
    if (isWhole(data)) {
      await this.#remote.call("files.write", { ...options, path }, options, [bytesOf(data)]);
      return;
    }
    const parts = iterableOf(data);
    await this.#send("files.write_parts", { ...options, path }, parts, options);
  }

  /** Makes a directory. */
  async mkdir(path: Text, options: MkdirOptions = {}): Promise<void> {
    await this.#remote.call("files.mkdir", { ...options, path }, options);
  }

  /** Removes a file; with `recursive` also a directory, with everything in it. */
  async remove(path: Text, options: RemoveFileOptions = {}): Promise<void> {
    const { force, ...others } = options;
    await this.#remote.call("files.remove", { ...others, path, missingOk: force }, options);
  }

  /** Renames a file or directory. An existing file at the new path is replaced. */
  async rename(from: Text, to: Text, options: CallOptions = {}): Promise<void> {
    await this.#remote.call("files.rename", { from, to }, options);
  }

  /** Sets the 12 permission bits. */
  async chmod(path: Text, mode: number, options: CallOptions = {}): Promise<void> {
    await this.#remote.call("files.chmod", { path, mode }, options);
  }

  /** Copies a file or directory of this host into the sandbox, with the rules of `docker cp`. */
  async upload(host: HostPath, guest: Text, options: CopyOptions = {}): Promise<Copied> {
    return this.#remote.value("files.upload", { ...options, host, guest }, options);
  }

  /** Unpacks a tar archive below a directory of the sandbox. */
  async putTar(
    archive: Data | Parts,
    directory: Text,
    options: CallOptions = {},
  ): Promise<void> {
    await this.#send("files.put_tar", { path: directory }, archive, options);
  }

  async #send(operation: string, parameters: object, data: Data | Parts, options: CallOptions): Promise<void> {
    const [remote] = await this.#remote.open(operation, parameters, options);
    try {
      for await (const chunk of chunksOf(data)) {
        await remote.call("write", {}, options, [chunk]);
      }
      await remote.call("finish", {}, options);
    } finally {
      remote.close();
    }
  }
}
