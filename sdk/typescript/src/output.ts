/** The collected output of a command. */
import { CommandFailed } from "./errors.js";

/** The end of a command that was collected. */
export interface Ended {
  readonly exitCode: number;
  readonly signal: number | null;
  /** The failure on one line; null if the exit code is 0. */
  readonly failure?: string | null;
}

/** The output and the end of a command. */
export class Output {
  /** The exit code: the command's own, or 128 plus the signal that killed it. */
  readonly exitCode: number;
  /** The number of the signal that killed the command; `null` if none did. */
  readonly signal: number | null;
  /** The standard output. */
  readonly stdout: Uint8Array;
  /** The standard error. */
  readonly stderr: Uint8Array;

  readonly #failure: string | undefined;

  /** @internal */
  constructor({ exitCode, signal, failure }: Ended, [stdout, stderr]: readonly Uint8Array[]) {
    this.exitCode = exitCode;
    this.#failure = failure ?? undefined;
    this.signal = signal;
    this.stdout = stdout ?? new Uint8Array();
    this.stderr = stderr ?? new Uint8Array();
  }

  /** Returns the standard output as text. Bytes that are not UTF-8 become replacement characters. */
  text(): string {
    return new TextDecoder().decode(this.stdout);
  }

  /** Returns the standard error as text. */
  errorText(): string {
    return new TextDecoder().decode(this.stderr);
  }

  /** Returns this output if the exit code is 0, and throws {@link CommandFailed} otherwise. */
  check(): this {
    if (this.exitCode === 0) {
      return this;
    }
    const message = this.#failure ?? `the command ended with exit code ${this.exitCode}`;
    throw new CommandFailed(message, {
      details: { exitCode: this.exitCode },
      stdout: this.stdout,
      stderr: this.stderr,
    });
  }
}
