/** The settings of a client, and what it says about itself. */

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
