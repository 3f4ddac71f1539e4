/** The secrets of a sandbox. */
import { fileURLToPath } from "node:url";

import { InvalidArgument } from "./errors.js";
import type { CallOptions, Remote } from "./remote.js";
import type { Secret, SecretInfo, SecretSource } from "./types.js";

/** The secrets of a sandbox: values that its programs use in requests and cannot read. They are given when it is created. */
export class Secrets {
  readonly #remote: Remote;

  /** @internal */
  constructor(remote: Remote) {
    this.#remote = remote;
  }

  /** Returns the secrets, without values, with their states if the sandbox is running. */
  async list(options: CallOptions = {}): Promise<SecretInfo[]> {
    return this.#remote.value("secrets.list", {}, options);
  }

  /**
   * Gives a secret another value, also while the sandbox runs. Without a source, its source is read again. Later starts
   * read `env`, `file` and `command`, too; `value` is kept until the sandbox stops.
   */
  async set(name: string, source: SecretSource & CallOptions = {}): Promise<void> {
    await this.#remote.call("secrets.set", { name, ...sourceForm(source) }, source);
  }

  /** Removes a secret. In the running sandbox, requests with its placeholder fail from now on. */
  async remove(name: string, options: CallOptions = {}): Promise<void> {
    await this.#remote.call("secrets.remove", { name }, options);
  }
}

/** Returns a secret in the form of the native addon. */
export function secretForm(secret: Secret): object {
  const { name, to, everyMs, placement, prefix, guestFile } = secret;
  return {
    name,
    to,
    everyS: everyMs === undefined ? undefined : Math.ceil(everyMs / 1000),
    in: placement,
    as: prefix,
    file: guestFile,
    ...sourceForm(secret),
  };
}

function sourceForm({ env, file, command, value }: SecretSource): object {
  const path = file instanceof URL ? fileURLToPath(file) : file;
  const sources = Object.entries({ env, file: path, cmd: command }).filter(([, text]) => text !== undefined);
  if (sources.length + (value === undefined ? 0 : 1) > 1) {
    throw new InvalidArgument("a secret has more than one of env, file, command and value");
  }
  const [kind, text] = sources[0] ?? [];
  return { from: kind === undefined ? undefined : `${kind}:${text}`, value };
}
