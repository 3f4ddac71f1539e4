/** The options and results of operations. Names are those of the Rust SDK in camel case. */
import type { CallOptions } from "./remote.js";
import type { Mount } from "./mount.js";
import type { Network } from "./network.js";

/** An argument, a variable or a path of a sandbox: a string, or bytes that are not UTF-8. */
export type Text = string | Uint8Array;

/** A path of this host: a string or a `file:` URL. */
export type HostPath = string | URL;

/** A size: a number of bytes, or text such as `"512M"` or `"1.5G"` (powers of 1,024). */
export type Size = number | string;

/** The virtual machine monitor: `auto` is libkrun where the host has hardware virtualisation, and QEMU otherwise. */
export type Vmm = "auto" | "krun" | "qemu";

/** The settings of a client. Absent settings have the value of the variable in parentheses, or the default. */
export interface MsbOptions {
  /** Directory of all data (`MSB_HOME`; `~/.msb`). */
  readonly home?: HostPath | undefined;
  /** The program `msb` (`MSB_PROGRAM`; the one in the platform package). */
  readonly program?: HostPath | undefined;
  /** The guest kernel, a libkrunfw or a vmlinux (`MSB_KERNEL`; the one in the package `msb-kernel-linux-x64`). */
  readonly kernel?: HostPath | undefined;
  /** The QEMU program, a path or a name (`MSB_QEMU`). */
  readonly qemu?: HostPath | undefined;
  /** The virtual machine monitor (`MSB_VMM`). */
  readonly vmm?: Vmm | undefined;
  /** The confinement of the processes of a machine (`MSB_JAIL`): every layer that the host has, every layer, or none. */
  readonly jail?: "auto" | "required" | "off" | undefined;
  /** The limit of the space that all images take (`MSB_STORE_LIMIT`). */
  readonly storeLimit?: Size | undefined;
}

/** A notice of an operation that succeeded, such as missing hardware virtualisation. */
export interface Notice {
  /** The stable code, such as `emulation`. */
  readonly code: string;
  /** A clause without a full stop. */
  readonly message: string;
}

/** The version of the program `msb`. */
export interface Version {
  /** The version of msb. */
  readonly msb: string;
  /** The format of `MSB_HOME`. */
  readonly storeFormat: number;
  /** The version of the protocol of the guest's agent. */
  readonly agentProtocol: number;
  /** The operating system. */
  readonly os: string;
  /** The architecture. */
  readonly architecture: string;
}

/** A finding of `doctor`. */
export interface Finding {
  /** The subject: `vmm NAME`, `home`, `guest kernel`, `disk`, `registry credentials` or `jail LAYER`. */
  readonly subject: string;
  /** The severity. */
  readonly level: "good" | "degraded" | "broken";
  /** The finding as a sentence. */
  readonly finding: string;
  /** The remedy; `null` if none is needed or known. */
  readonly remedy: string | null;
}

/** The source of an image. */
export interface SourceOptions {
  /** The platform as `OS/ARCH[/VARIANT]`; linux on the architecture of this host if it is absent. */
  readonly platform?: string | undefined;
  /** True to use HTTP without TLS. */
  readonly plainHttp?: boolean | undefined;
  /** File of certificate authorities to trust too, in PEM. */
  readonly tlsCa?: HostPath | undefined;
  /** Limits on the cost of an image by name, such as `{ "layer-time": "3d" }`. */
  readonly limits?: Readonly<Record<string, string>> | undefined;
  /** The least recently used images are removed if all images take more than this. */
  readonly storeLimit?: Size | undefined;
}

/** The options of a pull. */
export interface PullOptions extends SourceOptions, CallOptions {}

/** The options of a load from an archive. */
export interface LoadOptions extends CallOptions {
  /** Name of the image instead of its name in the archive. */
  readonly tag?: string | undefined;
  /** The platform as `OS/ARCH[/VARIANT]`. */
  readonly platform?: string | undefined;
  /** Limits on the cost of an image by name. */
  readonly limits?: Readonly<Record<string, string>> | undefined;
  /** The least recently used images are removed if all images take more than this. */
  readonly storeLimit?: Size | undefined;
}

