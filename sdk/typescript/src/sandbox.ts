/** A sandbox. */
import { Diff } from "./diff.js";
import { Files, bytesOf } from "./files.js";
import { Jobs } from "./jobs.js";
import { logParameters, logRecord } from "./logs.js";
import { Output, type Ended } from "./output.js";
import { watchForLoss, type Ownership } from "./ownership.js";
import { Process } from "./process.js";
import { stream, type CallOptions, type Remote } from "./remote.js";
import type { SignalName } from "./signals.js";
import { Snapshots } from "./snapshots.js";
import type {
  Applied,
  ApplyOptions,
  Changes,
  CommitOptions,
  Committed,
  DiffOptions,
  ExecOptions,
  Exit,
  ForkOptions,
  HostPath,
  LogOptions,
  LogRecord,
  Port,
  RollbackOptions,
  RolledBack,
  SandboxInfo,
  SpawnOptions,
  StartOptions,
  Stats,
  Stopped,
  Text,
} from "./types.js";

/** The interval of {@link Sandbox.watchStats} in milliseconds, unless its caller gives another one. */
const STATS_INTERVAL_MS = 1000;

/** The fields of a new or found sandbox. */
export interface SandboxIdentity {
  readonly id: string;
  readonly name: string;
  readonly isOwned: boolean;
}

/**
 * A microVM with an image, a writable disk and a name.
 *
 * A sandbox of `sandboxes.run` is owned: it is shut down and removed when the scope of `await using`
 * ends, with {@link close}, and when this process ends by any cause. {@link detach} gives it up.
 */
export class Sandbox implements AsyncDisposable {
  readonly #remote: Remote;
  readonly #ownership: Ownership;
  /** The id. */
  readonly id: string;
  /** The name. After {@link rename} this object has the new name. */
  name: string;
  /** The files. */
  readonly files: Files;
  /** The jobs. */
  readonly jobs: Jobs;
  /** The snapshots of the files. */
  readonly snapshots: Snapshots;

