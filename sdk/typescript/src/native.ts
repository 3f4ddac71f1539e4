/** The native addon: its interface, and the search for it. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

import { InternalError, Unsupported, type MsbError } from "./errors.js";

/** The end of a call. Without a value and without a failure, the call was cancelled or its client was closed. */
export interface NativeOutcome {
  readonly value?: string;
  readonly failure?: string;
  readonly content: Uint8Array[];
  readonly handle?: NativeHandle;
  readonly client?: NativeClient;
}

/** An object on which operations are called. */
export interface NativeHandle {
  call(
    operation: string,
    parameters: string,
    content: Uint8Array[],
    cancel: NativeCancel | null,
  ): Promise<NativeOutcome>;
  close(): void;
}

/** A client with a runtime of its own. */
export interface NativeClient {
  handle(): NativeHandle;
  shutdown(timeoutMs: number): void;
}

/** Cancels the one call that it was passed to. */
export interface NativeCancel {
  cancel(): void;
}

/** The exports of the addon. */
export interface NativeAddon {
  readonly NativeClient: { open(parameters: string): NativeOutcome };
  readonly NativeCancel: new () => NativeCancel;
}

/** The platforms that have a package, by `process.platform` and `process.arch`. */
const PLATFORM_PACKAGES: Readonly<Record<string, string>> = { "linux-x64": "msb-sdk-linux-x64" };

/** The addon's file in the package of a platform. */
const ADDON_FILE = "msb-sdk.node";

let loaded: NativeAddon | undefined;

/** Returns the addon, which is loaded at the first call. */
export function loadNative(): NativeAddon {
  loaded ??= requireAddon(addonPath());
  return loaded;
}

/** Returns the path of a file in the package of this platform; `undefined` if it is not installed. */
export function platformFile(...parts: string[]): string | undefined {
  const name = PLATFORM_PACKAGES[platform()];
  const directory = name === undefined ? undefined : packageDirectory(name);
  const path = directory === undefined ? undefined : join(directory, ...parts);
  return path !== undefined && existsSync(path) ? path : undefined;
}

/** Returns the directory of an installed package; `undefined` if it is not installed. */
export function packageDirectory(name: string): string | undefined {
  try {
    return dirname(require.resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

function platform(): string {
  return `${process.platform}-${process.arch}`;
}

function addonPath(): string {
  const named = process.env["MSB_NATIVE"];
  if (named !== undefined && named !== "") {
    return named;
  }
  const name = PLATFORM_PACKAGES[platform()];
  if (name === undefined) {
    throw unsupported(`msb-sdk does not support ${platform()}`);
  }
  if (isMusl()) {
    throw unsupported("msb-sdk does not support Linux with musl, which this Node.js was built for");
  }
  return platformFile(ADDON_FILE) ?? fail(missing(name));
}

function requireAddon(path: string): NativeAddon {
  try {
    const module = { exports: {} };
    // Unlike `require`, this also loads a file with another extension, and bundlers leave it alone.
    process.dlopen(module, path);
    return module.exports as NativeAddon;
  } catch (cause) {
    throw new InternalError(`cannot load the native addon of msb-sdk from ${path}: ${text(cause)}`, {
      code: "native-addon",
      hint: loadHint(path),
      details: { path },
      cause,
    });
  }
}

function loadHint(path: string): string {
  if (process.env["MSB_NATIVE"] === path) {
    return "set MSB_NATIVE to the file msb-sdk.node of the package msb-sdk-linux-x64, or unset it";
  }
  return "install msb-sdk again; it needs Linux on x86-64 with glibc 2.34 or newer";
}

function missing(name: string): MsbError {
  return new InternalError(`the package ${name}, which contains the native addon of msb-sdk, is not installed`, {
    code: "native-addon",
    hint:
      "install msb-sdk without --omit=optional (--no-optional), and on the platform on which it runs;\n" +
      "in a bundle or an Electron application, set MSB_NATIVE to the path of msb-sdk.node",
    details: { package: name },
  });
}

function unsupported(message: string): MsbError {
  return new Unsupported(message, {
    hint: "use Linux on x86-64 with glibc, such as Debian, Fedora or Ubuntu",
    details: { platform: platform() },
  });
}

/** Returns true if this process runs with the musl C library, with which the addon cannot be loaded. */
function isMusl(): boolean {
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return report?.header !== undefined && report.header.glibcVersionRuntime === undefined && isNode();
}

/** Returns true in Node.js itself. Bun and Deno report no C library. */
function isNode(): boolean {
  return process.versions["bun"] === undefined && process.versions["deno"] === undefined;
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function fail(error: MsbError): never {
  throw error;
}
