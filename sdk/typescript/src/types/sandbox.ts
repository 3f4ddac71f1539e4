/** The options of sandboxes. */
import type { Mount } from "../mount.js";
import type { Network } from "../network.js";
import type { Side } from "../names.js";
import type { CallOptions } from "../remote.js";
import type { Size, Text, Vmm } from "./client.js";
import type { GuestSettings } from "./guest.js";
import type { SourceOptions } from "./image.js";
import type { SandboxState } from "./sandbox_info.js";
import type { Secret } from "./secret.js";

/** A resource limit of commands: one number for both limits, or the two limits; `null` is no limit. */
export type Ulimit = number | UlimitPair;

/** The two limits of a resource. */
export interface UlimitPair {
  /** The limit in force; `null` is no limit. */
  readonly soft: number | null;
  /** The limit up to which a command can raise the other one. */
  readonly hard: number | null;
}

/** A published port of a sandbox. */
export interface Port {
  /** The port in the sandbox. */
  readonly guestPort: number;
  /** The port of the host; 0 lets the host choose a free one. */
  readonly hostPort: number;
  /** The address of the host, an IPv4 address. */
  readonly hostAddress: string;
  /** The transport protocol. */
  readonly protocol: "tcp" | "udp";
}

/** A port to publish. `hostPort` is a free one, `hostAddress` 127.0.0.1 and `protocol` TCP if they are absent. */
export type PortOptions = Pick<Port, "guestPort"> & { readonly [K in Exclude<keyof Port, "guestPort">]?: Port[K] | undefined };

/** The size of a terminal in character cells. */
export interface TerminalSize {
  /** Number of rows. */
  readonly rows: number;
  /** Number of columns. */
  readonly cols: number;
}

/** The parameters of a start. */
export interface StartOptions extends CallOptions {
  /** The virtual machine monitor; the client's if it is absent. */
  readonly vmm?: Vmm | undefined;
  /** Time that the guest may take to answer, in milliseconds; 120 s if it is absent. */
  readonly bootTimeoutMs?: number | undefined;
  /** When the trees of the image, the kernel and the boot disk are checked before the boot. */
  readonly verify?: "changed" | "always" | undefined;
}

/** Restarts of a main command that failed. */
export interface RestartOnFailure {
  /** Maximum number of starts in a row. */
  readonly retriesMax: number;
}

/** A disk image that a sandbox's root begins with, such as a cloud image. The file is only read, and must not change while sandboxes begin with it. */
export interface RootDisk {
  /** The path of the file. */
  readonly path: string;
  /** The format; found out if it is absent. */
  readonly format?: "raw" | "qcow2" | "vmdk" | undefined;
  /** The filesystem of the root; found out if it is absent. */
  readonly filesystem?: "ext4" | "xfs" | "btrfs" | undefined;
  /** The number of the partition; found out if it is absent. */
  readonly partition?: number | undefined;
}