/** The options of a prune of images. */
export interface PruneOptions extends CallOptions {
  /** True to remove every unused image, not only those without a name. */
  readonly all?: boolean | undefined;
  /** Removes only images that were not used for this long, in milliseconds. */
  readonly unusedForMs?: number | undefined;
  /** True to report only. */
  readonly dryRun?: boolean | undefined;
}

/** A resource limit of commands: one number for both limits, or the two limits; `null` is no limit. */
export type Ulimit = number | { readonly soft: number | null; readonly hard: number | null };

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
  /** When the content of the image is compared with its digests. */
  readonly verify?: "changed" | "always" | undefined;
}

/** The options of a new sandbox. */
export interface SandboxOptions extends SourceOptions, StartOptions {
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
  readonly user?: string | undefined;
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
  /** Maximum number of processes and threads of all commands together. */
  readonly pids?: number | undefined;
  /** Size of `/dev/shm`. */
  readonly shm?: Size | undefined;
  /** Size of `/tmp`. */
  readonly tmp?: Size | undefined;
  /** The hostname of the guest. */
  readonly hostname?: string | undefined;
  /** True if only mounts and what lies in memory can be written. */
  readonly readOnly?: boolean | undefined;
  /** Mounts; see {@link Mount}. */
  readonly mounts?: readonly Mount[] | undefined;
  /** Ports to publish: a record from ports of the sandbox to ports of the host (`null`: a free one), or a list. */
  readonly ports?: Readonly<Record<number, number | null>> | readonly PortOptions[] | undefined;
  /** True to publish each port that the image exposes at a free port of the host. */
  readonly publishAll?: boolean | undefined;
  /** The destinations that the sandbox reaches; see {@link Network}. */
  readonly network?: Network | "outbound" | "listed" | "none" | undefined;
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
  readonly restart?: "no" | "always" | "on-failure" | { readonly retriesMax: number } | undefined;
  /** Signal that asks the main command to end. */
  readonly stopSignal?: string | undefined;
  /** Time that a stop gives processes to end, in milliseconds; 10 s if it is absent. */
  readonly stopTimeoutMs?: number | undefined;
  /** True to remove the sandbox when it has stopped. */
  readonly removeWhenStopped?: boolean | undefined;
  /** The condition under which the image is pulled. */
  readonly pull?: "missing" | "always" | "never" | undefined;
}

/** The options of a command. */
export interface CommandOptions extends CallOptions {
  /** Environment variables beside those of the sandbox. */
  readonly env?: Readonly<Record<string, Text>> | undefined;
  /** Working directory. */
  readonly cwd?: Text | undefined;
  /** User as `user[:group]`, by names or numbers. */
  readonly user?: string | undefined;
  /** Groups besides the user's. */
  readonly groups?: readonly string[] | undefined;
}

/** The options of `exec` and `shell`. */
export interface ExecOptions extends CommandOptions {
  /** Time limit in milliseconds, after which the command is killed and {@link CommandTimeout} is thrown. */
  readonly timeoutMs?: number | undefined;
  /** The standard input; empty if it is absent. */
  readonly stdin?: string | Uint8Array | undefined;
  /** Limit of standard output and standard error together, above which the command is killed and {@link OutputLimit} is thrown; 32 MiB if it is absent. */
  readonly maxOutput?: Size | undefined;
  /** True to throw {@link CommandFailed} for an exit code other than 0. */
  readonly check?: boolean | undefined;
}

/** The options of `spawn`. */
export interface SpawnOptions extends CommandOptions {
  /** Time limit in milliseconds, after which the command is killed. */
  readonly timeoutMs?: number | undefined;
  /** The terminal of the command; it has pipes if it is absent. */
  readonly tty?: TerminalSize | undefined;
}

