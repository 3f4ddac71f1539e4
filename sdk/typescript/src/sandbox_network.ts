/** The rules of a sandbox's network. */
import type { Network } from "./network.js";
import type { CallOptions, Remote } from "./remote.js";
import type { ChangeNetworkOptions, NetworkPolicy } from "./types.js";

/**
 * The rules of a sandbox's network. They are kept with the sandbox, and new connections of a running one follow them at
 * once.
 */
export class SandboxNetwork {
  readonly #remote: Remote;

  /** @internal */
  constructor(remote: Remote) {
    this.#remote = remote;
  }

  /** Returns the rules, as they are kept with the sandbox. */
  async show(options: CallOptions = {}): Promise<NetworkPolicy> {
    return this.#remote.value("network.show", {}, options);
  }

  /**
   * Adds rules that allow; equal ones that deny are removed. Rules for requests (`https://`) can be added only for hosts
   * whose TLS is ended since the sandbox's creation.
   */
  async allow(rules: string | readonly string[], options: ChangeNetworkOptions = {}): Promise<NetworkPolicy> {
    return this.#change("network.allow", rules, options);
  }

  /** Adds rules that deny; equal ones that allow are removed. */
  async deny(rules: string | readonly string[], options: ChangeNetworkOptions = {}): Promise<NetworkPolicy> {
    return this.#change("network.deny", rules, options);
  }

  /** Removes rules, whether they allow or deny. */
  async remove(rules: string | readonly string[], options: ChangeNetworkOptions = {}): Promise<NetworkPolicy> {
    return this.#change("network.remove", rules, options);
  }

  /**
   * Replaces the mode and all rules at once. The mode cannot become `none`, because the network device stays: `listed`
   * without rules reaches nothing. `dns` and `ask` are fixed when the sandbox is created.
   */
  async set(network: Network | "outbound" | "listed", options: ChangeNetworkOptions = {}): Promise<NetworkPolicy> {
    return this.#remote.value("network.set", { network, close: options.close ?? false }, options);
  }

  async #change(
    operation: string,
    rules: string | readonly string[],
    options: ChangeNetworkOptions,
  ): Promise<NetworkPolicy> {
    const texts = typeof rules === "string" ? [rules] : rules;
    return this.#remote.value(operation, { rules: texts, close: options.close ?? false }, options);
  }
}
