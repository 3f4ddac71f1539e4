/** The state of sandboxes. */
import type { Exit } from "./command.js";
import type { Port } from "./sandbox.js";

/** The way in which a sandbox stopped. */
export type Stopped = "cleanly" | "killed" | "not-running";

/** The state of a sandbox. */
export type SandboxState = "created" | "running" | "paused" | "stopped" | "unreadable";

/** The description and the state of a sandbox, as `msb inspect` prints it. */
export interface SandboxInfo {
  /** The id. */
  readonly id: string;
  /** The name; the id if it was given none. */
  readonly name: string;
  /** The image's name as it was given. */
  readonly image: string;
  /** The digest of the image's manifest. */
  readonly imageDigest: string;
  /** The creation time in seconds since the epoch. */
  readonly createdS: number;
  /** The state of the machine. */
  readonly state: SandboxState;
  /** Seconds since the epoch of the last start. */
  readonly startedS?: number;
  /** The exit of the main command; absent if it has not ended. */
  readonly exit?: Exit;
  /** Number of virtual processors, from the next start. */
  readonly cpus: number;
  /** Guest memory in MiB, from the next start. */
  readonly memoryMib: number;
  /** Size of the writable disk in bytes, from the next start. */
  readonly upperBytes: number;
  /** True if the sandbox is removed when it has stopped. */
  readonly removeWhenStopped: boolean;
  /** Labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** Published ports; a port that the host chooses is 0 while the sandbox does not run. */
  readonly ports: readonly Port[];
  /** The process id of the machine's process on this host. */
  readonly machinePid?: number;
  /** The reason that the description cannot be read, or the damage of a record whose copy is used. */
  readonly problem?: string;
  /** The directory of the sandbox's files. */
  readonly directory: string;
  /** Space of the writable disk on the host in bytes. */
  readonly allocatedBytes: number | null;
  /** Everything else: the main command, the network, the mounts, the limits. */
  readonly [field: string]: unknown;
}

/** The statistics of a sandbox at one moment. */
export interface Stats {
  /** The id. */
  readonly id: string;
  /** The name. */
  readonly name: string;
  /** Use of the host's processors since the sample before; 100 is one processor. */
  readonly cpuPercent: number;
  /** Guest memory in bytes. */
  readonly memoryLimitBytes: number;
  /** Space of the writable disk on the host in bytes. */
  readonly upperAllocatedBytes: number;
  /** Size of the writable disk in bytes. */
  readonly upperSizeBytes: number;
  /** The accounting of the host's kernel, which the guest cannot influence. */
  readonly host: HostStats;
  /** The counters of the network since the start, which the guest cannot forge; `null` without a network. */
  readonly network: NetworkTotals | null;
  /** The guest's own statistics; `null` if it does not answer. */
  readonly guest: GuestStats | null;
  /** The reason for which the guest has no statistics. */
  readonly guestError: string | null;
}

/** The accounting of a sandbox's processes by the host's kernel. */
export interface HostStats {
  /** Time on the host's processors in microseconds. */
  readonly processorUs: number;
  /** Resident memory in bytes. */
  readonly memoryBytes: number;
  /** Number of processes. */
  readonly processes: number;
}

/** Counters of a sandbox's network since its machine's start. */
export interface NetworkTotals {
  /** Connections and flows of datagrams that began, the inbound ones too. */
  readonly flows: number;
  /** Those of them that have not ended. */
  readonly openFlows: number;
  /** Connections and datagrams to destinations that were refused. */
  readonly refusedFlows: number;
  /** Bytes that the guest sent, without headers and DNS queries. */
  readonly sentBytes: number;
  /** Bytes that the guest received, without headers and DNS answers. */
  readonly receivedBytes: number;
  /** DNS queries that were answered. */
  readonly queries: number;
  /** Those of them for a name that is denied. */
  readonly refusedQueries: number;
  /** Events that are not in the log, because there were too many. */
  readonly lostRecords: number;
}

/** The guest's own statistics since its start. Any of them may be missing or false. */
export interface GuestStats {
  /** Time that all processors together were busy in microseconds. */
  readonly processorBusyUs: number | null;
  /** Memory of the guest's kernel in bytes. */
  readonly memoryTotalBytes: number | null;
  /** Memory that programs can still allocate in bytes. */
  readonly memoryAvailableBytes: number | null;
  /** Bytes read from all disks. */
  readonly diskReadBytes: number | null;
  /** Bytes written to all disks. */
  readonly diskWrittenBytes: number | null;
  /** Bytes received over the network device. */
  readonly networkReceivedBytes: number | null;
  /** Bytes sent over the network device. */
  readonly networkSentBytes: number | null;
  /** Number of threads of all processes. */
  readonly tasks: number | null;
}
