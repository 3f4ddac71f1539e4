/** Changes of the files of a sandbox. */
import type { CallOptions } from "../remote.js";
import type { Text } from "./command.js";
import type { FileInfo } from "./file.js";

/** The kind of a change. */
export type ChangeKind = "added" | "changed" | "deleted";

/** The options of a comparison. */
export interface DiffOptions extends CallOptions {
  /** The paths that are compared, with everything below them; everything if there are none. */
  readonly paths?: readonly Text[] | undefined;
}

/** An extended attribute of a file. */
export interface Xattr {
  /** The full name, such as `user.note`; with replacement characters if it is not UTF-8. */
  readonly name: string;
  /** The bytes of a name that is not UTF-8. */
  readonly nameBytes?: Uint8Array;
  /** The value; with replacement characters if it is not UTF-8. */
  readonly value: string;
  /** The bytes of a value that is not UTF-8. */
  readonly valueBytes?: Uint8Array;
}

/** The attributes of a file on one side of a change. */
export interface ChangedFile extends FileInfo {
  /** The extended attributes, sorted by name. */
  readonly xattrs: readonly Xattr[];
}

/** A name that stands for different files on the two sides of a comparison. */
export interface Change {
  /** The index in the comparison. */
  readonly index: number;
  /** The path, from `/` on; with replacement characters if it is not UTF-8. */
  readonly path: string;
  /** The bytes of a path that is not UTF-8. */
  readonly pathBytes?: Uint8Array;
  /** The kind of the change. */
  readonly kind: ChangeKind;
  /** The properties of a changed file that differ. */
  readonly changed: readonly (
    "type" | "content" | "mode" | "owner" | "mtime" | "xattrs" | "target" | "device" | "links"
  )[];
  /** The old file; null if the name was added. */
  readonly old: ChangedFile | null;
  /** The new file; null if the name was deleted. */
  readonly new: ChangedFile | null;
  /** Another name of the new file, which has several. */
  readonly hardLink: string | null;
  /** The bytes of such a name that is not UTF-8. */
  readonly hardLinkBytes?: Uint8Array;
  /** The path from which the file was moved, if that is known. */
  readonly renamedFrom: string | null;
  /** The bytes of such a path that is not UTF-8. */
  readonly renamedFromBytes?: Uint8Array;
  /** True if the name is deleted because a directory above it is deleted or replaced. */
  readonly isImplied: boolean;
}

/** The extent of a change of content. Text of more than 8 MiB counts as binary. */
export type PatchLines =
  | { readonly type: "unchanged" }
  | { readonly type: "text"; readonly inserted: number; readonly deleted: number }
  | { readonly type: "binary"; readonly oldBytes: number; readonly newBytes: number };

/** A change in the form of `git diff`. */
export interface Patch {
  /** The text, with the prefixes `a/` and `b/`; empty if nothing of the change can be expressed. */
  readonly text: Uint8Array;
  /** The extent of the change. */
  readonly lines: PatchLines;
  /** True if `git apply` does not make the whole change, such as an owner or a binary file. */
  readonly isPartial: boolean;
}
