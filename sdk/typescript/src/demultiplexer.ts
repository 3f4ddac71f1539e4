/** The two output streams of a process. */
import type { OutputEvent } from "./types.js";

type StreamName = OutputEvent["stream"];

/** Bytes of one stream that wait for their reader, above which the other stream waits, too. */
const BUFFERED_BYTES_MAX = 1 << 20;

/**
 * Splits the output of a process into two streams. Output is requested only while a reader wants it,
 * so that a process whose output nothing reads waits.
 */
export class Demultiplexer {
  readonly #next: () => Promise<OutputEvent | undefined>;
  readonly #streams = new Map<StreamName, OneStream>();
  #pumping: Promise<void> | undefined;
  #isComplete = false;

  constructor(next: () => Promise<OutputEvent | undefined>) {
    this.#next = next;
  }

  /** Returns standard output. Output that arrived before the first call was dropped. */
  stdout(): ReadableStream<Uint8Array> {
    return this.#stream("stdout");
  }

  /** Returns standard error. Output that arrived before the first call was dropped. */
  stderr(): ReadableStream<Uint8Array> {
    return this.#stream("stderr");
  }

  #stream(name: StreamName): ReadableStream<Uint8Array> {
    let stream = this.#streams.get(name);
    if (stream === undefined) {
      stream = new OneStream(() => this.#pull());
      this.#streams.set(name, stream);
      if (this.#isComplete) stream.end();
    }
    return stream.readable;
  }

  /** Waits until the readers have taken everything that they still get. */
  async finish(): Promise<void> {
    await this.#pumping?.catch(() => undefined);
  }

  /** Requests output until every reader has some. */
  #pull(): Promise<void> {
    this.#pumping ??= this.#pump().finally(() => {
      this.#pumping = undefined;
    });
    return this.#pumping;
  }

  async #pump(): Promise<void> {
    const streams = () => [...this.#streams.values()];
    try {
      while (streams().some((stream) => stream.isWaiting()) && !streams().some((stream) => stream.isFull())) {
        const event = await this.#next();
        if (event === undefined) {
          this.#isComplete = true;
          streams().forEach((stream) => stream.end());
          return;
        }
        this.#streams.get(event.stream)?.push(event.data);
      }
    } catch (error) {
      this.#isComplete = true;
      streams().forEach((stream) => stream.fail(error));
    }
  }
}

/** One stream and its reader. */
class OneStream {
  readonly readable: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #isOpen = true;

  constructor(pull: () => Promise<void>) {
    const strategy = { highWaterMark: BUFFERED_BYTES_MAX, size: (chunk: Uint8Array) => chunk.byteLength };
    this.readable = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => pull(),
        cancel: () => {
          this.#isOpen = false;
        },
      },
      strategy,
    );
  }

  isWaiting(): boolean {
    return this.#isOpen && (this.#controller?.desiredSize ?? 0) > 0;
  }

  isFull(): boolean {
    return this.#isOpen && (this.#controller?.desiredSize ?? 0) <= 0;
  }

  push(data: Uint8Array): void {
    if (this.#isOpen) this.#controller?.enqueue(data);
  }

  end(): void {
    if (this.#isOpen) this.#controller?.close();
    this.#isOpen = false;
  }

  fail(error: unknown): void {
    if (this.#isOpen) this.#controller?.error(error);
    this.#isOpen = false;
  }
}
