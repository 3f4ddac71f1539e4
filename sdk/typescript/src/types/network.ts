import type { CallOptions } from "../remote.js";

/** The rules of a sandbox's network, as they are kept with it. */
export interface NetworkPolicy {
  /** The destinations that the sandbox reaches without a rule; `none` if it has no network device. */
  readonly mode: "outbound" | "listed" | "none";
  /** Rules that allow destinations and requests. */
  readonly allow: readonly string[];
  /** Rules that deny destinations; they take precedence. */
  readonly deny: readonly string[];
  /** True if the user is asked about destinations that no rule denies and the mode does. */
  readonly ask: boolean;
  /** Hosts of secrets, each with its port, which are allowed as long as the sandbox has the secret. */
  readonly secretHosts: readonly string[];
}

/** The options of a change of the rules. */
export interface ChangeNetworkOptions extends CallOptions {
  /** True to end open connections that are denied then. */
  readonly close?: boolean | undefined;
}
