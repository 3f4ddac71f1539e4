/** The client. */
import { toNative } from "./conversion.js";
import { Diff } from "./diff.js";
import { errorOf } from "./failure.js";
import { Images } from "./images.js";
import { sideOf, type Side } from "./names.js";
import { loadNative, packageDirectory, platformFile, type NativeClient } from "./native.js";
import { clientClosed } from "./failure.js";
import { Remote, type CallOptions } from "./remote.js";
import type { Sandbox } from "./sandbox.js";
import { Sandboxes } from "./sandboxes.js";
import type { ComparisonOptions, Finding, MsbOptions, Version } from "./types.js";
import { Volumes } from "./volumes.js";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The package with the guest kernel. */
const KERNEL_PACKAGE = "msb-kernel-linux-x64";

/** The time that operations which cannot be interrupted have at the end of a client, in milliseconds. */
const SHUTDOWN_TIMEOUT_MS = 0;

/**
 * A client of msb. All state hangs on this object; a program can have several.
 *
 * @example
 * ```ts
 * await using msb = new Msb();
 * await using sandbox = await msb.sandboxes.run("alpine");
 * const output = await sandbox.exec(["uname", "-a"]);
 * console.log(output.text());
 * ```
 */
export class Msb implements AsyncDisposable {
  readonly #native: NativeClient;
  readonly #remote: Remote;
  readonly #owned = new Set<WeakRef<Sandbox>>();
  /** The images. */
  readonly images: Images;
  /** The sandboxes. */
  readonly sandboxes: Sandboxes;
  /** The volumes. */
  readonly volumes: Volumes;

  /** Opens a client. Environment variables are read here and not later. */
  constructor(options: MsbOptions = {}) {
    const settings = { ...options, program: program(options), kernel: kernel(options) };
    const { client, failure, content } = loadNative().NativeClient.open(JSON.stringify(toNative(settings)));
    if (client === undefined) {
      throw failure === undefined ? clientClosed() : errorOf(failure, content);
    }
    this.#native = client;
    this.#remote = new Remote(client.handle());
    this.images = new Images(this.#remote);
    this.sandboxes = new Sandboxes(this.#remote, this.#owned);
    this.volumes = new Volumes(this.#remote);
  }

  /** Returns the version of the program `msb`. */
  async version(options: CallOptions = {}): Promise<Version> {
    return this.#remote.value("version", {}, options);
  }

  /** Returns findings about this host: virtual machine monitors, guest kernel, confinement, disk, registries. */
  async doctor(options: CallOptions = {}): Promise<Finding[]> {
    return this.#remote.value("doctor", {}, options);
  }

  /**
   * Compares two sandboxes, snapshots or images, by their names (`SANDBOX@SNAPSHOT`) or as objects: the changes that make the second of the first. Stopped sandboxes
   * cannot be started until the result is closed.
   */
  async diff(old: Side, changed: Side, options: ComparisonOptions = {}): Promise<Diff> {
    const [remote] = await this.#remote.open("diff", { ...options, old: sideOf(old), new: sideOf(changed) }, options);
    return new Diff(remote);
  }

  /** Removes the sandboxes that this client owns, and ends the client. A second call does nothing. */
  async close(): Promise<void> {
    const owned = [...this.#owned].map((reference) => reference.deref());
    this.#owned.clear();
    const ended = await Promise.allSettled(owned.map((sandbox) => sandbox?.close()));
    this.#native.shutdown(SHUTDOWN_TIMEOUT_MS);
    for (const result of ended) {
      if (result.status === "rejected") throw result.reason;
    }
  }

  /** Removes the sandboxes that this client owns, and ends the client. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Returns the path of the program `msb`; `undefined` lets the client search for it. */
function program(options: MsbOptions): unknown {
  return options.program ?? environment("MSB_PROGRAM") ?? platformFile("bin", "msb");
}

/** Returns the path of the guest kernel; `undefined` lets the client search for it. */
function kernel(options: MsbOptions): unknown {
  return options.kernel ?? environment("MSB_KERNEL") ?? packagedKernel();
}

/** Returns the path of the kernel in the package {@link KERNEL_PACKAGE}; `undefined` if it is not installed. */
function packagedKernel(): string | undefined {
  const directory = packageDirectory(KERNEL_PACKAGE);
  if (directory === undefined) {
    return undefined;
  }
  const manifest = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as { kernel?: string };
  return manifest.kernel === undefined ? undefined : join(directory, manifest.kernel);
}

function environment(name: string): string | undefined {
  const value = process.env[name];
  return value === "" ? undefined : value;
}
