/** The options and records of logs. */
import type { CallOptions } from "../remote.js";

/** The options of the log of a job. */
export interface JobLogOptions extends CallOptions {
  /** True to wait for new records until the job has ended. */
  readonly follow?: boolean | undefined;
  /** Number of last records to begin with; all if it is absent. */
  readonly tail?: number | undefined;
}

/** The options of a log. */
export interface LogOptions extends CallOptions {
  /** True to wait for new records until the sandbox has ended. */
  readonly follow?: boolean | undefined;
  /**
   * The source: the output of the main command, the console of the guest, the messages of the machine's process,
   * or the questions of the guest as JSON.
   */
  readonly source?: "output" | "console" | "machine" | "asks" | undefined;
  /** Number of last records to begin with; all if it is absent. */
  readonly tail?: number | undefined;
  /** Only records of this time or later. */
  readonly since?: Date | undefined;
  /** Only records before this time. */
  readonly until?: Date | undefined;
}

/** A line of a log, or a part of a long one. */
export interface LogRecord {
  /** Time of arrival; `null` for console and machine. */
  readonly time: Date | null;
  /** The stream that the output came from; `null` for console and machine. */
  readonly stream: "stdout" | "stderr" | null;
  /** The bytes with the end of the line. */
  readonly data: Uint8Array;
}
