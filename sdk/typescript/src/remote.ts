/** Calls of operations of the native addon. */
import { fromNative, toNative } from "./conversion.js";
import { clientClosed, errorOf } from "./failure.js";
import { loadNative, type NativeHandle } from "./native.js";
import { emitNotices } from "./notices.js";

/** The options of every call. */
export interface CallOptions {
  /** Aborts the call: a command is killed, a start is undone, a download stops. */
  readonly signal?: AbortSignal | undefined;
}

/** The result of an operation. */
export interface Answer<T> {
  readonly value: T;
  readonly content: readonly Uint8Array[];
  readonly remote: Remote | undefined;
}

/** An object of the native addon: the client, a sandbox, a process or a stream. */
export class Remote {
  readonly #handle: NativeHandle;

  constructor(handle: NativeHandle) {
    this.#handle = handle;
  }

  /** Calls an operation and returns its value. */
  async value<T>(operation: string, parameters: object = {}, options: CallOptions = {}): Promise<T> {
    return (await this.call<T>(operation, parameters, options)).value;
  }

  /** Calls an operation that makes an object, and returns the object and the value. */
  async open<T>(operation: string, parameters: object = {}, options: CallOptions = {}): Promise<[Remote, T]> {
    const { remote, value } = await this.call<T>(operation, parameters, options);
    if (remote === undefined) {
      throw new TypeError(`${operation} returned no object`);
    }
    return [remote, value];
  }

  /** Calls an operation. */
  async call<T>(
    operation: string,
    parameters: object = {},
    { signal }: CallOptions = {},
    content: Uint8Array[] = [],
  ): Promise<Answer<T>> {
    signal?.throwIfAborted();
    const text = JSON.stringify(toNative(parameters));
    const cancel = signal === undefined ? null : new (loadNative().NativeCancel)();
    const abort = () => cancel?.cancel();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const outcome = await this.#handle.call(operation, text, content, cancel);
      if (outcome.failure !== undefined) {
        throw errorOf(outcome.failure, outcome.content);
      }
      if (outcome.value === undefined) {
        signal?.throwIfAborted();
        throw clientClosed();
      }
      const value = fromNative(JSON.parse(outcome.value));
      emitNotices(value);
      const remote = outcome.handle === undefined ? undefined : new Remote(outcome.handle);
      return { value: value as T, content: outcome.content, remote };
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Gives the object up without waiting. */
  close(): void {
    this.#handle.close();
  }
}

/** Yields the values of a stream's `next` until it returns null, and closes the stream. */
export async function* stream<T>(
  open: () => Promise<Remote>,
  options: CallOptions,
  item: (answer: Answer<unknown>) => T,
): AsyncGenerator<T, void, undefined> {
  const remote = await open();
  try {
    for (;;) {
      const answer = await remote.call<unknown>("next", {}, options);
      if (answer.value === null) {
        return;
      }
      yield item(answer);
    }
  } finally {
    remote.close();
  }
}
