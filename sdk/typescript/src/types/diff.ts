/** Changes of the files of a sandbox. */
import type { RuleState } from "../mount.js";
import type { Name, Side } from "../names.js";
import type { CallOptions } from "../remote.js";
import type { Text } from "./client.js";
import type { FileInfo } from "./file.js";

/** The kind of a change. */
export type ChangeKind = "added" | "changed" | "deleted";

/** Patterns that choose among changes by their paths. */
export interface PatternOptions extends CallOptions {
  /** Patterns of paths whose changes are left out, as gitignore has them. */
  readonly exclude?: readonly Text[] | undefined;
  /** Patterns of the only paths whose changes are taken; all paths if there are none. */
  readonly include?: readonly Text[] | undefined;
}

/** The options of a comparison. */
export interface ComparisonOptions extends PatternOptions {
  /** The paths that are compared, with everything below them; everything if there are none. */
  readonly paths?: readonly Text[] | undefined;
  /** False to refuse a running sandbox; true, the default, to freeze its disk while it is cut. */
  readonly pause?: boolean | undefined;
}

/** The options of the comparison of a sandbox with what it began with. */
export interface DiffOptions extends ComparisonOptions {
  /** The name of a snapshot, which is compared instead of the sandbox as it is. */
  readonly snapshot?: Name | undefined;
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
  /** The letter of the kind, as `msb diff` prints it. */
  readonly letter: "A" | "C" | "D";
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

/** A change that leaves the content as it is, such as one of a mode. */
export interface UnchangedContent {
  /** The word for such a change. */
  readonly type: "unchanged";
}

/** The extent of a change of text, in lines. */
export interface TextLines {
  /** The word for such a change. */
  readonly type: "text";
  /** The number of new lines. */
  readonly inserted: number;
  /** The number of lines that are gone. */
  readonly deleted: number;
}

/** The extent of a change of binary content, in bytes. */
export interface BinaryContent {
  /** The word for such a change. */
  readonly type: "binary";
  /** The size before the change. */
  readonly oldBytes: number;
  /** The size after the change. */
  readonly newBytes: number;
}

/** The extent of a change of content. Text of more than 8 MiB counts as binary. */
export type PatchLines = UnchangedContent | TextLines | BinaryContent;

/** A change in the form of `git diff`. */
export interface Patch {
  /** The text, with the prefixes `a/` and `b/`; empty if nothing of the change can be expressed. */
  readonly text: Uint8Array;
  /** The extent of the change. */
  readonly lines: PatchLines;
  /** True if `git apply` does not make the whole change, such as an owner or a binary file. */
  readonly isPartial: boolean;
}

/** The options of changes of staged directories that are put into the directories that those were made of. */
export interface ApplyStagedOptions extends PatternOptions {
  /** The paths in the sandbox whose changes are applied, with everything below them; everything if there are none. */
  readonly paths?: readonly Text[] | undefined;
  /** The name of a snapshot, which is applied instead of the sandbox as it is. */
  readonly snapshot?: Name | undefined;
  /** Paths in the sandbox at and below which changes are applied that make programs of this host run commands. */
  readonly accept?: readonly Text[] | undefined;
  /** True if owners are applied too, which takes root. */
  readonly owner?: boolean | undefined;
  /** True if nothing is written. */
  readonly dryRun?: boolean | undefined;
  /**
   * Decides about each change before the first is made: true if it is made, or a value for each hunk of a text. A yes
   * accepts the change, too, and texts that this host changed in other lines are merged. If it throws, nothing is
   * changed.
   */
  readonly onChange?: ((change: PlannedChange) => boolean | readonly boolean[]) | undefined;
  /** True if the changes that were applied are discarded from the sandbox, which has to be stopped. */
  readonly thenDiscard?: boolean | undefined;
  /** False to refuse a running sandbox; true, the default, to freeze its disk while it is cut. */
  readonly pause?: boolean | undefined;
}

/** A hunk of a change of text, as `git diff` has it. */
export interface TextHunk {
  /** The text, from the line `@@` on. */
  readonly text: Uint8Array;
  /** True if this host changed the same lines in another way, so that the hunk cannot be applied. */
  readonly overlaps: boolean;
}

/** A change that is about to be put into a directory of this host. */
export interface PlannedChange {
  /** The index in the plan. */
  readonly index: number;
  /** The directory of this host. */
  readonly directory: string;
  /** The path in the directory; with replacement characters if it is not UTF-8. */
  readonly path: string;
  /** The kind of the change. */
  readonly kind: ChangeKind;
  /** The effect of the change beyond its file, as a clause; null if it has none. */
  readonly effect: string | null;
  /** True if only a yes, or an accepted path, lets the change be made: programs of this host run its commands. */
  readonly needsAcceptance: boolean;
  /** The change in the form of `git diff`. */
  readonly patch: Uint8Array;
  /** The hunks of the change, if it is one of a text. */
  readonly hunks: readonly TextHunk[];
}

/** The options of changes that are put into a directory of this host. */
export interface ApplyOptions extends ApplyStagedOptions {
  /** The sandbox's directory that the host's directory stands for; the root if it is absent. */
  readonly from?: Text | undefined;
  /** The sandbox, snapshot or image that the sandbox is compared with; what it began with if it is absent. */
  readonly base?: Side | undefined;
}

/** Changes that were put into a directory of this host, or would be. */
export interface Applied {
  /** The changes, parents before children. Of a removed directory only the directory itself is listed. */
  readonly changes: readonly AppliedChange[];
  /** Paths of changed sockets, which are left out; with replacement characters if one is not UTF-8. */
  readonly sockets: readonly string[];
  /** Paths in the sandbox of the repositories of git that are left out, because none of the paths leads into one. */
  readonly leftOut: readonly string[];
  /** The changes that have an effect beyond their files. */
  readonly marked: readonly MarkedChange[];
  /** The changes that a rule of a staged directory keeps back. */
  readonly refused: readonly RefusedChange[];
}

/** Changes that were put into the directory of this host that a staged directory was made of, or would be. */
export interface AppliedDirectory extends Applied {
  /** The path in the sandbox. */
  readonly target: string;
  /** The directory of this host. */
  readonly directory: string;
}

/** A change that a rule of a staged directory keeps out of the directory of this host. */
export interface RefusedChange {
  /** The path in the directory; with replacement characters if it is not UTF-8. */
  readonly path: string;
  /** The bytes of a path that is not UTF-8. */
  readonly pathBytes?: Uint8Array;
  /** The path in the sandbox, from `/` on; with replacement characters if it is not UTF-8. */
  readonly sandboxPath: string;
  /** The bytes of such a path that is not UTF-8. */
  readonly sandboxPathBytes?: Uint8Array;
  /** The state of the path: `read-only`, `deny` or `hide`. */
  readonly state: RuleState;
  /** The rule, `PATH=STATE`, or the program of this host that would run commands of the file. */
  readonly rule: string;
}

/** A change that has an effect beyond its file, such as commands that a program of this host runs. */
export interface MarkedChange {
  /** The path in the directory; with replacement characters if it is not UTF-8. */
  readonly path: string;
  /** The bytes of a path that is not UTF-8. */
  readonly pathBytes?: Uint8Array;
  /** The path in the sandbox, from `/` on; with replacement characters if it is not UTF-8. */
  readonly sandboxPath: string;
  /** The bytes of such a path that is not UTF-8. */
  readonly sandboxPathBytes?: Uint8Array;
  /** The effect, as a clause. */
  readonly effect: string;
  /** True if the change is applied only once its path is accepted. */
  readonly needsAcceptance: boolean;
}

/** The options of changes that are taken back. */
export interface DiscardOptions extends PatternOptions {
  /** The sandbox, snapshot or image that the files are taken from; what the sandbox began with if it is absent. */
  readonly base?: Side | undefined;
  /** True if nothing is written. */
  readonly dryRun?: boolean | undefined;
}

/** A change that takes another one back. */
export interface DiscardedChange {
  /** The path, from `/` on; with replacement characters if it is not UTF-8. */
  readonly path: string;
  /** The bytes of a path that is not UTF-8. */
  readonly pathBytes?: Uint8Array;
  /** The kind of the change: a name that the sandbox added is deleted. */
  readonly kind: ChangeKind;
}

/** A change of a file of this host. */
export interface AppliedChange {
  /** The path in the directory; with replacement characters if it is not UTF-8. */
  readonly path: string;
  /** The bytes of a path that is not UTF-8. */
  readonly pathBytes?: Uint8Array;
  /** The kind of the change. */
  readonly kind: ChangeKind;
}

/** The options of an image that is made of a sandbox. */
export interface CommitOptions extends PatternOptions {
  /** The comment on the image's step. */
  readonly message?: string | undefined;
  /** The author of the image. */
  readonly author?: string | undefined;
  /** Instructions of a Dockerfile for running the image, such as `CMD ["python3"]`. */
  readonly changes?: readonly string[] | undefined;
  /** The time of creation in seconds since the epoch, with which the same changes make the same image. */
  readonly sourceDateEpoch?: number | undefined;
  /** The name of a snapshot, which the image is made of instead of the sandbox as it is. */
  readonly snapshot?: Name | undefined;
  /** False to refuse a running sandbox; true, the default, to freeze its disk while it is cut. */
  readonly pause?: boolean | undefined;
}

/** An image that was made of a sandbox. */
export interface Committed {
  /** The digest of the image's manifest. */
  readonly digest: string;
  /** The image's name, in full. */
  readonly name: string;
  /** The digest of the uncompressed layer; null if the image has the same layers as its parent. */
  readonly layer: string | null;
  /** The length of the uncompressed layer in bytes. */
  readonly layerBytes: number;
  /** Files and attributes that the layer lacks, each as a clause; the first hundred of them. */
  readonly notes: readonly string[];
  /** The number of all such files and attributes. */
  readonly notesTotal: number;
}
