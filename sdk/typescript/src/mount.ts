/** Mounts of a sandbox. */
import type { HostPath, Size } from "./types.js";

interface MountFields {
  readonly type: "bind" | "volume" | "tmpfs";
  readonly source?: HostPath;
  readonly target: string;
  readonly readOnly?: boolean | undefined;
  readonly size?: Size | undefined;
  readonly mode?: number | undefined;
  readonly exec?: boolean | undefined;
}

/** A mount of a sandbox: a directory or file of the host, a volume, or memory, at a path of the sandbox. */
export class Mount {
  /** The kind of the source. */
  readonly type: "bind" | "volume" | "tmpfs";
  /** The path on the host, or the name of the volume. */
  readonly source?: HostPath;
  /** The path in the sandbox. */
  readonly target: string;
  /** True if the sandbox can only read the mount. */
  readonly readOnly: boolean;
  /** Size of an unnamed volume, or the maximum size of memory. */
  readonly size?: Size;
  /** The permission bits of the root directory of memory. */
  readonly mode?: number;
  /** True if programs can be run from memory. */
  readonly exec?: boolean;

  private constructor(fields: MountFields) {
    this.type = fields.type;
    this.target = fields.target;
    this.readOnly = fields.readOnly ?? false;
    if (fields.source !== undefined) this.source = fields.source;
    if (fields.size !== undefined) this.size = fields.size;
    if (fields.mode !== undefined) this.mode = fields.mode;
    if (fields.exec !== undefined) this.exec = fields.exec;
  }

  /** Returns a mount of a directory or a file of this host. */
  static bind(source: HostPath, target: string, options: { readonly readOnly?: boolean | undefined } = {}): Mount {
    return new Mount({ ...options, type: "bind", source, target });
  }

  /** Returns a mount of a named volume, which is created if it does not exist. */
  static volume(name: string, target: string, options: { readonly readOnly?: boolean | undefined } = {}): Mount {
    return new Mount({ ...options, type: "volume", source: name, target });
  }

  /** Returns a mount of a new volume that is removed with the sandbox. */
  static unnamedVolume(target: string, options: { readonly size?: Size | undefined } = {}): Mount {
    return new Mount({ ...options, type: "volume", target });
  }

  /** Returns a mount of memory, which is empty at each start. */
  static tmpfs(
    target: string,
    options: { readonly size?: Size | undefined; readonly mode?: number | undefined; readonly exec?: boolean | undefined } = {},
  ): Mount {
    return new Mount({ ...options, type: "tmpfs", target });
  }
}
