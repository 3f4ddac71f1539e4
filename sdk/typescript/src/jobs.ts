/** The jobs of a sandbox: commands that run without a client. */
import { stream, type CallOptions, type Remote } from "./remote.js";
import { argumentsOf } from "./arguments.js";
import { logRecord } from "./logs.js";
import { userName } from "./sandbox_options.js";
import { signalNumber, type SignalName } from "./signals.js";
import type { CommandOptions, Exit, JobInfo, JobLogOptions, LogRecord, Text } from "./types.js";

/** The jobs of a sandbox. A job runs on when this program ends; its sandbox has to live for that. */
export class Jobs {
  readonly #remote: Remote;

  /** @internal */
  constructor(remote: Remote) {
    this.#remote = remote;
  }

  /** Starts a command as a job. */
  async start(argv: readonly Text[], options: CommandOptions = {}): Promise<Job> {
    const info = await this.#remote.value<{ id: number }>("jobs.start", { ...options, argv: argumentsOf(argv), user: userName(options.user) }, options);
    return new Job(this.#remote, info.id);
  }

  /** Returns the jobs, the earliest first. */
  async list(options: CallOptions = {}): Promise<JobInfo[]> {
    return this.#remote.value("jobs.list", {}, options);
  }

  /** Returns the job with this number, which is looked up when it is used. */
  get(id: number): Job {
    return new Job(this.#remote, id);
  }
}

/** A job of a sandbox. */
export class Job {
  readonly #remote: Remote;
  /** The number of the job. */
  readonly id: number;

  /** @internal */
  constructor(remote: Remote, id: number) {
    this.#remote = remote;
    this.id = id;
  }

  /** Waits for the end of the job. */
  async wait(options: CallOptions = {}): Promise<Exit> {
    return this.#remote.value("jobs.wait", { id: this.id }, options);
  }

  /** Returns the description of the job. */
  async inspect(options: CallOptions = {}): Promise<JobInfo> {
    return this.#remote.value("jobs.inspect", { id: this.id }, options);
  }

  /** Sends a signal to the job. */
  async signal(signal: SignalName | number, options: CallOptions = {}): Promise<void> {
    await this.#remote.call("jobs.signal", { id: this.id, signal: signalNumber(signal) }, options);
  }

  /** Kills the job. */
  async kill(options: CallOptions = {}): Promise<void> {
    await this.#remote.call("jobs.kill", { id: this.id }, options);
  }

  /** Yields the output of the job. */
  logs(options: JobLogOptions = {}): AsyncGenerator<LogRecord, void, undefined> {
    const parameters = { ...options, id: this.id };
    const open = async () => (await this.#remote.open("jobs.logs", parameters, options))[0];
    return stream(open, options, logRecord);
  }
}
