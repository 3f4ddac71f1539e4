/** A sandbox. */
import { Diff } from "./diff.js";
import { applyChosen } from "./apply-plan.js";
import { argumentsOf } from "./arguments.js";
import { bytesOf } from "./content.js";
import { Files } from "./files.js";
import { Jobs } from "./jobs.js";
import { logParameters, logRecord } from "./logs.js";
import type { RuleState } from "./mount.js";
import { nameOf, sideOf, type Name } from "./names.js";
import { Output, type Ended } from "./output.js";
import { watchForLoss, type Ownership } from "./ownership.js";
import { Process } from "./process.js";
import { Answering, type OnAsk } from "./questions.js";
import { stream, type CallOptions, type Remote } from "./remote.js";
import { userName } from "./sandbox_options.js";
import { SandboxNetwork } from "./sandbox_network.js";
import { Secrets } from "./secrets.js";
import type { SignalName } from "./signals.js";
import { Snapshots } from "./snapshots.js";
import type {
  Allowed,
  Applied,
  AppliedDirectory,
  ApplyOptions,
  ApplyStagedOptions,
  BranchOptions,
  Changes,
  CommitOptions,
  Committed,
  DiffOptions,
  DiscardedChange,
  DiscardOptions,
  ExecOptions,
  Exit,
  ForkOptions,
  History,
  HistoryOptions,
  HostPath,
  LogOptions,
  LogRecord,
  NetworkLogOptions,
  NetworkRecord,
  Port,
  RollbackOptions,
  RolledBack,
  SandboxInfo,
  SpawnOptions,
  StartOptions,
  Stats,
  Stopped,
  Text,
  UndoOptions,
  Undone,
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
 *
 * A call that changes the sandbox and is aborted is done, or undone, before the next call on the sandbox.
 */
export class Sandbox implements AsyncDisposable {
  readonly #remote: Remote;
  readonly #ownership: Ownership;
  /** The sandboxes that the client closes at its end. */
  readonly #owned: Set<WeakRef<Sandbox>>;
  /** The id. */
  readonly id: string;
  /** The name. After {@link rename} this object has the new name. */
  name: string;
  /** The files. */
  readonly files: Files;
  /** The jobs. */
  readonly jobs: Jobs;
  /** The rules of the network, which can change while the sandbox runs. */
  readonly network: SandboxNetwork;
  /** The secrets that programs use in requests and cannot read. */
  readonly secrets: Secrets;
  /** The snapshots of the files. */
  readonly snapshots: Snapshots;

  /** @internal */
  constructor(remote: Remote, identity: SandboxIdentity, owned: Set<WeakRef<Sandbox>>) {
    this.#remote = remote;
    this.#owned = owned;
    this.id = identity.id;
    this.name = identity.name;
    this.files = new Files(remote);
    this.jobs = new Jobs(remote);
    this.network = new SandboxNetwork(remote);
    this.secrets = new Secrets(remote);
    this.snapshots = new Snapshots(remote);
    this.#ownership = { name: identity.name, isOwned: identity.isOwned };
    watchForLoss(this, this.#ownership);
    if (identity.isOwned) {
      for (const reference of owned) {
        if (reference.deref()?.isOwned !== true) owned.delete(reference);
      }
      owned.add(new WeakRef(this));
    }
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

  /** Ends this object: an owned sandbox is shut down and removed. A second call does nothing. */
  async close(): Promise<void> {
    const { isOwned } = this.#ownership;
    this.#ownership.isOwned = false;
    try {
      if (isOwned) {
        await this.#remote.call("close");
      }
    } finally {
      // Also if the wait failed: the sandbox ends without it.
      this.#remote.close();
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
    const content = stdin === undefined ? [] : [bytesOf(stdin, "stdin")];
    const parameters = { ...others, argv: argumentsOf(argv), user: userName(options.user) };
    const answer = await this.#remote.call<Ended>("exec", parameters, options, content);
    return new Output(answer.value, answer.content);
  }

  /** Runs text with `/bin/sh -c`, waits for its end and returns its output. */
  async shell(text: string, options: ExecOptions = {}): Promise<Output> {
    return this.exec(["/bin/sh", "-c", text], options);
  }

  /** Starts a command and returns it while it runs. `signal` and `timeoutMs` kill the command, also later. */
  async spawn(argv: readonly Text[], options: SpawnOptions = {}): Promise<Process> {
    const [remote] = await this.#remote.open("spawn", { ...options, argv: argumentsOf(argv), user: userName(options.user) }, options);
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

  /**
   * Yields the records of the log of the network: each connection and its end, refusals, and DNS queries. The log is kept
   * when the sandbox stops, and the sandbox cannot change it.
   */
  networkLog(options: NetworkLogOptions = {}): AsyncGenerator<NetworkRecord, void, undefined> {
    const open = async () => (await this.#remote.open("network_log", logParameters(options), options))[0];
    return stream(open, options, ({ value }) => value as NetworkRecord);
  }

  /** Returns the published ports of the running sandbox. */
  async ports(options: CallOptions = {}): Promise<Port[]> {
    return this.#remote.value("ports", {}, options);
  }

  /**
   * Compares the sandbox with what it began with: its image, with the files that were copied and written before its
   * first boot. A stopped sandbox cannot be started until the result is closed. The disk of a running one is frozen
   * while it is cut, for at most 1 s.
   */
  async diff(options: DiffOptions = {}): Promise<Diff> {
    const snapshot = options.snapshot === undefined ? undefined : nameOf(options.snapshot);
    const [remote] = await this.#remote.open("diff", { ...options, snapshot }, options);
    return new Diff(remote);
  }

  /**
   * Takes back all changes of the stopped sandbox at and below these paths, and returns what that changes. The files
   * are then what the sandbox began with, or those of a base. The sandbox is unchanged if that fails.
   */
  async discard(paths: readonly Text[], options: DiscardOptions = {}): Promise<DiscardedChange[]> {
    const base = options.base === undefined ? undefined : sideOf(options.base);
    return this.#remote.value("discard", { ...options, base, paths }, options);
  }

  /**
   * Puts the changes of the sandbox into a directory of this host. If files of the host are in the way, nothing is
   * changed, and the detail `conflicts` of the error lists them. Changes that make programs of this host run commands
   * have to be accepted; otherwise nothing is changed, and the detail `marked` lists them.
   */
  async apply(directory: HostPath, options?: ApplyOptions): Promise<Applied>;
  /**
   * Puts the changes of the staged directories into the directories of this host that they were made of, and returns a
   * result for each, in the order of their mounts. If one of them has a conflict, nothing is written to any.
   */
  async apply(options?: ApplyStagedOptions): Promise<AppliedDirectory[]>;
  async apply(
    first?: HostPath | ApplyStagedOptions,
    second?: ApplyOptions,
  ): Promise<Applied | AppliedDirectory[]> {
    const isDirectory = typeof first === "string" || first instanceof URL;
    const options: ApplyOptions = { ...(isDirectory ? undefined : first), ...second };
    const directory = isDirectory ? first : undefined;
    const base = options.base === undefined ? undefined : sideOf(options.base);
    const snapshot = options.snapshot === undefined ? undefined : nameOf(options.snapshot);
    const { onChange, ...rest } = options;
    const parameters = { ...rest, base, snapshot, directory };
    if (onChange === undefined) {
      return this.#remote.value("apply", parameters, options);
    }
    const applied = await applyChosen(this.#remote, { ...parameters, merges: true }, onChange);
    return directory === undefined ? applied : (applied[0] as Applied);
  }

  /**
   * Stages the directories of the stopped sandbox anew, and returns the changes of its files. The sandbox keeps its own
   * changes, and has this host's files of this moment where it changed nothing; snapshots keep the files that they have.
   * If both changed a path in different ways, nothing is changed, and the detail `conflicts` of the error lists such paths.
   */
  async restage(options: CallOptions & { readonly dryRun?: boolean | undefined } = {}): Promise<DiscardedChange[]> {
    return this.#remote.value("restage", options, options);
  }

  /**
   * Answers the questions of the running sandbox with a function, until the result is closed. A process of the sandbox
   * asks with `msb-ask PATH REASON` for a file that a rule of a staged directory hides. A process that opens or changes
   * a file of a shared directory with the state `ask` or `write-ask` asks by that. The question is denied after 30
   * seconds, and at once while nobody listens. A staged file that is allowed is copied in.
   */
  async onAsk(onAsk: OnAsk, options: CallOptions = {}): Promise<Answering> {
    return Answering.begin(this.#remote, onAsk, options);
  }

  /**
   * Gives a path in a directory of this host another state, and keeps the rule. In a shared directory it holds from the
   * next access on. In a staged one, if the sandbox runs and the path becomes readable, this host's files there are
   * copied into it as they are now, except those that it has of its own. They are no changes of the sandbox. A stopped
   * sandbox gets them by {@link restage}.
   */
  async allow(path: Text, state: RuleState = "allow", options: CallOptions = {}): Promise<Allowed> {
    return this.#remote.value("allow", { path, state }, options);
  }

  /**
   * Makes the files those of a snapshot; of the newest one without a name. The files as they were before are kept as a
   * snapshot. The processes of a running sandbox are ended, and its command is started again; its machine stays up. If
   * the guest does not do its part, the sandbox is stopped and started.
   */
  async rollback(name?: Name, options: RollbackOptions = {}): Promise<RolledBack> {
    const snapshot = name === undefined ? undefined : nameOf(name);
    return this.#remote.value("rollback", { ...options, name: snapshot }, options);
  }

  /** Returns the commands that were run in the sandbox: by `exec`, `spawn` and as jobs. */
  async history(options: HistoryOptions = {}): Promise<History> {
    return this.#remote.value("history", options, options);
  }

  /**
   * Makes the files those before the last `n` commands that have a snapshot. Commands that are undone already do not
   * count, so a second call goes further back. It is a {@link rollback} to the snapshot before the oldest of the commands;
   * a rollback to the files that it keeps takes the undo back.
   */
  async undo(n = 1, options: UndoOptions = {}): Promise<Undone> {
    return this.#remote.value("undo", { ...options, count: n }, options);
  }

  /**
   * Makes sandboxes that begin with the files of this one, running or not, and returns their names. Without names one is
   * made, whose name is its id. They share the files until they write to them, are not started, and are kept when they stop.
   */
  async fork(names: string | readonly string[] = [], options: ForkOptions = {}): Promise<string[]> {
    const parameters = {
      ...options,
      names: typeof names === "string" ? [names] : names,
      snapshot: options.snapshot === undefined ? undefined : nameOf(options.snapshot),
    };
    const forks = await this.#remote.value<{ names: string[] }>("fork", parameters, options);
    return forks.names;
  }

  /**
   * Starts a fork of this sandbox, which the result owns: it ends as a sandbox of `sandboxes.run` does. It begins with the
   * files of this sandbox as they are now, or as they are in a `snapshot`, and has its options. {@link fork} makes ones
   * that are kept.
   */
  async branch(options: BranchOptions = {}): Promise<Sandbox> {
    const snapshot = options.snapshot === undefined ? undefined : nameOf(options.snapshot);
    const [remote, identity] = await this.#remote.open<SandboxIdentity>("branch", { ...options, snapshot }, options);
    return new Sandbox(remote, identity, this.#owned);
  }

  /** Makes an image of the sandbox: a child of its image, or of the last image that was made of it. */
  async commit(name: string, options: CommitOptions = {}): Promise<Committed> {
    const snapshot = options.snapshot === undefined ? undefined : nameOf(options.snapshot);
    return this.#remote.value("commit", { ...options, name, snapshot }, options);
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
