/** A comparison of the files of two sandboxes or images. */
import type { CallOptions, Remote } from "./remote.js";
import type { Change, ChangeKind, Patch } from "./types.js";

/** The letters of the kinds of changes. */
const LETTERS: Readonly<Record<ChangeKind, Change["letter"]>> = { added: "A", changed: "C", deleted: "D" };

/**
 * A comparison of the files of two sandboxes or images.
 *
 * Iterating over it yields the changes, parents before children, names in bytewise order. Stopped
 * sandboxes cannot be started until it is closed.
 *
 * @example
 * ```ts
 * await using diff = await sandbox.diff();
 * for await (const change of diff) console.log(change.kind, change.path);
 * ```
 */
export class Diff implements AsyncIterable<Change>, AsyncDisposable {
  readonly #remote: Remote;

  /** @internal */
  constructor(remote: Remote) {
    this.#remote = remote;
  }

  /** Returns the number of changes, those that are implied by another one included. */
  async count(options: CallOptions = {}): Promise<number> {
    return this.#remote.value("count", {}, options);
  }

  /** Returns a change of this comparison in the form of `git diff`. */
  async patch(change: Change, options: CallOptions = {}): Promise<Patch> {
    const { value, content } = await this.#remote.call<Omit<Patch, "text">>("patch", { index: change.index }, options);
    return { ...value, text: content[0] ?? new Uint8Array() };
  }

  /** Yields the changes. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Change, void, undefined> {
    for (let from = 0; ; ) {
      const changes = await this.#remote.value<Omit<Change, "letter">[]>("changes", { from });
      if (changes.length === 0) {
        return;
      }
      for (const change of changes) {
        yield { ...change, letter: LETTERS[change.kind] };
      }
      from += changes.length;
    }
  }

  /** Ends the comparison. */
  close(): void {
    this.#remote.close();
  }

  /** Ends the comparison. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }
}