/** The end of a command, of a job or of a sandbox. */
export interface Exit {
  /** The exit code: the command's own, or 128 plus the fatal signal; 124 if a limit has ended it, 125 to 127 if it could not be run. */
  readonly code: number;
  /** The signal that killed the command. */
  readonly signal?: number;
  /** The limit that has ended the sandbox. */
  readonly reason?: "max-duration" | "idle-timeout";
  /** The reason that the command did not run, or the fate of its sandbox. */
  readonly error?: string;
  /** Seconds since the epoch. */
  readonly endedS?: number;
}

/** The way in which a sandbox stopped. */
export type Stopped = "cleanly" | "killed" | "not-running";

/** The state of a sandbox. */
export type SandboxState = "created" | "running" | "stopped";

/** The description of a sandbox. */
export interface SandboxInfo {
  /** The id. */
  readonly id: string;
  /** The name. */
  readonly name: string;
  /** The image as it was asked for. */
  readonly image: string;
  /** The digest of the image. */
  readonly imageDigest: string;
  /** Seconds since the epoch of its creation. */
  readonly createdS: number;
  /** The state. */
  readonly state: SandboxState;
  /** Labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** Seconds since the epoch of its last start. */
  readonly startedS?: number;
  /** The end of its last run. */
  readonly exit?: Exit;
  /** All further fields, as `msb inspect` prints them. */
  readonly [field: string]: unknown;
}

/** The filter of `sandboxes.list`. */
export interface ListOptions extends CallOptions {
  /** Labels that a sandbox must have. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** The state that a sandbox must have. */
  readonly state?: SandboxState | undefined;
}

/** Changes of a sandbox, which apply from its next start. */
export interface Changes {
  /** Number of virtual processors. */
  readonly cpus?: number | undefined;
  /** Guest memory. */
  readonly memory?: Size | undefined;
  /** Size of the writable disk, which can only grow. */
  readonly disk?: Size | undefined;
  /** Labels to set, and with `null` to remove. */
  readonly labels?: Readonly<Record<string, string | null>> | undefined;
  /** The condition under which the main command is started again. */
  readonly restart?: SandboxOptions["restart"];
  /** The longest time of a run, in milliseconds. */
  readonly maxDurationMs?: number | undefined;
  /** The longest idle time, in milliseconds. */
  readonly idleTimeoutMs?: number | undefined;
}

/** The statistics of a sandbox. Everything in `guest` is the guest's own claim. */
export interface Stats {
  /** The load in percent of one processor of the host. */
  readonly cpuPercent: number | null;
  /** Guest memory in bytes. */
  readonly memoryLimitBytes: number;
  /** Space of the writable disk on the host in bytes. */
  readonly upperAllocatedBytes: number;
  /** Size of the writable disk in bytes. */
  readonly upperSizeBytes: number;
  /** The use of the host. */
  readonly host: { readonly processorUs: number; readonly memoryBytes: number; readonly processes: number };
  /** The guest's own figures; `null` if it did not answer. */
  readonly guest: Readonly<Record<string, number | null>> | null;
}

/** A job: a command that runs without a client. */
export interface JobInfo {
  /** The number of the job. */
  readonly id: number;
  /** The command. */
  readonly argv: readonly string[];
  /** User of the command. */
  readonly user: string;
  /** True if it runs. */
  readonly running: boolean;
  /** Seconds since the epoch of its start. */
  readonly startedS: number;
  /** The process id in the sandbox. */
  readonly pid?: number;
  /** The end of the job. */
  readonly exit?: Exit;
}

/** A file of a sandbox. */
export interface FileInfo {
  /** The name; with replacement characters if it is not UTF-8. */
  readonly name: string;
  /** The bytes of a name that is not UTF-8. */
  readonly nameBytes?: Uint8Array;
  /** The path; with replacement characters if it is not UTF-8. */
  readonly path: string;
  /** The bytes of a path that is not UTF-8. */
  readonly pathBytes?: Uint8Array;
  /** The kind of the file. */
  readonly kind: FileKind;
  /** Size in bytes. */
  readonly sizeBytes: number;
  /** The 12 permission bits. */
  readonly mode: number;
  /** User id. */
  readonly uid: number;
  /** Group id. */
  readonly gid: number;
  /** Seconds since the epoch of the last modification. */
  readonly modifiedS: number;
  /** The target of a symbolic link. */
  readonly target?: string | null;
  /** The bytes of a target that is not UTF-8. */
  readonly targetBytes?: Uint8Array;
}

