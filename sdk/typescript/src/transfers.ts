/** Pulls and pushes that are under way. */
import type { Image } from "./images.js";
import type { CallOptions, Remote } from "./remote.js";
import type { ImageInfo, PullEvent, Pushed, PushEvent } from "./types.js";

/** A pull or a push that is under way. */
export abstract class Transfer<Result, Event> implements PromiseLike<Result>, AsyncDisposable {
  readonly #remote: Promise<Remote>;
  readonly #options: CallOptions;
  #result: Promise<Result> | undefined;

  /** @internal */
  constructor(remote: Promise<Remote>, options: CallOptions) {
    this.#remote = remote;
    this.#options = options;
    // A failure before anything awaits the result is reported to who awaits it later.
    remote.catch(() => undefined);
  }

  /** The events until the end. A failure throws here, too. */
  get progress(): AsyncIterable<Event> {
    return this.#events();
  }

  /** Calls back with the result when it has ended. */
  then<A = Result, B = never>(
    onfulfilled?: ((result: Result) => A | PromiseLike<A>) | null,
    onrejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#result ??= this.#remote.then((remote) => this.wait(remote, this.#options));
    return this.#result.then(onfulfilled, onrejected);
  }

  /** Calls back if it fails. */
  catch<B = never>(onrejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<Result | B> {
    return this.then(null, onrejected);
  }

  /** Calls back when it has ended, or failed. */
  finally(onfinally?: (() => void) | null): Promise<Result> {
    return this.then().finally(onfinally);
  }

  /** Stops it, if it has not ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    const remote = await this.#remote.catch(() => undefined);
    remote?.close();
  }

  /**
   * Waits for the result.
   *
   * @internal
   */
  protected abstract wait(remote: Remote, options: CallOptions): Promise<Result>;

  async *#events(): AsyncGenerator<Event, void, undefined> {
    const remote = await this.#remote;
    for (;;) {
      const next = await remote.value<{ event: Event } | null>("next", {}, this.#options);
      if (next === null) {
        return;
      }
      yield next.event;
    }
  }
}

/**
 * A pull that is under way. Await it for the image; iterate over {@link progress} before that for
 * the events. If it is disposed of before its end, finished layers are kept for the next one.
 */
export class Pull extends Transfer<Image, PullEvent> {
  readonly #image: (info: ImageInfo) => Image;

  /** @internal */
  constructor(remote: Promise<Remote>, image: (info: ImageInfo) => Image, options: CallOptions) {
    super(remote, options);
    this.#image = image;
  }

  /** @internal */
  protected override async wait(remote: Remote, options: CallOptions): Promise<Image> {
    return this.#image(await remote.value<ImageInfo>("image", {}, options));
  }
}

/**
 * A push that is under way. Await it for the names and digests at the registry; iterate over
 * {@link progress} before that for the events. If it is disposed of before its end, nothing is
 * published, unless the manifest was on its way already.
 */
export class Push extends Transfer<Pushed, PushEvent> {
  /** @internal */
  protected override async wait(remote: Remote, options: CallOptions): Promise<Pushed> {
    return remote.value<Pushed>("pushed", {}, options);
  }
}
