/** Networks of a sandbox. */

/**
 * Rules of a network. A destination is `10.0.0.0/8`, `192.168.1.7:5432`, `example.com` or `*.example.com:443`; in the mode
 * `listed` also requests, `https://api.example.com/v1/*:GET`.
 */
export interface NetworkRules {
  /** Destinations that are allowed. */
  readonly allow?: readonly string[] | undefined;
  /** Destinations that are denied; they win over `allow`. */
  readonly deny?: readonly string[] | undefined;
  /** Resolvers to ask instead of the host's, as `IP` or `IP:PORT`. */
  readonly dns?: readonly string[] | undefined;
  /** True to ask about destinations that no rule denies and the mode does: see {@link Sandbox.onAsk}. */
  readonly ask?: boolean | undefined;
  /**
   * The proxy for TCP connections that leave the host: `http://HOST:PORT`, `socks5h://HOST:PORT`, `socks5://HOST:PORT`, or
   * `env` for that of the variables `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` at each start.
   */
  readonly upstreamProxy?: string | undefined;
  /** The events that the log of the network has; `http` by default. */
  readonly log?: "off" | "flows" | "http" | undefined;
}

/** The destinations that a sandbox reaches. */
export class Network {
  /** The destinations that the sandbox reaches without a rule. */
  readonly mode: "outbound" | "listed" | "none";
  /** Destinations that are allowed. */
  readonly allow: readonly string[];
  /** Destinations that are denied. */
  readonly deny: readonly string[];
  /** Resolvers to ask instead of the host's. */
  readonly dns: readonly string[];
  /** True if the user is asked about destinations that no rule denies and the mode does. */
  readonly ask: boolean;
  /** The proxy for TCP connections that leave the host; `undefined` if they leave it directly. */
  readonly upstreamProxy: string | undefined;
  /** The events that the log of the network has. */
  readonly log: "off" | "flows" | "http";

  private constructor(mode: "outbound" | "listed" | "none", rules: NetworkRules = {}) {
    this.mode = mode;
    this.allow = rules.allow ?? [];
    this.deny = rules.deny ?? [];
    this.dns = rules.dns ?? [];
    this.ask = rules.ask ?? false;
    this.upstreamProxy = rules.upstreamProxy;
    this.log = rules.log ?? "http";
  }

  /** Returns a network that reaches everything but private, link-local and the host's own addresses. This is the default. */
  static outbound(rules: NetworkRules = {}): Network {
    return new Network("outbound", rules);
  }

  /** Returns a network that reaches only what `allow` lists. */
  static listed(rules: NetworkRules = {}): Network {
    return new Network("listed", rules);
  }

  /** Returns no network: the sandbox has no network device. */
  static none(): Network {
    return new Network("none");
  }
}
