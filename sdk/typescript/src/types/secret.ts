/** Secrets of sandboxes. */
import type { HostPath } from "./client.js";

/** The source of a secret's value: one of these. */
export interface SecretSource {
  /** The variable of this host that has the value, which is read at each start. */
  readonly env?: string | undefined;
  /** The file of this host that has the value, which is read at each start. */
  readonly file?: HostPath | undefined;
  /** The command of this host that prints the value, run by a shell at each start. */
  readonly command?: string | undefined;
  /** The value itself. It is in no file, so a second start needs another source. */
  readonly value?: string | undefined;
}

/**
 * A secret: programs of the sandbox use it in requests, and cannot read it. They have a placeholder, which the network of
 * the sandbox replaces in requests to the secret's hosts. Without a source, the value is that of the variable of this host
 * with the secret's name.
 */
export interface Secret extends SecretSource {
  /** The name, and the variable of the sandbox that has the placeholder. */
  readonly name: string;
  /** The destinations, as `HOST[:PORT][/PATH][:METHODS]`. */
  readonly to: readonly string[];
  /** The time after which `file` or `command` is read again while the sandbox runs, in milliseconds, rounded up to seconds. */
  readonly everyMs?: number | undefined;
  /** The place in requests instead of the usual headers: `header:NAME`, `query:NAME` or `basic`. */
  readonly placement?: string | undefined;
  /** The beginning of the placeholder, for clients that check the form of a key. */
  readonly prefix?: string | undefined;
  /** The file of the sandbox that has the placeholder instead of a variable. */
  readonly guestFile?: string | undefined;
}

/** The description of a secret, without its value. */
export interface SecretInfo {
  /** The name, and the variable of the sandbox that has the placeholder. */
  readonly name: string;
  /** The destinations, as `HOST[:PORT][/PATH][:METHODS]`. */
  readonly to: readonly string[];
  /** The source of the value: `env:NAME`, `file:PATH`, `cmd:COMMAND`, or `given` by a program. */
  readonly source: string;
  /** The time after which the source is read again, in seconds. */
  readonly everyS: number | null;
  /** The place in requests instead of the usual headers. */
  readonly placement: string | null;
  /** The file of the sandbox that has the placeholder instead of a variable. */
  readonly file: string | null;
  /** The text that stands for the value in the sandbox. */
  readonly placeholder: string | null;
  /** The state of the value in the running sandbox; `null` if the sandbox is not running. */
  readonly state: "held" | "missing" | "expired" | "removed" | null;
}
