/** The snapshots of a sandbox's files. */
import { nameOf, type Name } from "./names.js";
import { ReadableFiles } from "./readable-files.js";
import type { CallOptions, Remote } from "./remote.js";
import type { HostPath, SnapshotInfo, SnapshotOptions, VerifiedSnapshot } from "./types.js";

/** The snapshots of a sandbox's files, running or not. Merging takes a stopped sandbox. */
export class Snapshots {
  readonly #remote: Remote;

  /** @internal */
  constructor(remote: Remote) {
    this.#remote = remote;
  }

  /**
   * Takes a snapshot of the files, in constant time. Without a name it gets its number. The guest of a running sandbox
   * freezes its filesystem meanwhile. Volumes and directories of the host are not part of it.
   */
  async create(name?: string, options: SnapshotOptions = {}): Promise<SnapshotInfo> {
    return this.#remote.value("snapshots.create", { ...options, name }, options);
  }

  /** Returns the snapshots, the oldest first. */
  async list(options: CallOptions = {}): Promise<SnapshotInfo[]> {
    return this.#remote.value("snapshots.list", {}, options);
  }

  /** Returns the snapshot with this name. */
  async get(name: Name, options: CallOptions = {}): Promise<SnapshotInfo> {
    return this.#remote.value("snapshots.get", { name: nameOf(name) }, options);
  }

  /** Returns the files as they are in a snapshot, while the sandbox runs too. The first call finds out whether there is one. */
  files(name: Name): ReadableFiles {
    return new ReadableFiles(this.#remote, nameOf(name));
  }

  /** Removes a snapshot. The sandbox's files stay as they are. */
  async remove(name: Name, options: CallOptions = {}): Promise<void> {
    await this.#remote.call("snapshots.remove", { name: nameOf(name) }, options);
  }

  /** Writes a snapshot to a file that another host imports, without its image. The file is complete, or unchanged. */
  async export(name: Name, path: HostPath, options: CallOptions = {}): Promise<void> {
    await this.#remote.call("snapshots.export", { name: nameOf(name), path }, options);
  }

  /**
   * Reads a snapshot, or all of them, and compares each with its digest. Content that has no digest gets one. Damage is
   * a result.
   */
  async verify(name?: Name, options: CallOptions = {}): Promise<VerifiedSnapshot[]> {
    return this.#remote.value("snapshots.verify", { name: name === undefined ? undefined : nameOf(name) }, options);
  }

  /** Merges parts of the disk that no snapshot needs apart, and returns the number of bytes that this frees. */
  async merge(options: CallOptions = {}): Promise<number> {
    const merged = await this.#remote.value<{ freedBytes: number }>("snapshots.merge", {}, options);
    return merged.freedBytes;
  }
}
