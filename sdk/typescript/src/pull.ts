/** A pull that is under way. */
import type { Image } from "./images.js";
import type { CallOptions, Remote } from "./remote.js";
import type { ImageInfo, PullEvent } from "./types.js";

/**
 * A pull that is under way. Await it for the image; iterate over {@link progress} before that for
 * the events.
 */
export class Pull implements PromiseLike<Image>, AsyncDisposable {
  readonly #remote: Promise<Remote>;
  readonly #image: (info: ImageInfo) => Image;
  readonly #options: CallOptions;
  #result: Promise<Image> | undefined;

  /** @internal */
  constructor(remote: Promise<Remote>, image: (info: ImageInfo) => Image, options: CallOptions) {
    this.#remote = remote;
    this.#image = image;
    this.#options = options;
    // A pull that fails before anything awaits it is reported to who awaits it later.
    remote.catch(() => undefined);
  }

  /** The events until the image is in the store. A pull that fails throws here, too. */
  get progress(): AsyncIterable<PullEvent> {
    return this.#events();
  }

  /** Calls back with the image when it is in the store. */
  then<A = Image, B = never>(
    onfulfilled?: ((image: Image) => A | PromiseLike<A>) | null,
    onrejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#result ??= this.#wait();
    return this.#result.then(onfulfilled, onrejected);
  }

  /** Calls back if the pull fails. */
  catch<B = never>(onrejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<Image | B> {
    return this.then(null, onrejected);
  }

  /** Calls back when the pull has ended. */
  finally(onfinally?: (() => void) | null): Promise<Image> {
    return this.then().finally(onfinally);
  }

  /** Stops the pull. Finished layers are kept for the next one. */
  async [Symbol.asyncDispose](): Promise<void> {
    const remote = await this.#remote.catch(() => undefined);
    remote?.close();
  }

  async *#events(): AsyncGenerator<PullEvent, void, undefined> {
    const remote = await this.#remote;
    for (;;) {
      const next = await remote.value<{ event: PullEvent } | null>("next", {}, this.#options);
      if (next === null) {
        return;
      }
      yield next.event;
    }
  }

  async #wait(): Promise<Image> {
    const remote = await this.#remote;
    return this.#image(await remote.value<ImageInfo>("image", {}, this.#options));
  }
}
