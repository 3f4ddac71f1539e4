/** The settings of a guest. MSB_BLESS=1 cargo test -p msb-sdk-binding writes this file. */
import type { Size } from "./client.js";

/** The settings of a sandbox's guest. */
export interface GuestSettings {
  /** True if programs of the guest can list the keys of the host's SSH agent and sign with them. */
  readonly forwardAgent?: boolean | undefined;
  /** The guest's hostname; the sandbox's name by default. */
  readonly hostname?: string | undefined;
  /** True if process 1 is an init, which starts the main command, passes signals on to it and reaps orphans. */
  readonly init?: boolean | undefined;
  /** The namespace of process IDs: the sandbox's own, in which the main command is process 1, or that of the virtual machine. */
  readonly pid?: "private" | "host" | undefined;
  /** Most processes and threads of all commands together; the kernel's limit by default. */
  readonly pids?: number | undefined;
  /** True if nothing can be written but to mounts and to `/dev/shm`. */
  readonly readOnly?: boolean | undefined;
  /** Size of `/dev/shm`; half of the memory by default. */
  readonly shm?: Size | undefined;
  /** Unix sockets of the host that programs of the guest can connect to, each as `HOST_PATH:GUEST_PATH[:mode=MODE,owner=USER]`. */
  readonly sockets?: readonly string[] | undefined;
  /** Settings of the guest's kernel, by name, such as `net.core.somaxconn`. */
  readonly sysctls?: Readonly<Record<string, string>> | undefined;
  /** Size of `/tmp` in memory; by default `/tmp` is on the writable disk. */
  readonly tmp?: Size | undefined;
}

/** The settings whose keys are the user's own names. */
export const GUEST_USER_KEYS: readonly string[] = ["sysctls"];