/** The options of a new sandbox. */
export interface SandboxOptions extends SourceOptions, StartOptions, GuestSettings {
  /** The name; the id if it is absent. */
  readonly name?: string | undefined;
  /** Labels, for `sandboxes.list`. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** The main command, with which the sandbox ends. Without it, the sandbox lives until it is stopped. An empty list runs the command of the image. */
  readonly command?: readonly Text[] | undefined;
  /** Program to run instead of the image's Entrypoint. */
  readonly entrypoint?: string | undefined;
  /** Environment variables of all commands. */
  readonly env?: Readonly<Record<string, Text>> | undefined;
  /** Working directory of commands, an absolute path. It is made if it is missing. */
  readonly cwd?: string | undefined;
  /** User of commands as `user[:group]`, by names or numbers. */
  readonly user?: string | number | undefined;
  /** Groups of commands besides the user's. */
  readonly groups?: readonly string[] | undefined;
  /** Resource limits of commands by name: `nofile`, `nproc`, `core`. */
  readonly ulimits?: Readonly<Record<string, Ulimit>> | undefined;
  /** The terminal of the main command; it has pipes if it is absent. */
  readonly tty?: TerminalSize | undefined;
  /** True if the standard input of the main command stays open for `attach`. */
  readonly stdin?: boolean | undefined;
  /** Number of virtual processors. */
  readonly cpus?: number | undefined;
  /** Guest memory; 1 GiB if it is absent. */
  readonly memory?: Size | undefined;
  /** Size of the writable disk; 8 GiB if it is absent. */
  readonly disk?: Size | undefined;
  /** A sandbox or a snapshot, or its name (`SANDBOX@SNAPSHOT`): the new one has its image and begins with its files. */
  readonly fromSandbox?: Side | undefined;
  /** A disk image whose filesystem is the root, instead of an image. */
  readonly rootDisk?: RootDisk | undefined;
  /** True to make the root one ext4 with the image's files, whose content stays in the layers, not an overlay. */
  readonly nativeRoot?: boolean | undefined;
  /** Without effect: snapshots can be taken of each sandbox while it runs. */
  readonly snapshots?: boolean | undefined;
  /** True to take a snapshot before each command that is run in the sandbox, so that `undo` can take it back. */
  readonly snapshotCommands?: boolean | undefined;
  /** The number of commands whose snapshots are kept, from 1 to 400; 50 if it is absent. */
  readonly undoLimit?: number | undefined;
  /** Mounts; see {@link Mount}. */
  readonly mounts?: readonly Mount[] | undefined;
  /** Ports to publish: a record from ports of the sandbox, such as 80 or `"53/udp"`, to ports of the host (`null`: a free one), or a list. */
  readonly ports?: Readonly<Record<number | string, number | null>> | readonly PortOptions[] | undefined;
  /** True to publish each port that the image exposes at a free port of the host. */
  readonly publishAll?: boolean | undefined;
  /** The destinations that the sandbox reaches; see {@link Network}. */
  readonly network?: Network | "outbound" | "listed" | "none" | undefined;
  /** Secrets that programs use in requests and cannot read. */
  readonly secrets?: readonly Secret[] | undefined;
  /** True if programs trust the certificate authorities that this host trusts. */
  readonly hostCa?: boolean | undefined;
  /** Files and directories of this host to copy before the first boot: a record from paths of this host to paths of the sandbox. */
  readonly copy?: Readonly<Record<string, string>> | undefined;
  /** Lines of `/etc/hosts`: a record from names to addresses. */
  readonly hosts?: Readonly<Record<string, string>> | undefined;
  /** The sandbox is stopped this long after its start, in milliseconds, rounded up to seconds. */
  readonly maxDurationMs?: number | undefined;
  /** The sandbox is stopped when no client was connected and no job has run for this long, in milliseconds, rounded up to seconds. */
  readonly idleTimeoutMs?: number | undefined;
  /** The condition under which the main command is started again. */
  readonly restart?: "no" | "always" | "on-failure" | RestartOnFailure | undefined;
  /** Signal that asks the main command to end. */
  readonly stopSignal?: string | undefined;
  /** Time that a stop gives processes to end, in milliseconds; 10 s if it is absent. */
  readonly stopTimeoutMs?: number | undefined;
  /** True to remove a created sandbox when it has stopped. One of `run` always is. */
  readonly removeWhenStopped?: boolean | undefined;
  /** The condition under which the image is pulled. */
  readonly pull?: "missing" | "always" | "never" | undefined;
}

/** The filter of `sandboxes.list`. */
export interface ListOptions extends CallOptions {
  /** Labels that a sandbox must have; a value of `null` accepts any. */
  readonly labels?: Readonly<Record<string, string | null>> | undefined;
  /** The state. */
  readonly state?: SandboxState | undefined;
  /** A part of the name. */
  readonly name?: string | undefined;
  /** The image as it was given, or its digest. */
  readonly image?: string | undefined;
}

/** Changes of the resources of a sandbox, which apply from its next start. */
export interface Changes {
  /** Number of virtual processors. */
  readonly cpus?: number | undefined;
  /** Guest memory. */
  readonly memory?: Size | undefined;
  /** Size of the writable disk, which can only grow. */
  readonly disk?: Size | undefined;
}
