/** The commands that were run in a sandbox. */
import type { CallOptions } from "../remote.js";
import type { SnapshotInfo } from "./snapshot.js";

/** The options of a history. */
export interface HistoryOptions extends CallOptions {
  /** The number of the last commands to return; all if it is absent. */
  readonly last?: number | undefined;
  /** True to count the changes of each command whose snapshot exists, which reads the disks. */
  readonly changes?: boolean | undefined;
}

/** The number of changes that a command made, as `diff` lists them. */
export interface ChangeCounts {
  /** Names that were added. */
  readonly added: number;
  /** Names whose file was changed. */
  readonly changed: number;
  /** Names that were deleted. What is below a deleted directory does not count. */
  readonly deleted: number;
}

/** A command that was run in a sandbox. */
export interface CommandRecord {
  /** The number: a later command of the sandbox has a higher one. */
  readonly number: number;
  /** Time before the start, in RFC 3339, with milliseconds. */
  readonly started: string;
  /** The program and its arguments; bytes that are not UTF-8 are replaced. */
  readonly argv: readonly string[];
  /** True if the command is longer than `argv`, which has at most 4 KiB. */
  readonly truncated: boolean;
  /** The number of the job in its run of the sandbox; null if the command is none. */
  readonly job: number | null;
  /** The exit code; null if the end is not known. */
  readonly exitCode: number | null;
  /** Time from the start to the end in milliseconds; null if the end is not known. */
  readonly durationMs: number | null;
  /** Name of the snapshot before the command; null if there is none. */
  readonly snapshot: string | null;
  /** True if the files went back to a state before the command. */
  readonly undone: boolean;
  /** The changes from the snapshot to the next state that is kept; null if they were not asked for, or there is no snapshot. */
  readonly changes: ChangeCounts | null;
}

/** The commands of a sandbox. */
export interface History {
  /** The commands, the oldest first. */
  readonly commands: readonly CommandRecord[];
  /** The beginnings of damaged lines of the journal of the commands, escaped; of many the first ones. */
  readonly damagedLines: readonly string[];
}

/** The options of an undo. */
export interface UndoOptions extends CallOptions {
  /** True to return the commands, and change nothing. */
  readonly dryRun?: boolean | undefined;
  /** Time that the processes of a running sandbox have to end, in milliseconds; they are killed at once if it is absent. */
  readonly stopTimeoutMs?: number | undefined;
}

/** An undo that was made. */
export interface Undone {
  /** The commands that are undone, those between them without a snapshot too, the newest first. */
  readonly commands: readonly CommandRecord[];
  /**
   * Earlier commands, the newest first, whose end is not known to be before the oldest of those: they are not undone,
   * but what they changed since its start is lost.
   */
  readonly overlapping: readonly CommandRecord[];
  /** The snapshot that the sandbox's files are those of. */
  readonly to: SnapshotInfo;
  /** The snapshot of the files as they were before: a rollback to it takes the undo back. Null after a dry run. */
  readonly kept: SnapshotInfo | null;
  /** True if the sandbox was running: its processes were ended, and its command was started again. */
  readonly restarted: boolean;
  /** True if its machine was booted anew for that, because the guest did not do its part. */
  readonly booted: boolean;
}
