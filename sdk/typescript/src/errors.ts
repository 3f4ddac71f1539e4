/** The error tree. */

/** The fields of an error beside its message. */
export interface MsbErrorOptions {
  /** The stable code in kebab case, such as `sandbox-not-found`. */
  readonly code?: string;
  /** The remedies, one on each line. */
  readonly hint?: string | undefined;
  /** Named values, such as `name`, `path` or `limit`. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The error that caused this one. */
  readonly cause?: unknown;
  /** The standard output of the command up to the error. */
  readonly stdout?: Uint8Array;
  /** The standard error of the command up to the error. */
  readonly stderr?: Uint8Array;
}

/**
 * The error of a failed operation. All errors of this package are of a subclass, except a call that
 * was aborted: it throws the reason of its `AbortSignal`, which is an `AbortError` by default.
 */
export class MsbError extends Error {
  /** The stable code in kebab case, such as `sandbox-not-found`. */
  readonly code: string;
  /** The remedies, one on each line; `undefined` if no remedy is known. */
  readonly hint: string | undefined;
  /** Named values, such as `name`, `path` or `limit`. */
  readonly details: Readonly<Record<string, unknown>>;

  /** Makes an error. */
  constructor(message: string, options: MsbErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = new.target.name;
    this.code = options.code ?? kebabCase(new.target.name);
    this.hint = options.hint;
    this.details = options.details ?? {};
  }
}

/** An argument cannot be used. */
export class InvalidArgument extends MsbError {}

/** The named object does not exist. */
export class NotFound extends MsbError {}
/** No sandbox has this name or id. */
export class SandboxNotFound extends NotFound {}
/** No image has this name or digest. */
export class ImageNotFound extends NotFound {}
/** No volume has this name. */
export class VolumeNotFound extends NotFound {}
/** A path does not exist, in a sandbox or on the host. */
export class PathNotFound extends NotFound {}
/** The sandbox has no job with this number. */
export class JobNotFound extends NotFound {}

/** The object already exists. */
export class AlreadyExists extends MsbError {}
/** Another sandbox or volume has this name. */
export class NameTaken extends AlreadyExists {}
/** The path already exists. */
export class PathExists extends AlreadyExists {}

/** The object is in use. */
export class Busy extends MsbError {}
/** The sandbox is running, and must be stopped first. */
export class SandboxRunning extends Busy {}
/** The processes of the sandbox are paused. */
export class SandboxPaused extends Busy {}
/** A sandbox uses the volume. */
export class VolumeInUse extends Busy {}
/** A sandbox uses the image. */
export class ImageInUse extends Busy {}
/** A port of the host is in use. */
export class PortInUse extends Busy {}

/** The sandbox, or the command in it, does not run. */
export class NotRunning extends MsbError {}
/** The processes of the sandbox are not paused. */
export class NotPaused extends MsbError {}
/** The host or the guest denies access. */
export class PermissionDenied extends MsbError {}
/** A disk is full. */
export class OutOfSpace extends MsbError {}

/** An image cannot be pulled or loaded. */
export class PullError extends MsbError {}
/** A registry failed. */
export class RegistryError extends PullError {}
/** A registry denies access. */
export class Unauthorized extends PullError {}

/** A sandbox cannot be started. */
export class StartError extends MsbError {
  /** The last lines that the machine and its guest printed. */
  get lastWords(): readonly string[] {
    return lastWords(this);
  }
}
/** There is no usable guest kernel. */
export class KernelMissing extends StartError {}
/** No virtual machine monitor can run on this host, or the program `msb` is missing. */
export class VmmMissing extends StartError {}
/** The guest did not answer in time. */
export class BootTimeout extends StartError {}
/** The virtual machine ended while it was starting. */
export class MachineFailed extends StartError {}

/** The sandbox ended during the operation. */
export class SandboxEnded extends MsbError {
  /** The last lines that the machine and its guest printed. */
  get lastWords(): readonly string[] {
    return lastWords(this);
  }
}

/** A command failed. */
export class CommandError extends MsbError {
  /** The standard output of the command up to the error. */
  readonly stdout: Uint8Array;
  /** The standard error of the command up to the error. */
  readonly stderr: Uint8Array;

  /** Makes an error. */
  constructor(message: string, options: MsbErrorOptions = {}) {
    super(message, options);
    this.stdout = options.stdout ?? new Uint8Array();
    this.stderr = options.stderr ?? new Uint8Array();
  }
}
/** The command ended with another exit code than 0. */
export class CommandFailed extends CommandError {}
/** The command does not exist. */
export class CommandNotFound extends CommandError {}
/** The command cannot be executed. */
export class NotExecutable extends CommandError {}
/** The command took too long, and was killed. */
export class CommandTimeout extends CommandError {}
/** The command printed more than its limit, and was killed. */
export class OutputLimit extends CommandError {}

/** The program `msb`, or the agent of the guest, is of another version. */
export class VersionMismatch extends MsbError {}
/** The object belongs to the process that this one was forked from. Node.js does not fork; the class completes the tree. */
export class ForkedError extends MsbError {}
/** The operation is not supported. */
export class Unsupported extends MsbError {}
/** msb itself failed, or the client is closed. */
export class InternalError extends MsbError {}

/** All classes below {@link MsbError} by name. */
export const ERROR_CLASSES: Readonly<Record<string, typeof MsbError>> = {
  InvalidArgument,
  NotFound,
  SandboxNotFound,
  ImageNotFound,
  VolumeNotFound,
  PathNotFound,
  JobNotFound,
  AlreadyExists,
  NameTaken,
  PathExists,
  Busy,
  SandboxRunning,
  SandboxPaused,
  VolumeInUse,
  ImageInUse,
  PortInUse,
  NotRunning,
  NotPaused,
  PermissionDenied,
  OutOfSpace,
  PullError,
  RegistryError,
  Unauthorized,
  StartError,
  KernelMissing,
  VmmMissing,
  BootTimeout,
  MachineFailed,
  SandboxEnded,
  CommandError,
  CommandFailed,
  CommandNotFound,
  NotExecutable,
  CommandTimeout,
  OutputLimit,
  VersionMismatch,
  ForkedError,
  Unsupported,
  InternalError,
};

function lastWords(error: MsbError): readonly string[] {
  const words = error.details["lastWords"];
  return Array.isArray(words) ? words.map(String) : [];
}

function kebabCase(name: string): string {
  return name.replace(/(?<!^)[A-Z]/g, "-$&").toLowerCase();
}