/** The kind of a file. */
export type FileKind = "file" | "directory" | "symlink" | "fifo" | "socket" | "char-device" | "block-device";

/** The options of `files.write`. */
export interface WriteOptions extends CallOptions {
  /** The 12 permission bits; those of an existing file, or 0644. */
  readonly mode?: number | undefined;
  /** True to make missing directories. */
  readonly parents?: boolean | undefined;
}

/** The options of `files.mkdir`. */
export interface MkdirOptions extends CallOptions {
  /** The 12 permission bits; 0755 if it is absent. */
  readonly mode?: number | undefined;
  /** True to make missing directories above it, and to accept an existing directory. */
  readonly parents?: boolean | undefined;
}

/** The options of `files.remove`. */
export interface RemoveFileOptions extends CallOptions {
  /** True to remove a directory with its content. */
  readonly recursive?: boolean | undefined;
  /** True if a missing path is no error. */
  readonly force?: boolean | undefined;
}

/** The options of logs. */
export interface LogOptions extends CallOptions {
  /** True to wait for new records until the sandbox stops. */
  readonly follow?: boolean | undefined;
  /** The source: the output of the main command, the console of the guest, or msb's own log. */
  readonly source?: "output" | "console" | "machine" | undefined;
  /** Number of records from the end; all if it is absent. */
  readonly tail?: number | undefined;
}

/** A record of a log. */
export interface LogRecord {
  /** The stream of the main command; absent for other sources. */
  readonly stream?: "stdout" | "stderr" | null;
  /** Seconds since the epoch; absent or `null` if it is not known. */
  readonly timeS?: number | null;
  /** The bytes. */
  readonly data: Uint8Array;
}

/** A piece of output of a command. */
export interface OutputEvent {
  /** The stream. */
  readonly stream: "stdout" | "stderr";
  /** The bytes. */
  readonly data: Uint8Array;
}

/** An event of a pull. Layers are identified by their diff ID. */
export type PullEvent =
  | {
      /** An image was found and its import begins. */
      readonly type: "image";
      readonly name: string;
      readonly digest: string;
      readonly layers: readonly { readonly diffId: string; readonly sizeBytes: number }[];
    }
  | { readonly type: "layer-present" | "layer-waiting" | "layer-started" | "layer-done"; readonly diffId: string }
  | {
      /** More bytes of the layer were read. */
      readonly type: "layer-bytes";
      readonly diffId: string;
      readonly bytes: number;
    }
  | {
      /** The layer was converted, but lacks something that its archive has. */
      readonly type: "layer-notes";
      readonly diffId: string;
      readonly notes: readonly string[];
      readonly total: number;
    }
  | {
      /** A registry failed temporarily and will be asked again. */
      readonly type: "retrying";
      readonly what: string;
      readonly reason: string;
      readonly afterMs: number;
    }
  | { readonly type: "merging" | "done"; readonly digest: string }
  | { readonly type: "verifying" | "verified-bytes"; readonly bytes: number };

/** The description of an image. */
export interface ImageInfo {
  /** The name in docker's short form; `null` if the image has no name. */
  readonly reference: string | null;
  /** The digest of the manifest. */
  readonly digest: string;
  /** The platform. */
  readonly platform: string;
  /** Number of layers. */
  readonly layerCount: number;
  /** Length of its artifacts in bytes. */
  readonly sizeBytes: number;
  /** The time of creation, usually as RFC 3339. */
  readonly created: string | null;
}

/** A volume. */
export interface VolumeInfo {
  /** The name. */
  readonly name: string;
  /** Seconds since the epoch of its creation. */
  readonly createdS: number;
  /** Size in bytes. */
  readonly sizeBytes: number;
  /** Space on the host in bytes. */
  readonly allocatedBytes: number;
  /** Labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** Names of the sandboxes that mount it. */
  readonly sandboxes: readonly string[];
}
