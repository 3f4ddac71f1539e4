/** The options and records of logs. */
import type { CallOptions } from "../remote.js";

/** The options of the log of a job. */
export interface JobLogOptions extends CallOptions {
  /** True to wait for new records until the job has ended. */
  readonly follow?: boolean | undefined;
  /** Number of last records to begin with; all if it is absent. */
  readonly tail?: number | undefined;
}

/** The options of a log. */
export interface LogOptions extends CallOptions {
  /** True to wait for new records until the sandbox has ended. */
  readonly follow?: boolean | undefined;
  /**
   * The source: the output of the main command, the console of the guest, the messages of the machine's process,
   * or, as lines of JSON, the questions of the guest or the records of its network.
   */
  readonly source?: "output" | "console" | "machine" | "asks" | "network" | undefined;
  /** Number of last records to begin with; all if it is absent. */
  readonly tail?: number | undefined;
  /** Only records of this time or later. */
  readonly since?: Date | undefined;
  /** Only records before this time. */
  readonly until?: Date | undefined;
}

/** A line of a log, or a part of a long one. */
export interface LogRecord {
  /** Time of arrival; `null` for console and machine. */
  readonly time: Date | null;
  /** The stream that the output came from; `null` for console and machine. */
  readonly stream: "stdout" | "stderr" | null;
  /** The bytes with the end of the line. */
  readonly data: Uint8Array;
}

/** The options of the log of a network. */
export interface NetworkLogOptions extends CallOptions {
  /** True to wait for new records until the sandbox has ended. */
  readonly follow?: boolean | undefined;
  /** True to choose the refusals. */
  readonly denied?: boolean | undefined;
  /** Number of last records to begin with; all if it is absent. */
  readonly tail?: number | undefined;
  /** Only records of this time or later. */
  readonly since?: Date | undefined;
  /** Only records before this time. */
  readonly until?: Date | undefined;
}

/**
 * A record of the log of a sandbox's network. Names are those that the sandbox asked for, and it may ask for any. A later
 * msb may have other events.
 */
export type NetworkRecord =
  | NetworkConnect
  | NetworkClose
  | NetworkQuery
  | NetworkRulesChanged
  | NetworkLost
  | NetworkHello
  | NetworkRequest
  | NetworkMisplaced
  | NetworkWithheld
  | NetworkTlsRefused
  | NetworkUnproved;

/** The begin of a flow: of a connection, or of datagrams between two ports. */
export interface NetworkConnect {
  /** The time, in RFC 3339, with milliseconds. */
  readonly time: string;
  /** The name of this event. */
  readonly event: "connect";
  /** The number of the flow since the machine's start; absent if it is refused. */
  readonly flow?: number;
  /** The transport protocol. */
  readonly proto: "tcp" | "udp";
  /** The last name that the guest resolved to the address; absent if it resolved none. */
  readonly name?: string;
  /** The address that the guest connects to; that of the client if the flow is an inbound one. */
  readonly address: string;
  /** The port at that address; the port in the guest if the flow is an inbound one. */
  readonly port: number;
  /** The decision. */
  readonly verdict: "allowed" | "denied";
  /** The rule that decided; for an inbound flow `published`. */
  readonly rule: string;
  /** The option that allows a refused destination; absent if none does. */
  readonly hint?: string;
  /** The number of equal events that the record stands for; absent if it is one. */
  readonly count?: number;
}

/** The end of a flow. */
export interface NetworkClose {
  /** The time, in RFC 3339, with milliseconds. */
  readonly time: string;
  /** The name of this event. */
  readonly event: "close";
  /** The number of the flow. */
  readonly flow: number;
  /** Bytes that the guest sent. */
  readonly sent: number;
  /** Bytes that the guest received. */
  readonly received: number;
  /** Time since the begin, in milliseconds. */
  readonly ms: number;
  /** The way in which it ended. */
  readonly end:
    | "guest"
    | "peer"
    | "guest-reset"
    | "peer-reset"
    | "refused"
    | "unreachable"
    | "timeout"
    | "idle"
    | "denied"
    | "busy"
    | "revoked"
    | "proxy-refused"
    | "proxy-failed"
    | "machine";
  /** The status with which the upstream proxy refused it: of HTTP, or the reply of SOCKS5; absent otherwise. */
  readonly status?: number;
}

