/** Mounts of a sandbox. */
import type { HostPath, Size, Text } from "./types.js";

/** The state of a file of a staged directory, from the one that permits most to the one that permits least. */
export type RuleState = "allow" | "write-ask" | "read-only" | "ask" | "deny" | "hide";

/** A rule for files of a staged directory. The text `PATH=STATE` stands for one, too. */
export interface Rule {
  /** A pattern of paths relative to the directory, as gitignore has them; it matches what is below, too. */
  readonly path: Text;
  /** The state of the files. */
  readonly state: RuleState;
}

/** The options of the mount of a staged directory. */
export interface StagedOptions {
  /** The rules of the files; of two rules for the same path the later one wins. */
  readonly rules?: readonly (Rule | string)[] | undefined;
  /**
   * False to leave out the default rules: they hide secrets, and keep changes back that make programs of this host run
   * commands.
   */
  readonly defaultRules?: boolean | undefined;
  /** True if the sandbox can only read the mount. */
  readonly readOnly?: boolean | undefined;
}

interface MountFields {
  readonly type: "bind" | "staged" | "volume" | "tmpfs";
  readonly source?: HostPath;
  readonly target: string;
  readonly readOnly?: boolean | undefined;
  readonly size?: Size | undefined;
  readonly mode?: number | undefined;
  readonly exec?: boolean | undefined;
  readonly rules?: readonly (Rule | string)[] | undefined;
  readonly defaultRules?: boolean | undefined;
}

/** A mount of a sandbox: a directory or file of the host, a volume, or memory, at a path of the sandbox. */
export class Mount {
  /** The kind of the source. */
  readonly type: "bind" | "staged" | "volume" | "tmpfs";
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
  /** The rules of the files of a staged directory. */
  readonly rules?: readonly (Rule | string)[];
  /** False if the default rules of staged directories do not count. */
  readonly defaultRules?: boolean;

  private constructor(fields: MountFields) {
    this.type = fields.type;
    this.target = fields.target;
    this.readOnly = fields.readOnly ?? false;
    if (fields.source !== undefined) this.source = fields.source;
    if (fields.size !== undefined) this.size = fields.size;
    if (fields.mode !== undefined) this.mode = fields.mode;
    if (fields.exec !== undefined) this.exec = fields.exec;
    if (fields.rules !== undefined) this.rules = fields.rules;
    if (fields.defaultRules !== undefined) this.defaultRules = fields.defaultRules;
  }

  /** Returns a mount of a directory or a file of this host. */
  static bind(source: HostPath, target: string, options: { readonly readOnly?: boolean | undefined } = {}): Mount {
    return new Mount({ ...options, type: "bind", source, target });
  }

  /**
   * Returns a mount of a directory of this host as it is when the sandbox is created. The sandbox's changes stay in the
   * sandbox until `apply` puts them into the directory.
   */
  static staged(source: HostPath, target: string, options: StagedOptions = {}): Mount {
    return new Mount({ ...options, type: "staged", source, target });
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
