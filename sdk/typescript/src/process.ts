/** A running command of a sandbox. */
import { bytesOf } from "./content.js";
import type { CallOptions, Remote } from "./remote.js";
import { Demultiplexer } from "./demultiplexer.js";
import { signalNumber, type SignalName } from "./signals.js";
import type { Exit, OutputEvent } from "./types.js";

/**
 * A command that runs in a sandbox. Iterate over it for its output, or read {@link stdout} and
 * {@link stderr}; then {@link wait} returns its exit code.
 *
 * The command is killed when the scope of `await using` ends, when an iteration is left early, and
 * when the `signal` of `spawn` aborts.
 */
export class Process implements AsyncIterable<OutputEvent>, AsyncDisposable {
  readonly #remote: Remote;
  readonly #signal: AbortSignal | undefined;
  readonly #output: Demultiplexer;
  #stdin: WritableStream<Uint8Array> | undefined;

  /** @internal */
  constructor(remote: Remote, signal: AbortSignal | undefined) {
    this.#remote = remote;
    this.#signal = signal;
    this.#output = new Demultiplexer(() => this.#next());
    signal?.addEventListener("abort", () => remote.close(), { once: true });
  }

  /** The standard output. It ends with the command. Standard error is dropped unless {@link stderr} is read, too. */
  get stdout(): ReadableStream<Uint8Array> {
    return this.#output.stdout();
  }

  /** The standard error. It ends with the command. Standard output is dropped unless {@link stdout} is read, too. */
  get stderr(): ReadableStream<Uint8Array> {
    return this.#output.stderr();
  }

  /** The standard input, if `spawn` got `stdin: true`. Close it to end the command's input. Writes wait until the sandbox has accepted them. */
  get stdin(): WritableStream<Uint8Array> {
    this.#stdin ??= new WritableStream<Uint8Array>({
      write: async (chunk) => {
        await this.#remote.call("write", {}, {}, [bytesOf(chunk, "the input")]);
      },
      close: async () => {
        await this.#remote.call("close_stdin");
      },
      abort: async () => {
        await this.#remote.call("close_stdin");
      },
    });
    return this.#stdin;
  }

  /** Yields the output in the order in which it arrives. Leaving the iteration early kills the command. */
  async *[Symbol.asyncIterator](): AsyncGenerator<OutputEvent, void, undefined> {
    let isComplete = false;
    try {
      for (;;) {
        const event = await this.#next();
        if (event === undefined) {
          isComplete = true;
          return;
        }
        yield event;
      }
    } finally {
      if (!isComplete) {
        this.#remote.close();
      }
    }
  }

  /** Waits for the end of the command. Output that has no reader is dropped; read {@link stdout} and {@link stderr} first, or meanwhile. */
  async wait(options: CallOptions = {}): Promise<Exit> {
    await this.#output.finish();
    return this.#reasoned(this.#remote.value<Exit>("wait", {}, options));
  }

  /** Sends a signal to the command. */
  async signal(signal: SignalName | number, options: CallOptions = {}): Promise<void> {
    await this.#remote.call("signal", { signal: signalNumber(signal) }, options);
  }

  /** Kills the command and everything that it started. */
  async kill(options: CallOptions = {}): Promise<void> {
    await this.#remote.call("kill", {}, options);
  }

  /** Changes the size of the terminal. */
  async resize(rows: number, cols: number, options: CallOptions = {}): Promise<void> {
    await this.#remote.call("resize", { rows, cols }, options);
  }

  /** Kills the command if it runs, without waiting. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#remote.close();
  }

  async #next(): Promise<OutputEvent | undefined> {
    this.#signal?.throwIfAborted();
    const answer = await this.#reasoned(this.#remote.call<{ stream: OutputEvent["stream"] } | null>("next"));
    const [data] = answer.content;
    return answer.value === null || data === undefined ? undefined : { stream: answer.value.stream, data };
  }

  /** Returns the result of a call; the reason of the abort if the process was aborted meanwhile. */
  async #reasoned<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      this.#signal?.throwIfAborted();
      throw error;
    }
  }
}
