/** The options and results of files. */
import type { CallOptions } from "../remote.js";
import type { Size } from "./client.js";

/** The attributes of a file in a sandbox. */
export interface FileInfo {
  /** The name without its directory; with replacement characters if it is not UTF-8. */
  readonly name: string;
  /** The bytes of a name that is not UTF-8. */
  readonly nameBytes?: Uint8Array;
  /** The type. */
  readonly type: FileType;
  /** The 12 permission bits. */
  readonly mode: number;
  /** User id of the owner. */
  readonly uid: number;
  /** Group id of the owner. */
  readonly gid: number;
  /** The size in bytes. */
  readonly sizeBytes: number;
  /** The time of the last change of content, in seconds since the epoch. */
  readonly mtimeS: number;
  /** Nanoseconds after `mtimeS`. */
  readonly mtimeNs: number;
  /** The target of a symbolic link; with replacement characters if it is not UTF-8. */
  readonly target?: string;
  /** The bytes of a target that is not UTF-8. */
  readonly targetBytes?: Uint8Array;
  /** Major and minor number of a device. */
  readonly device?: readonly [number, number];
}

/** The type of a file. */
export type FileType =
  "file" | "directory" | "symlink" | "char-device" | "block-device" | "fifo" | "socket" | "unknown";

/** The options of `files.read`. */
export interface ReadOptions extends CallOptions {
  /** The most bytes that the file may have; 32 MiB if it is absent. */
  readonly maxSize?: Size | undefined;
}

/** The options of `files.stat`. */
export interface StatOptions extends CallOptions {
  /** False to describe a symbolic link instead of its target. */
  readonly follow?: boolean | undefined;
}

/** The options of a copy between this host and the sandbox. */
export interface CopyOptions extends CallOptions {
  /** True if files keep their numeric owners. */
  readonly keepOwner?: boolean | undefined;
  /** True if a source that is a symbolic link is replaced by its target. */
  readonly followLink?: boolean | undefined;
  /** True if mounts in the source are left out. */
  readonly oneFileSystem?: boolean | undefined;
}

/** The result of a copy. */
export interface Copied {
  /** Number of files, directories and links that were copied. */
  readonly entries: number;
  /** Number of device nodes of the sandbox that were left out. */
  readonly devicesLeftOut: number;
}

/** The options of `files.write`. */
export interface WriteOptions extends CallOptions {
  /** The 12 permission bits; those of an existing file, or 0644. */
  readonly mode?: number | undefined;
  /** True to make missing directories. */
  readonly parents?: boolean | undefined;
}

/** The options of `files.mkdir`. */
export interface MkdirOptions extends CallOptions {
  /** The 12 permission bits; 0755 if it is absent. */
  readonly mode?: number | undefined;
  /** True to make missing directories above it, and to accept an existing directory. */
  readonly parents?: boolean | undefined;
}

/** The options of `files.remove`. */
export interface RemoveFileOptions extends CallOptions {
  /** True to remove a directory with its content. */
  readonly recursive?: boolean | undefined;
  /** True if a missing path is no error. */
  readonly force?: boolean | undefined;
}
