/** The files of a sandbox. */
import { stream, type Answer, type CallOptions, type Remote } from "./remote.js";
import type {
  Copied,
  CopyOptions,
  FileInfo,
  HostPath,
  MkdirOptions,
  RemoveFileOptions,
  StatOptions,
  Text,
  WriteOptions,
} from "./types.js";

/** The bytes of one call of a stream that is written. */
const CHUNK_BYTES = 1 << 20;

/** The files of a sandbox. Paths are those of the sandbox; a stopped sandbox can be read. */
export class Files {
  readonly #remote: Remote;

  /** @internal */
  constructor(remote: Remote) {
    this.#remote = remote;
  }

  /** Returns the content of a file. */
  async read(path: Text, options: CallOptions = {}): Promise<Uint8Array> {
    const { content } = await this.#remote.call("files.read", { path }, options);
    return content[0] ?? new Uint8Array();
  }

  /** Returns the content of a file as text. Bytes that are not UTF-8 become replacement characters. */
  async readText(path: Text, options: CallOptions = {}): Promise<string> {
    return new TextDecoder().decode(await this.read(path, options));
  }

  /** Returns the content of a file as a stream. */
  readStream(path: Text, options: CallOptions = {}): ReadableStream<Uint8Array> {
    return this.#byteStream("files.read_stream", path, options);
  }

  /** Replaces the content of a file. The file has the old content or the new one at every moment. */
  async write(path: Text, data: string | Uint8Array, options: WriteOptions = {}): Promise<void> {
    await this.#remote.call("files.write", { ...options, path }, options, [bytesOf(data)]);
  }

  /** Returns the entries of a directory, sorted by name. */
  async list(path: Text, options: CallOptions = {}): Promise<FileInfo[]> {
    return this.#remote.value("files.list", { path }, options);
  }

  /** Returns the attributes of a file; with `follow: false`, those of a symbolic link itself. */
  async stat(path: Text, options: StatOptions = {}): Promise<FileInfo> {
    return this.#remote.value("files.stat", { ...options, path }, options);
  }

  /** Returns true if the path exists. */
  async exists(path: Text, options: CallOptions = {}): Promise<boolean> {
    return this.#remote.value("files.exists", { path }, options);
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

  /** Copies a file or directory of the sandbox to this host, with the rules of `docker cp`. */
  async download(guest: Text, host: HostPath, options: CopyOptions = {}): Promise<Copied> {
    return this.#remote.value("files.download", { ...options, host, guest }, options);
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

  /** Returns a file or directory of the sandbox as a tar archive. */
  getTar(path: Text, options: CallOptions = {}): ReadableStream<Uint8Array> {
    return this.#byteStream("files.get_tar", path, options);
  }

  #byteStream(operation: string, path: Text, options: CallOptions): ReadableStream<Uint8Array> {
    const open = async () => (await this.#remote.open(operation, { path }, options))[0];
    return readable(stream(open, options, ({ content }: Answer<unknown>) => content[0] ?? new Uint8Array()));
  }
}

/** Returns the values of a generator as a stream that requests a value when its reader does. */
function readable(values: AsyncGenerator<Uint8Array, void, undefined>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await values.next();
        if (done === true) {
          controller.close();
        } else {
          controller.enqueue(value);
        }
      },
      cancel: async () => {
        await values.return();
      },
    },
    { highWaterMark: 0 },
  );
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
