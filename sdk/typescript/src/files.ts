/** The files of a sandbox. */
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

/** The bytes of one call of a stream that is written. */
const CHUNK_BYTES = 1 << 20;

/** The files of a sandbox, which can be changed while it runs. */
export class Files extends ReadableFiles {
  readonly #remote: Remote;

  /** @internal */
  constructor(remote: Remote) {
    super(remote);
    this.#remote = remote;
  }

  /** Replaces the content of a file. The file has the old content or the new one at every moment. */
  async write(path: Text, data: string | Uint8Array, options: WriteOptions = {}): Promise<void> {
    await this.#remote.call("files.write", { ...options, path }, options, [bytesOf(data)]);
  }

  /** Makes a directory. */
  async mkdir(path: Text, options: MkdirOptions = {}): Promise<void> {
    await this.#remote.call("files.mkdir", { ...options, path }, options);
  }

  /** Removes a file or an empty directory. */
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
    archive: Uint8Array | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>,
    directory: Text,
    options: CallOptions = {},
  ): Promise<void> {
    const [remote] = await this.#remote.open("files.put_tar", { path: directory }, options);
    try {
      for await (const chunk of chunksOf(archive)) {
        await remote.call("write", {}, options, [chunk]);
      }
      await remote.call("finish", {}, options);
    } finally {
      remote.close();
    }
  }
}

/** Yields bytes in pieces of at most {@link CHUNK_BYTES}. */
async function* chunksOf(
  data: Uint8Array | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const pieces = data instanceof Uint8Array ? [data] : (data as AsyncIterable<Uint8Array>);
  for await (const piece of pieces) {
    for (let start = 0; start < piece.byteLength; start += CHUNK_BYTES) {
      yield piece.subarray(start, start + CHUNK_BYTES);
    }
  }
}

/** Returns data as bytes; text as UTF-8. */
export function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === "string" ? new TextEncoder().encode(data) : data;
}
