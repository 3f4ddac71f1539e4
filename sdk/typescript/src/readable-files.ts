/** Files that can be read. */
import { stream, type Answer, type CallOptions, type Remote } from "./remote.js";
import type { Copied, CopyOptions, FileInfo, HostPath, ReadOptions, StatOptions, Text } from "./types.js";

/**
 * Files that can be read: those of a sandbox, or of a snapshot of it. A relative path starts at the sandbox's working
 * directory, as it does for a command.
 */
export class ReadableFiles {
  readonly #remote: Remote;
  readonly #snapshot: string | undefined;

  /** @internal */
  constructor(remote: Remote, snapshot?: string) {
    this.#remote = remote;
    this.#snapshot = snapshot;
  }

  /**
   * Returns the content of a file of at most `maxSize`, 32 MiB by default. The sandbox decides how long its files are: a
   * longer one throws {@link OutputLimit}. `readStream` has no limit.
   */
  async read(path: Text, options: ReadOptions = {}): Promise<Uint8Array> {
    const { content } = await this.#remote.call("files.read", { ...options, ...this.#at(path) }, options);
    return content[0] ?? new Uint8Array();
  }

  /** Returns the content of a file as text. Bytes that are not UTF-8 become replacement characters. */
  async readText(path: Text, options: ReadOptions = {}): Promise<string> {
    return new TextDecoder().decode(await this.read(path, options));
  }

  /** Returns the content of a file as a stream. */
  readStream(path: Text, options: CallOptions = {}): ReadableStream<Uint8Array> {
    return this.#byteStream("files.read_stream", path, options);
  }

  /** Returns the entries of a directory, sorted by name. */
  async list(path: Text, options: CallOptions = {}): Promise<FileInfo[]> {
    return this.#remote.value("files.list", this.#at(path), options);
  }

  /** Returns the attributes of a file; with `follow: false`, those of a symbolic link itself. */
  async stat(path: Text, options: StatOptions = {}): Promise<FileInfo> {
    return this.#remote.value("files.stat", { ...options, ...this.#at(path) }, options);
  }

  /** Returns true if the path exists. */
  async exists(path: Text, options: CallOptions = {}): Promise<boolean> {
    return this.#remote.value("files.exists", this.#at(path), options);
  }

  /** Copies a file or directory of the sandbox to this host, with the rules of `docker cp`. */
  async download(guest: Text, host: HostPath, options: CopyOptions = {}): Promise<Copied> {
    return this.#remote.value("files.download", { ...options, host, guest, snapshot: this.#snapshot }, options);
  }

  /** Returns a file or directory of the sandbox as a tar archive. */
  getTar(path: Text, options: CallOptions = {}): ReadableStream<Uint8Array> {
    return this.#byteStream("files.get_tar", path, options);
  }

  #byteStream(operation: string, path: Text, options: CallOptions): ReadableStream<Uint8Array> {
    const open = async () => (await this.#remote.open(operation, this.#at(path), options))[0];
    return readable(stream(open, options, ({ content }: Answer<unknown>) => content[0] ?? new Uint8Array()));
  }

  #at(path: Text): { readonly path: Text; readonly snapshot: string | undefined } {
    return { path, snapshot: this.#snapshot };
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