  /** @internal */
  constructor(remote: Remote, identity: SandboxIdentity) {
    this.#remote = remote;
    this.id = identity.id;
    this.name = identity.name;
    this.files = new Files(remote);
    this.jobs = new Jobs(remote);
    this.snapshots = new Snapshots(remote);
    this.#ownership = { name: identity.name, isOwned: identity.isOwned };
    watchForLoss(this, this.#ownership);
  }

  /** True if the sandbox is removed at the end of its scope, and when this process ends. */
  get isOwned(): boolean {
    return this.#ownership.isOwned;
  }

  /** Starts the sandbox. */
  async start(options: StartOptions = {}): Promise<void> {
    await this.#remote.call("start", options, options);
  }

  /** Stops the sandbox, and kills it if it has not stopped in time. */
  async stop(options: CallOptions & { readonly timeoutMs?: number | undefined } = {}): Promise<Stopped> {
    return this.#remote.value("stop", options, options);
  }

  /** Sends a signal to the main command. */
  async signal(signal: SignalName, options: CallOptions = {}): Promise<void> {
    await this.#remote.call("signal", { signal }, options);
  }

  /** Kills the sandbox. */
  async kill(options: CallOptions = {}): Promise<void> {
    await this.#remote.call("kill", {}, options);
  }

  /** Freezes every process, until `unpause`. Files can be read and changed meanwhile; no command can be run. */
  async pause(options: CallOptions = {}): Promise<void> {
    await this.#remote.call("pause", {}, options);
  }

  /** Lets the processes of the paused sandbox go on. */
  async unpause(options: CallOptions = {}): Promise<void> {
    await this.#remote.call("unpause", {}, options);
  }

  /** Removes the sandbox and its disk. With `force` a running sandbox is killed first. */
  async remove(options: CallOptions & { readonly force?: boolean | undefined } = {}): Promise<void> {
    await this.#remote.call("remove", options, options);
    this.#ownership.isOwned = false;
  }

  /** Gives up the ownership of the sandbox: it runs on when its scope or this process ends. */
  async detach(options: CallOptions = {}): Promise<void> {
    await this.#remote.call("detach", {}, options);
    this.#ownership.isOwned = false;
  }

  /** Kills and removes the sandbox if it is owned. A second call does nothing. */
  async close(): Promise<void> {
    if (this.#ownership.isOwned) {
      this.#ownership.isOwned = false;
      await this.#remote.call("close");
    }
  }

  /** Kills and removes the sandbox if it is owned. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Waits until the sandbox has stopped. */
  async wait(options: CallOptions = {}): Promise<Exit> {
    return this.#remote.value("wait", {}, options);
  }

  /** Returns the description of the sandbox. */
  async inspect(options: CallOptions = {}): Promise<SandboxInfo> {
    return this.#remote.value("inspect", {}, options);
  }

  /** Runs a command, waits for its end and returns its output. */
  async exec(argv: readonly Text[], options: ExecOptions = {}): Promise<Output> {
    const { stdin, ...others } = options;
    const content = stdin === undefined ? [] : [bytesOf(stdin)];
    const answer = await this.#remote.call<Ended>("exec", { ...others, argv }, options, content);
    return new Output(answer.value, answer.content);
  }

  /** Runs text with `/bin/sh -c`, waits for its end and returns its output. */
  async shell(text: string, options: ExecOptions = {}): Promise<Output> {
    return this.exec(["/bin/sh", "-c", text], options);
  }

  /** Starts a command and returns it while it runs. `signal` kills the command, also later. */
  async spawn(argv: readonly Text[], options: SpawnOptions = {}): Promise<Process> {
    const [remote] = await this.#remote.open("spawn", { ...options, argv }, options);
    return new Process(remote, options.signal);
  }

  /** Attaches to the main command. */
  async attach(options: CallOptions = {}): Promise<Process> {
    const [remote] = await this.#remote.open("attach", {}, options);
    return new Process(remote, options.signal);
  }

  /** Yields the records of a log: by default, the output of the main command. */
  logs(options: LogOptions = {}): AsyncGenerator<LogRecord, void, undefined> {
    const open = async () => (await this.#remote.open("logs", logParameters(options), options))[0];
    return stream(open, options, logRecord);
  }

  /** Returns the published ports of the running sandbox. */
  async ports(options: CallOptions = {}): Promise<Port[]> {
    return this.#remote.value("ports", {}, options);
  }

  /**
   * Compares the sandbox with its image: what was added, changed and deleted in it. A stopped sandbox cannot be
   * started until the result is closed. The disk of a running one is frozen while it is copied, for at most 60 s.
   */
  async diff(options: DiffOptions = {}): Promise<Diff> {
    const [remote] = await this.#remote.open("diff", options, options);
    return new Diff(remote);
  }

  /**
   * Takes back all changes of the stopped sandbox at and below these paths: they are then what the image has. The
   * sandbox is unchanged if that fails.
   */
  async discard(paths: readonly Text[], options: CallOptions = {}): Promise<void> {
    await this.#remote.call("discard", { paths }, options);
  }

  /**
   * Puts the changes of the sandbox into a directory of this host. If files of the host are in the way, nothing is
   * changed, and the detail `conflicts` of the error lists them.
   */
  async apply(directory: HostPath, options: ApplyOptions = {}): Promise<Applied> {
    return this.#remote.value("apply", { ...options, directory }, options);
  }

  /**
   * Makes the files those of a snapshot; of the newest one without a name. The files as they were before are kept as a
   * snapshot. The processes of a running sandbox are ended, and its command is started again; its machine stays up. If
   * the guest does not do its part, the sandbox is stopped and started.
   */
  async rollback(name?: string, options: RollbackOptions = {}): Promise<RolledBack> {
    return this.#remote.value("rollback", { ...options, name }, options);
  }

  /**
   * Makes sandboxes that begin with the files of this one, running or not, and returns their names. Without names one is
   * made, whose name is its id. They share the files until they write to them, are not started, and are kept when they stop.
   */
  async fork(names: readonly string[] = [], options: ForkOptions = {}): Promise<string[]> {
    const forks = await this.#remote.value<{ names: string[] }>("fork", { ...options, names }, options);
    return forks.names;
  }

  /** Makes an image of the sandbox: a child of its image, or of the last image that was made of it. */
  async commit(name: string, options: CommitOptions = {}): Promise<Committed> {
    return this.#remote.value("commit", { ...options, name }, options);
  }

  /** Changes the sandbox from its next start on. */
  async update(changes: Changes, options: CallOptions = {}): Promise<void> {
    await this.#remote.call("update", changes, options);
  }

  /** Renames the sandbox. */
  async rename(name: string, options: CallOptions = {}): Promise<void> {
    await this.#remote.call("rename", { name }, options);
    this.name = name;
  }

  /** Returns the statistics of the running sandbox. */
  async stats(options: CallOptions = {}): Promise<Stats> {
    return this.#remote.value("stats", {}, options);
  }

  /** Yields the statistics of the running sandbox, once a second by default. */
  watchStats(
    options: CallOptions & { readonly intervalMs?: number | undefined } = {},
  ): AsyncGenerator<Stats, void, undefined> {
    const parameters = { intervalMs: options.intervalMs ?? STATS_INTERVAL_MS };
    const open = async () => (await this.#remote.open("watch_stats", parameters, options))[0];
    return stream(open, options, ({ value }) => value as Stats);
  }
}
