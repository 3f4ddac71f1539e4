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

/** The versions of this library. */
export interface Version {
  /** The version of msb. */
  readonly msb: string;
  /** The version of the format of the store. */
  readonly storeFormat: number;
  /** The version of the protocol between host and guest agent. */
  readonly agentProtocol: number;
  /** The digest of the guest agent, which identifies the build. */
  readonly agent: string;
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
  /** True to remove a created sandbox when it has stopped. One of `run` always is. */
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
  /** Resource limits by name. */
  readonly ulimits?: Readonly<Record<string, Ulimit>> | undefined;
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
  /** False if the command reads the end of its standard input at once. */
  readonly stdin?: boolean | undefined;
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
  /** The directory of the sandbox's files. */
  readonly directory: string;
  /** Space of the writable disk on the host in bytes. */
  readonly allocatedBytes: number | null;
  /** Everything else: the main command, the network, the mounts, the limits. */
  readonly [field: string]: unknown;
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

/** The attributes of a file in a sandbox. */
export interface FileInfo {
  /** The name without its directory; with replacement characters if it is not UTF-8. */
  readonly name: string;
  /** The bytes of a name that is not UTF-8. */
  readonly nameBytes?: Uint8Array;
  /** The type. */
  readonly type: FileType;
  /** The 12 permission bits. */
  readonly mode: number;
  /** User id of the owner. */
  readonly uid: number;
  /** Group id of the owner. */
  readonly gid: number;
  /** The size in bytes. */
  readonly sizeBytes: number;
  /** The time of the last change of content, in seconds since the epoch. */
  readonly mtimeS: number;
  /** Nanoseconds after `mtimeS`. */
  readonly mtimeNs: number;
  /** The target of a symbolic link; with replacement characters if it is not UTF-8. */
  readonly target?: string;
  /** The bytes of a target that is not UTF-8. */
  readonly targetBytes?: Uint8Array;
  /** Major and minor number of a device. */
  readonly device?: readonly [number, number];
}

/** The type of a file. */
export type FileType =
  "file" | "directory" | "symlink" | "char-device" | "block-device" | "fifo" | "socket" | "unknown";

/** The options of `files.stat`. */
export interface StatOptions extends CallOptions {
  /** False to describe a symbolic link instead of its target. */
  readonly follow?: boolean | undefined;
}

/** The options of a copy between this host and the sandbox. */
export interface CopyOptions extends CallOptions {
  /** True if files keep their numeric owners. */
  readonly keepOwner?: boolean | undefined;
  /** True if a source that is a symbolic link is replaced by its target. */
  readonly followLink?: boolean | undefined;
  /** True if mounts in the source are left out. */
  readonly oneFileSystem?: boolean | undefined;
}

/** The result of a copy. */
export interface Copied {
  /** Number of files, directories and links that were copied. */
  readonly entries: number;
  /** Number of device nodes of the sandbox that were left out. */
  readonly devicesLeftOut: number;
}

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
  /** The source: the output of the main command, the console of the guest, or the messages of the machine's process. */
  readonly source?: "output" | "console" | "machine" | undefined;
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
  /** Names of the sandboxes, running or not, that mount it. */
  readonly sandboxes: readonly string[];
  /** The directory of its files. */
  readonly directory: string;
}
