/** Snapshots of the files of a sandbox. */
import type { Name } from "../names.js";
import type { CallOptions } from "../remote.js";

/** The options of a new snapshot. */
export interface SnapshotOptions extends CallOptions {
  /** A note. */
  readonly message?: string | undefined;
  /** False if a running guest is not to freeze its filesystem: the snapshot is then as after a power cut. */
  readonly freeze?: boolean | undefined;
}

/** The description of a snapshot. */
export interface SnapshotInfo {
  /** Name of the sandbox. */
  readonly sandbox: string;
  /** The name, unique in the sandbox. */
  readonly name: string;
  /** The number: a later snapshot of the sandbox has a higher one. */
  readonly number: number;
  /** The creation time in seconds since the epoch. */
  readonly createdS: number;
  /** The user's note; null if there is none. */
  readonly message: string | null;
  /** True if msb took the snapshot by itself: before a rollback or a command. */
  readonly automatic: boolean;
  /** The reason for which the snapshot was taken. */
  readonly origin: "user" | "rollback" | "command";
  /** The number of the command in the history that the snapshot was taken before; null if it was not taken for one. */
  readonly command: number | null;
  /** State of the filesystem: of a stopped sandbox, frozen by its running guest, or as after a power cut. */
  readonly consistency: "clean" | "frozen" | "crash";
  /** Size of the disk in bytes. */
  readonly sizeBytes: number;
  /** Digest of the manifest of the sandbox's image. */
  readonly imageDigest: string;
}

/** The options of forks. */
export interface ForkOptions extends CallOptions {
  /** The snapshot that the forks begin with; the files as they are now if it is absent. */
  readonly snapshot?: Name | undefined;
  /** False if a running guest is not to freeze its filesystem. */
  readonly freeze?: boolean | undefined;
}

/** The options of a branch. */
export interface BranchOptions extends CallOptions {
  /** The name; the id if it is absent. */
  readonly name?: string | undefined;
  /** The snapshot that the branch begins with; the files as they are now if it is absent. */
  readonly snapshot?: Name | undefined;
  /** False if a running guest is not to freeze its filesystem. */
  readonly freeze?: boolean | undefined;
}

/** The options of a rollback. */
export interface RollbackOptions extends CallOptions {
  /** Time that the processes of a running sandbox have to end, in milliseconds; they are killed at once if it is absent. */
  readonly stopTimeoutMs?: number | undefined;
}

/** A rollback that was made. */
export interface RolledBack {
  /** The snapshot that the sandbox's files are those of. */
  readonly to: SnapshotInfo;
  /** The snapshot of the files as they were before. */
  readonly kept: SnapshotInfo;
  /** True if the sandbox was running: its processes were ended, and its command was started again. */
  readonly restarted: boolean;
  /** True if its machine was booted anew for that, because the guest did not do its part. */
  readonly booted: boolean;
}

/** The result of verifying a snapshot. */
export interface VerifiedSnapshot {
  /** Name of the sandbox. */
  readonly sandbox: string;
  /** Name of the snapshot. */
  readonly name: string;
  /** `recorded` if a part had no digest before. */
  readonly content: "intact" | "recorded" | "damaged";
  /** The first fault that was found; null if it is not damaged. */
  readonly problem: string | null;
}