/** A DNS query, and its answer. */
export interface NetworkQuery {
  /** The time, in RFC 3339, with milliseconds. */
  readonly time: string;
  /** The name of this event. */
  readonly event: "dns";
  /** The name that the guest asked for. */
  readonly name: string;
  /** The type of the records that it asked for, such as `A`. */
  readonly type: string;
  /** The decision. */
  readonly verdict: "allowed" | "denied";
  /** The rule that decided. */
  readonly rule: string;
  /** The code of the answer, such as `NOERROR` or `NXDOMAIN`. */
  readonly code: string;
  /** The option that allows a refused name; absent if none does. */
  readonly hint?: string;
  /** The number of equal events that the record stands for; absent if it is one. */
  readonly count?: number;
}

/** The host has changed the rules. */
export interface NetworkRulesChanged {
  /** The time, in RFC 3339, with milliseconds. */
  readonly time: string;
  /** The name of this event. */
  readonly event: "rules";
  /** The side that has changed them. */
  readonly by: string;
  /** The default for destinations that no rule applies to, from now on. */
  readonly mode: "outbound" | "listed";
  /** The rules that allow and are new. */
  readonly allow: readonly string[];
  /** The rules that deny and are new. */
  readonly deny: readonly string[];
  /** The rules of both kinds that no longer hold. */
  readonly removed: readonly string[];
  /** The number of further rules that are new or no longer hold. */
  readonly more: number;
}

/** Events that are not in the log, because there were too many. */
export interface NetworkLost {
  /** The time, in RFC 3339, with milliseconds. */
  readonly time: string;
  /** The name of this event. */
  readonly event: "lost";
  /** The number of these events. */
  readonly count: number;
}

/** A TLS hello to an address of a name whose TLS msb ends. */
export interface NetworkHello {
  /** The time, in RFC 3339, with milliseconds. */
  readonly time: string;
  /** The number of the flow. */
  readonly flow: number;
  /** The name of this event. */
  readonly event: "tls";
  /** The name that the guest stated, which nothing proves. */
  readonly sni: string;
  /** True if msb ends the TLS of the connection. */
  readonly ended: boolean;
}

/** A request of a connection whose TLS msb ends. */
export interface NetworkRequest {
  /** The time, in RFC 3339, with milliseconds. */
  readonly time: string;
  /** The number of the flow. */
  readonly flow: number;
  /** The name of this event. */
  readonly event: "http";
  /** The method, shortened. */
  readonly method: string;
  /** The host, which its certificate proved. */
  readonly host: string;
  /** The path without its query; a part that may be a credential is `…`. */
  readonly path: string;
  /** True if the request has a query; absent if it has none. */
  readonly query?: true;
  /** The status of the answer; absent if there is none. */
  readonly status?: number;
  /** Bytes of the request's body. */
  readonly sent: number;
  /** Bytes of the answer's body. */
  readonly received: number;
  /** Time from the request's head to the answer's end, in milliseconds. */
  readonly ms: number;
  /** The version of HTTP. */
  readonly version: "http/1.1" | "h2";
  /** The secrets whose values were placed; absent if none was. */
  readonly secrets?: readonly string[];
  /** The decision. */
  readonly verdict: "allowed" | "denied";
}

/** A placeholder where no value is placed. */
export interface NetworkMisplaced {
  /** The time, in RFC 3339, with milliseconds. */
  readonly time: string;
  /** The number of the flow. */
  readonly flow: number;
  /** The name of this event. */
  readonly event: "secret.misplaced";
  /** The name of the secret. */
  readonly secret: string;
  /** The part of the request that has it: the header's name, `path`, `query` or `request`. */
  readonly place: string;
}

/** An answer that was withheld: it has the value of a secret, or is compressed and could have it. */
export interface NetworkWithheld {
  /** The time, in RFC 3339, with milliseconds. */
  readonly time: string;
  /** The number of the flow. */
  readonly flow: number;
  /** The name of this event. */
  readonly event: "secret.reflected" | "secret.encoded";
  /** The name of the secret. */
  readonly secret: string;
  /** The host that answered. */
  readonly host: string;
  /** The path of the request. */
  readonly path: string;
}

/** The guest refused the certificate that msb showed. */
export interface NetworkTlsRefused {
  /** The time, in RFC 3339, with milliseconds. */
  readonly time: string;
  /** The number of the flow. */
  readonly flow: number;
  /** The name of this event. */
  readonly event: "tls.refused";
  /** The name that the guest stated. */
  readonly sni: string;
  /** The TLS alert of the guest; absent if it closed the connection. */
  readonly alert?: string;
}

/** A host that did not prove its name. */
export interface NetworkUnproved {
  /** The time, in RFC 3339, with milliseconds. */
  readonly time: string;
  /** The number of the flow. */
  readonly flow: number;
  /** The name of this event. */
  readonly event: "upstream.certificate";
  /** The name that the guest stated. */
  readonly sni: string;
  /** The reason, for people. */
  readonly reason: string;
}
