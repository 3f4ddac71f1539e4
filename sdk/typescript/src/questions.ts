/** Answers to the questions of a sandbox. */
import type { CallOptions, Remote } from "./remote.js";
import type { Question, QuestionAnswer } from "./types.js";

/** An event of the native addon's questions. */
type Event = ({ readonly event: "asked" } & Question) | { readonly event: "ended" | "listening" };

/** A function that answers a question. */
export type OnAsk = (question: Question) => QuestionAnswer | Promise<QuestionAnswer>;

/** The answers to a sandbox's questions, until it is closed or the sandbox has ended. */
export class Answering implements AsyncDisposable {
  readonly #sandbox: Remote;
  readonly #questions: Remote;
  readonly #onAsk: OnAsk;
  /** Cancels the wait for the next question. */
  readonly #closing = new AbortController();
  #ended: Promise<void> = Promise.resolve();

  private constructor(sandbox: Remote, questions: Remote, onAsk: OnAsk) {
    this.#sandbox = sandbox;
    this.#questions = questions;
    this.#onAsk = onAsk;
  }

  /** @internal */
  static async begin(sandbox: Remote, onAsk: OnAsk, options: CallOptions): Promise<Answering> {
    const [questions] = await sandbox.open("questions", {}, options);
    const answering = new Answering(sandbox, questions, onAsk);
    try {
      // Questions that wait come first.
      for (;;) {
        const event = await questions.value<Event | null>("next");
        await answering.#attend(event);
        if (event === null || event.event === "listening") {
          break;
        }
      }
    } catch (error) {
      questions.close();
      throw error;
    }
    answering.#ended = answering.#attendAll();
    // A failure is that of `ended`, which nobody may ask for.
    answering.#ended.catch(() => undefined);
    return answering;
  }

  /** Settles once the sandbox has ended, or this is closed; fails with an error of the function or the connection. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Answers no more questions. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#questions.close();
  }

  /** Stops answering, as {@link close} does. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #attendAll(): Promise<void> {
    try {
      for (;;) {
        const { signal } = this.#closing;
        const event = await this.#questions.value<Event | null>("next", {}, { signal }).catch((error: unknown) => {
          // It fails once it is closed.
          if (signal.aborted) {
            return null;
          }
          throw error;
        });
        if (event === null || signal.aborted) {
          return;
        }
        await this.#attend(event);
      }
    } finally {
      this.#questions.close();
    }
  }

  async #attend(event: Event | null): Promise<void> {
    if (event?.event !== "asked") {
      return;
    }
    const { event: _, ...question } = event;
    let answer: QuestionAnswer = false;
    try {
      answer = await this.#onAsk(question);
    } finally {
      const given = { allow: answer !== false, always: answer === "always", by: "TypeScript" };
      // A file that cannot be let in is denied.
      await this.#sandbox.value("answer", { question, answer: given }).catch(() => undefined);
    }
  }
}
