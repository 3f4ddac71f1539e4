/** The steps of behaviours, carried out with the SDK. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { createServer, type AddressInfo, type Server } from "node:net";
import { dirname } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

import {
  type Answering,
  type Diff,
  type FileInfo,
  type Job,
  type LogOptions,
  type LogRecord,
  Msb,
  type MsbOptions,
  Network,
  type NetworkPolicy,
  type NetworkRules,
  type Output,
  type Process,
  type Question,
  type QuestionAnswer,
  type RuleState,
  type Sandbox,
} from "msb-sdk";

import { eventually } from "../support/environment.js";
import { bytesOf, camelOptions, sandboxOptions, textOf, type Data, type Step } from "./data.js";
import type { Result } from "./expectations.js";
import { sourceOf } from "./secrets.js";

/** What steps work with. */
export interface World {
  readonly msb: Msb;
  readonly image: string;
  readonly sandboxes: Map<string, Sandbox>;
  readonly variables: Record<string, unknown>;
}

type StepFunction = (step: Step, stage: Stage) => Promise<Result | void>;

/** The world of one behaviour, and what its steps made. */
export class Stage {
  readonly world: World;
  readonly variables: Record<string, unknown>;
  readonly jobs = new Map<string, Job>();
  readonly #servers: Server[] = [];
  readonly #owned: Sandbox[] = [];

  constructor(world: World, variables: Record<string, unknown>) {
    this.world = world;
    this.variables = { ...world.variables, ...variables };
  }

  get msb(): Msb {
    return this.world.msb;
  }

  sandbox(step: Step): Sandbox {
    const sandbox = this.world.sandboxes.get(step.sandbox ?? "main");
    assert.ok(sandbox, `no sandbox ${step.sandbox}`);
    return sandbox;
  }

  keep(step: Step, sandbox: Sandbox): void {
    this.#owned.push(sandbox);
    if (step.as !== undefined) this.world.sandboxes.set(step.as, sandbox);
  }

