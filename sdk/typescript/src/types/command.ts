/** The options and results of commands and jobs. */
import type { Data } from "../content.js";
import type { CallOptions } from "../remote.js";
import type { Size, Text } from "./client.js";
import type { TerminalSize, Ulimit } from "./sandbox.js";

/** The options of a command. */
export interface CommandOptions extends CallOptions {
  /** Environment variables beside those of the sandbox. */
  readonly env?: Readonly<Record<string, Text>> | undefined;
  /** Working directory. */
  readonly cwd?: Text | undefined;
  /** User as `user[:group]`, by names or numbers. */
  readonly user?: string | number | undefined;
  /** Groups besides the user's. */
  readonly groups?: readonly string[] | undefined;
  /** Resource limits by name. */
  readonly ulimits?: Readonly<Record<string, Ulimit>> | undefined;
  /**
   * True to take a snapshot before the command, so that `undo` can take it back: without it, the command is not started.
   * The choice of the sandbox, `snapshotCommands`, if it is absent.
   */
  readonly snapshot?: boolean | undefined;
}

/** The options of `exec` and `shell`. */
export interface ExecOptions extends CommandOptions {
  /** Time limit in milliseconds, after which the command is killed and {@link CommandTimeout} is thrown. */
  readonly timeoutMs?: number | undefined;
  /** The standard input; empty if it is absent. */
  readonly stdin?: Data | undefined;
  /** Limit of standard output and standard error together, above which the command is killed and {@link OutputLimit} is thrown; 32 MiB if it is absent. */
  readonly maxOutput?: Size | undefined;
  /** True to throw {@link CommandFailed} for an exit code other than 0. */
  readonly check?: boolean | undefined;
}

/** The options of `spawn`. */
export interface SpawnOptions extends CommandOptions {
  /** Time limit in milliseconds, after which the command is killed; its output and its `wait` throw {@link CommandTimeout} then. */
  readonly timeoutMs?: number | undefined;
  /** True to keep standard input open, for `Process.stdin`; without it the command reads an empty input. */
  readonly stdin?: boolean | undefined;
  /** The terminal of the command; it has pipes if it is absent. */
  readonly tty?: TerminalSize | undefined;
}

/** The end of a command, of a job or of a sandbox. */
export interface Exit {
  /** The exit code: the command's own, or 128 plus the fatal signal; 124 if a limit has ended it, 125 to 127 if it could not be run. */
  readonly code: number;
  /** The signal that killed the command. */
  readonly signal?: number;
  /** The limit that has ended the sandbox. */
  readonly reason?: "max-duration" | "idle-timeout";
  /** The reason that the command did not run, or the fate of its sandbox. */
  readonly error?: string;
  /** Seconds since the epoch. */
  readonly endedS?: number;
}

/** A job: a command that runs without a client. */
export interface JobInfo {
  /** The number of the job. */
  readonly id: number;
  /** The command. */
  readonly argv: readonly string[];
  /** User of the command. */
  readonly user: string;
  /** True if it runs. */
  readonly running: boolean;
  /** Seconds since the epoch of its start. */
  readonly startedS: number;
  /** The process id in the sandbox. */
  readonly pid?: number;
  /** The end of the job. */
  readonly exit?: Exit;
}

/** A piece of output of a command. */
export interface OutputEvent {
  /** The stream. */
  readonly stream: "stdout" | "stderr";
  /** The bytes. */
  readonly data: Uint8Array;
}
