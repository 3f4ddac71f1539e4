/** The collected output of a command. */
import { CommandFailed } from "./errors.js";
import type { Exit } from "./types.js";

/** The output and the end of a command. */
export class Output {
  /** The exit code: the command's own, or 128 plus the fatal signal. */
  readonly exitCode: number;
  /** The number of the signal that killed the command; `undefined` if none did. */
  readonly signal: number | undefined;
  /** The standard output. */
  readonly stdout: Uint8Array;
  /** The standard error. */
  readonly stderr: Uint8Array;
  readonly #argv: string;

  /** @internal */
  constructor(exit: Exit, stdout: Uint8Array, stderr: Uint8Array, argv: string) {
    this.exitCode = exit.code;
    this.signal = exit.signal ?? undefined;
    this.stdout = stdout;
    this.stderr = stderr;
    this.#argv = argv;
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
    throw new CommandFailed(`${this.#argv} ended with exit code ${this.exitCode}`, {
      details: { exitCode: this.exitCode, signal: this.signal ?? null },
      stdout: this.stdout,
      stderr: this.stderr,
    });
  }
}