  /** Listens on a free port. With an answer, sends it to each request. */
  async listen(answer?: Uint8Array): Promise<number> {
    const server = createServer((socket) => {
      if (answer !== undefined) socket.once("data", () => socket.end(answer));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.#servers.push(server);
    return (server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const server of this.#servers) server.close();
    for (const sandbox of this.#owned) {
      await (sandbox.isOwned ? sandbox.close() : sandbox.remove({ force: true })).catch(() => undefined);
    }
  }
}

/** Carries out a step, and returns its result. */
export async function perform(step: Step, stage: Stage): Promise<Result> {
  const work = STEPS[step.do];
  assert.ok(work, `this driver has no step '${step.do}'`);
  return (await work(step, stage)) ?? {};
}

function commandOptions(step: Step): Record<string, unknown> {
  const { env, cwd, user, timeout_ms, max_output, check, tty, stdin, snapshot } = step as Record<string, unknown>;
  const variables = env && Object.entries(env).map(([name, value]) => [name, textOf(value)]);
  return {
    env: variables && Object.fromEntries(variables as [string, string][]),
    cwd,
    user,
    timeoutMs: timeout_ms,
    maxOutput: max_output,
    check,
    tty,
    stdin: stdin === undefined ? undefined : bytesOf(stdin as Data),
    snapshot,
  };
}

function outputResult({ exitCode, signal, stdout, stderr }: Output): Result {
  return { exit_code: exitCode, signal, stdout, stderr, stdout_bytes: stdout.length };
}

function path(step: Step): string | Uint8Array {
  return textOf(step["path"]);
}

async function collect(records: AsyncIterable<LogRecord>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const { data } of records) pieces.push(data);
  return Buffer.concat(pieces);
}

async function spawn(step: Step, stage: Stage): Promise<Result> {
  const argv = (step["argv"] as Data[]).map(textOf);
  const stdin = step["write"] !== undefined;
  const process = await stage.sandbox(step).spawn(argv, { ...commandOptions(step), stdin });
  if (step["close"] === true) {
    await process[Symbol.asyncDispose]();
    return {};
  }
  const writes = step["write"] as string[] | undefined;
  if (writes !== undefined) {
    const writer = process.stdin.getWriter();
    for (const text of writes) await writer.write(Buffer.from(text));
    await writer.close();
  }
  return spawned(step, process);
}

async function spawned(step: Step, process: Process): Promise<Result> {
  const pieces = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  let isDone = false;
  for await (const { stream, data } of process) {
    pieces[stream] = Buffer.concat([pieces[stream], data]);
    const awaited = step["signal_after"] ?? step["kill_after"];
    if (awaited !== undefined && !isDone && pieces.stdout.toString() === awaited) {
      isDone = true;
      await (step["signal_after"] === undefined ? process.kill() : process.signal(step["signal"] as number));
    }
  }
  const exit = await process.wait();
  return { ...pieces, exit_code: exit.code, signal: exit.signal };
}

function listed(entries: FileInfo[], wanted: unknown): Result {
  const isBytes = JSON.stringify(wanted ?? "").includes('"bytes"');
  const name = (entry: FileInfo) =>
    isBytes ? { bytes: Buffer.from(entry.nameBytes ?? Buffer.from(entry.name)).toString("base64") } : entry.name;
  return { count: entries.length, names: entries.map(name), types: entries.map((entry) => entry.type) };
}

/** The letters of changes, as docker prints them. */
const LETTERS = { added: "A", changed: "C", deleted: "D" } as const;

/** Returns what a comparison found, and ends it. */
async function changes(compared: Diff): Promise<Result> {
  await using diff = compared;
  const lines: string[] = [];
  let inserted = 0;
  for await (const change of diff) {
    lines.push(`${LETTERS[change.kind]} ${change.path}`);
    const patch = await diff.patch(change);
    if (patch.lines.type === "text") inserted += patch.lines.inserted;
  }
  return { count: await diff.count(), changes: lines, inserted_lines: inserted };
}

function paths(step: Step): (string | Uint8Array)[] {
  return ((step["paths"] as Data[] | undefined) ?? []).map(textOf);
}

async function apply(step: Step, stage: Stage): Promise<Result> {
  const from = step["from"] === undefined ? undefined : textOf(step["from"]);
  const choices = step["choices"] as Record<string, boolean | boolean[]> | undefined;
  const options = {
    from,
    base: step["base"] as string | undefined,
    dryRun: step["dry_run"] === true,
    thenDiscard: step["then_discard"] === true,
    onChange: choices && (({ path }: { path: string }) => choices[path] ?? false),
  };
  const sandbox = stage.sandbox(step);
  const directory = step["directory"] as string | undefined;
  const staged = directory === undefined ? await sandbox.apply(options) : [];
  const applied = directory === undefined ? staged : [await sandbox.apply(directory, options)];
  return {
    targets: staged.map(({ target }) => target),
    changes: applied.flatMap(({ changes }) => changes.map(({ kind, path }) => `${LETTERS[kind]} ${path}`)),
    refused: applied.flatMap(({ refused }) => refused.map(({ rule }) => rule)),
  };
}

async function run(step: Step, stage: Stage): Promise<void> {
  const image = (step["image"] as string | undefined) ?? stage.world.image;
  if (step["client"] === undefined) {
    stage.keep(step, await stage.msb.sandboxes.run(image, sandboxOptions(step.options ?? {})));
    return;
  }
  await using msb = new Msb(camelOptions(step["client"]) as MsbOptions);
  await using _sandbox = await msb.sandboxes.run(image, sandboxOptions(step.options ?? {}));
}

async function killDuring(step: Step, stage: Stage): Promise<Result> {
  const sandbox = stage.sandbox(step);
  const call = sandbox.shell(step["text"] as string);
  // The failure is awaited below.
  call.catch(() => undefined);
  while (!(await sandbox.files.exists(step["begun"] as string))) await sleep(50);
  await sandbox.kill();
  return outputResult(await call);
}

/** Follows the log of the network to the refusal of a port. */
async function networkLog(step: Step, stage: Stage): Promise<Result> {
  for await (const record of stage.sandbox(step).networkLog({ follow: true, denied: true })) {
    if (record.event === "connect" && record.port === step["port"]) {
      const { proto, address, verdict, rule, hint } = record;
      return { proto, address, verdict, rule, hint };
    }
  }
  throw new Error("the log has ended");
}

/** Returns the rules of a network as the data has them. */
function policyOf({ mode, allow, deny, ask }: NetworkPolicy): Result {
  return { mode, allow, deny, ask };
}

async function httpGet(step: Step, stage: Stage): Promise<Result> {
  const ports = await stage.sandbox(step).ports();
  const port = ports.find(({ guestPort }) => guestPort === step["guest_port"]);
  assert.ok(port, "the port is not published");
  const end = Date.now() + 60_000;
  for (;;) {
    try {
      const request = get(`http://127.0.0.1:${port.hostPort}${String(step["path"])}`, { agent: false });
      const [response] = (await once(request, "response")) as [IncomingMessage];
      return { data: await buffer(response) };
    } catch (error) {
      // The server may not have begun to listen.
      if (Date.now() > end) throw error;
      await sleep(100);
    }
  }
}

function job(step: Step, stage: Stage): Job {
  const found = stage.jobs.get(String(step["job"]));
  return found ?? stage.sandbox(step).jobs.get(step["id"] as number);
}

const STEPS: Readonly<Record<string, StepFunction>> = {
  exec: async (step, stage) => {
    const argv = (step["argv"] as Data[]).map(textOf);
    return outputResult(await stage.sandbox(step).exec(argv, commandOptions(step)));
  },
  shell: async (step, stage) =>
    outputResult(await stage.sandbox(step).shell(step["text"] as string, commandOptions(step))),
  poll_shell: async (step, stage) => {
    const expected = (step.expect as { stdout: string }).stdout;
    await eventually(stage.sandbox(step), step["text"] as string, expected);
    return { stdout: Buffer.from(expected) };
  },
  spawn,
  write: async (step, stage) =>
    stage.sandbox(step).files.write(path(step), bytesOf(step["data"] as Data), {
      mode: step["mode"] as number | undefined,
      parents: step["parents"] as boolean | undefined,
    }),
  read: async (step, stage) => {
    const { files, snapshots } = stage.sandbox(step);
    const from = step["snapshot"] === undefined ? files : snapshots.files(step["snapshot"] as string);
    return { data: await from.read(path(step)) };
  },
  list: async (step, stage) => listed(await stage.sandbox(step).files.list(path(step)), step.expect?.["names"]),
  stat: async (step, stage) => {
    const { type, sizeBytes, mode, target } = await stage.sandbox(step).files.stat(path(step), {
      follow: step["follow"] as boolean | undefined,
    });
    return { type, size_bytes: sizeBytes, mode, target };
  },
  exists: async (step, stage) => ({ value: await stage.sandbox(step).files.exists(path(step)) }),
  mkdir: async (step, stage) => stage.sandbox(step).files.mkdir(path(step), { parents: step["parents"] === true }),
  remove: async (step, stage) =>
    stage.sandbox(step).files.remove(path(step), {
      recursive: step["recursive"] === true,
      force: step["missing_ok"] === true,
    }),
  rename: async (step, stage) => stage.sandbox(step).files.rename(textOf(step["from"]), textOf(step["to"])),
  chmod: async (step, stage) => stage.sandbox(step).files.chmod(path(step), step["mode"] as number),
  upload: async (step, stage) =>
    void (await stage.sandbox(step).files.upload(step["host"] as string, step["guest"] as string)),
  download: async (step, stage) =>
    void (await stage.sandbox(step).files.download(step["guest"] as string, step["host"] as string)),
  host_write: async (step) => {
    const file = step["path"] as string;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytesOf(step["data"] as Data));
    if (step["mode"] !== undefined) chmodSync(file, step["mode"] as number);
  },
  host_read: async (step) => ({ data: new Uint8Array(readFileSync(step["path"] as string)) }),
  job_start: async (step, stage) => {
    const started = await stage.sandbox(step).jobs.start((step["argv"] as Data[]).map(textOf));
    stage.jobs.set(String(step.as), started);
  },
  job_wait: async (step, stage) => ({ exit_code: (await job(step, stage).wait()).code }),
  job_kill: async (step, stage) => job(step, stage).kill(),
  job_logs: async (step, stage) => ({ data: await collect(job(step, stage).logs()) }),
  job_list: async (step, stage) => {
    const jobs = await stage.sandbox(step).jobs.list();
    const has = [...stage.jobs].filter(([, { id }]) => jobs.some((info) => info.id === id));
    return { has: has.map(([name]) => name).join(" ") };
  },
  inspect: async (step, stage) => ({ ...(await stage.sandbox(step).inspect()) }),
  list_sandboxes: async (step, stage) => {
    const labels = step["labels"] as Record<string, string>;
    return { names: (await stage.msb.sandboxes.list({ labels })).map(({ name }) => name) };
  },
  get: async (step, stage) => void (await stage.msb.sandboxes.get(step["name"] as string)),
  run,
  create: async (step, stage) => {
    const image = (step["image"] as string | undefined) ?? stage.world.image;
    stage.keep(step, await stage.msb.sandboxes.create(image, sandboxOptions(step.options ?? {})));
  },
  fork: async (step, stage) => {
    const options = { snapshot: step["snapshot"] as string | undefined };
    const names = await stage.sandbox(step).fork(step["names"] as string[], options);
    for (const [index, name] of names.entries()) {
      const fork = await stage.msb.sandboxes.get(name);
      stage.keep(index === 0 ? step : { do: step.do }, fork);
    }
    return { count: names.length };
  },
  pause: async (step, stage) => stage.sandbox(step).pause(),
  unpause: async (step, stage) => stage.sandbox(step).unpause(),
  wait: async (step, stage) => ({ exit_code: (await stage.sandbox(step).wait()).code }),
  start: async (step, stage) => stage.sandbox(step).start(),
  close: async (step, stage) => stage.sandbox(step).close(),
  stop: async (step, stage) => ({ stopped: await stage.sandbox(step).stop() }),
  update: async (step, stage) => stage.sandbox(step).update({ cpus: step["cpus"] as number }),
  rename_sandbox: async (step, stage) => stage.sandbox(step).rename(step["name"] as string),
  remove_sandbox: async (step, stage) => stage.sandbox(step).remove(),
  logs: async (step, stage) => {
    const source = step["source"] as LogOptions["source"];
    return { data: await collect(stage.sandbox(step).logs({ source })) };
  },
  network_log: networkLog,
  secret_list: async (step, stage) => {
    const secrets = await stage.sandbox(step).secrets.list();
    return {
      names: secrets.map(({ name }) => name),
      sources: secrets.map(({ source }) => source),
      states: secrets.map(({ state }) => state),
    };
  },
  network_show: async (step, stage) => policyOf(await stage.sandbox(step).network.show()),
  network_allow: async (step, stage) => policyOf(await stage.sandbox(step).network.allow(step["rules"] as string[])),
  network_deny: async (step, stage) => policyOf(await stage.sandbox(step).network.deny(step["rules"] as string[])),
  network_remove: async (step, stage) => policyOf(await stage.sandbox(step).network.remove(step["rules"] as string[])),
  network_set: async (step, stage) => {
    const { mode, ...rules } = step["network"] as { mode: "outbound" | "listed" | "none" } & NetworkRules;
    const network = mode === "none" ? Network.none() : mode === "listed" ? Network.listed(rules) : Network.outbound(rules);
    return policyOf(await stage.sandbox(step).network.set(network));
  },
  secret_set: async (step, stage) => stage.sandbox(step).secrets.set(step["name"] as string, sourceOf(step)),
  secret_remove: async (step, stage) => stage.sandbox(step).secrets.remove(step["name"] as string),
  diff: async (step, stage) => changes(await stage.sandbox(step).diff({ paths: paths(step) })),
  diff_between: async (step, stage) =>
    changes(await stage.msb.diff(step["old"] as string, step["new"] as string, { paths: paths(step) })),
  apply,
  restage: async (step, stage) => {
    const changes = await stage.sandbox(step).restage({ dryRun: step["dry_run"] === true });
    return { changes: changes.map(({ kind, path }) => `${LETTERS[kind]} ${path}`) };
  },
  allow: async (step, stage) => {
    const { rule, letIn } = await stage.sandbox(step).allow(step["path"] as string, step["state"] as RuleState);
    return { rule, let_in: letIn };
  },
  ask: async (step, stage) => {
    const sandbox = stage.sandbox(step);
    const listeners = (step["listeners"] as number | undefined) ?? 1;
    const asked: Question[] = [];
    const onAsk = (question: Question): QuestionAnswer => {
      asked.push(question);
      if (step["answer"] === "fail") {
        throw new Error("the function fails");
      }
      return step["answer"] === "always" ? "always" : step["answer"] === "allow";
    };
    const answering: Answering[] = [];
    for (let number = 0; number < listeners; number += 1) {
      answering.push(await sandbox.onAsk(onAsk));
    }
    const output = await sandbox.exec(["msb-ask", step["path"] as string, step["reason"] as string]);
    // The process goes on with the first answer, whether the others were called by then or not.
    for (const end = Date.now() + 60_000; asked.length < listeners && Date.now() < end; ) {
      await sleep(50);
    }
    let failed = false;
    for (const one of answering) {
      if (step["answer"] === "fail") {
        await one.ended.catch(() => {
          failed = true;
        });
      }
      await one.close();
    }
    return {
      subject: asked[0]?.subject,
      reason: asked[0]?.reason,
      calls: asked.length,
      failed,
      exit_code: output.exitCode,
    };
  },
  commit: async (step, stage) => {
    const options = { message: step["message"] as string | undefined, changes: step["changes"] as string[] | undefined };
    const { layer, notes } = await stage.sandbox(step).commit(step["name"] as string, options);
    return { has_layer: layer !== null, notes };
  },
  snapshot_create: async (step, stage) => {
    const options = {
      message: step["message"] as string | undefined,
      freeze: step["freeze"] as boolean | undefined,
    };
    return { ...(await stage.sandbox(step).snapshots.create(step["name"] as string | undefined, options)) };
  },
  snapshot_get: async (step, stage) => ({ ...(await stage.sandbox(step).snapshots.get(step["name"] as string)) }),
  snapshot_list: async (step, stage) => ({
    names: (await stage.sandbox(step).snapshots.list()).map(({ name }) => name),
  }),
  snapshot_remove: async (step, stage) => stage.sandbox(step).snapshots.remove(step["name"] as string),
  snapshot_verify: async (step, stage) => {
    const verified = await stage.sandbox(step).snapshots.verify();
    const problems = verified.flatMap(({ problem }) => (problem === null ? [] : [problem]));
    return { names: verified.map(({ name }) => name).sort(), problems };
  },
  snapshot_export: async (step, stage) =>
    stage.sandbox(step).snapshots.export(step["name"] as string, step["path"] as string),
  import: async (step, stage) => {
    const options = { name: step["name"] as string };
    stage.keep(step, await stage.msb.sandboxes.importSnapshot(step["path"] as string, options));
  },
  snapshot_merge: async (step, stage) => void (await stage.sandbox(step).snapshots.merge()),
  rollback: async (step, stage) => {
    const { to, kept, restarted } = await stage.sandbox(step).rollback(step["name"] as string | undefined);
    return { to: to.name, kept: kept.name, restarted };
  },
  history: async (step, stage) => {
    const { commands } = await stage.sandbox(step).history({ changes: step["changes"] as boolean | undefined });
    return {
      numbers: commands.map(({ number }) => number),
      exit_codes: commands.map(({ exitCode }) => exitCode),
      snapshots: commands.map(({ snapshot }) => snapshot),
      undone: commands.map(({ undone }) => undone),
      changes: commands.map(({ changes }) => changes && [changes.added, changes.changed, changes.deleted]),
    };
  },
  undo: async (step, stage) => {
    const options = { dryRun: step["dry_run"] as boolean | undefined };
    const { commands, to, kept, restarted } = await stage.sandbox(step).undo(step["count"] as number | undefined, options);
    return { numbers: commands.map(({ number }) => number), to: to.name, kept: kept && kept.name, restarted };
  },
  image_tag: async (step, stage) => stage.msb.images.tag(step["name"] as string, step["to"] as string),
  image_save: async (step, stage) => stage.msb.images.save(step["name"] as string, step["path"] as string),
  image_history: async (step, stage) => ({
    comment: (await stage.msb.images.history(step["name"] as string))[0]?.comment,
  }),
  discard: async (step, stage) => {
    const options = { base: step["base"] as string | undefined, exclude: step["exclude"] as string[] | undefined };
    const discarded = await stage.sandbox(step).discard(paths(step), options);
    return { changes: discarded.map(({ kind, path }) => `${LETTERS[kind]} ${path}`) };
  },
  kill_during: killDuring,
  http_get: httpGet,
  listen: async (step, stage) => {
    const answer = step["answer"] as Data | undefined;
    stage.variables[String(step.as)] = await stage.listen(answer === undefined ? undefined : bytesOf(answer));
  },
  image_get: async (step, stage) => void (await stage.msb.images.get(step["name"] as string)),
  image_remove: async (step, stage) => stage.msb.images.remove(step["name"] as string),
  image_pull: async (step, stage) =>
    void (await stage.msb.images.pull(step["name"] as string, camelOptions(step.options ?? {}) as object)),
  volume_get: async (step, stage) => {
    const name = step["name"] as string;
    if (step["client"] === undefined) return void (await stage.msb.volumes.get(name));
    await using msb = new Msb(camelOptions(step["client"]) as MsbOptions);
    await msb.volumes.get(name);
  },
  volume_create: async (step, stage) => void (await stage.msb.volumes.create(step["name"] as string)),
  volume_remove: async (step, stage) => stage.msb.volumes.remove(step["name"] as string),
  client: async (step, stage) => {
    await using msb = new Msb(camelOptions(step.options ?? {}) as MsbOptions);
    await msb.sandboxes.create(stage.world.image, { pull: "never" });
  },
};
