/** The life of sandboxes: scopes, owners, ends, and the event loop meanwhile. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, test } from "node:test";
import { Worker } from "node:worker_threads";

import { Msb, SandboxEnded, SandboxNotFound } from "msb-sdk";

import { IMAGE, IS_LONG, SMALL, openMsb, uniqueName } from "./support/environment.js";
import { holds } from "./support/process.js";
import { serveLayout } from "./support/registry.js";

/** Waits until no sandbox has this name, for at most `timeoutMs`. */
async function isGone(msb: Msb, name: string, timeoutMs = 60_000): Promise<void> {
  for (const end = Date.now() + timeoutMs; Date.now() < end; await sleep(50)) {
    if ((await msb.sandboxes.list({ name })).length === 0) return;
  }
  assert.fail(`the sandbox ${name} still exists`);
}

/** Starts a ticker of 5 ms in a thread of its own; the function returns its largest gap in milliseconds. */
function referenceTicker(): () => Promise<number> {
  const code = `let last = performance.now(), largest = 0;
    setInterval(() => { const now = performance.now(); largest = Math.max(largest, now - last); last = now; }, 5);
    require("node:worker_threads").parentPort.on("message", () => { require("node:worker_threads").parentPort.postMessage(largest); });`;
  const worker = new Worker(code, { eval: true });
  worker.unref();
  return async () => {
    worker.postMessage("end");
    const [largest] = (await once(worker, "message")) as [number];
    await worker.terminate();
    return largest;
  };
}

/** Starts a ticker of 5 ms in this thread; the function returns its largest gap in milliseconds. */
function ticker(): () => number {
  let [last, largest] = [performance.now(), 0];
  const timer = setInterval(() => {
    const now = performance.now();
    [largest, last] = [Math.max(largest, now - last), now];
  }, 5).unref();
  return () => {
    clearInterval(timer);
    return largest;
  };
}

/**
 * Runs `body`, and again if the event loop stood still meanwhile: a busy machine may delay one run, and a call that
 * blocks the loop delays each. Fails if it stood still in all of five runs.
 */
async function expectLoopRuns(body: () => Promise<void>): Promise<void> {
  const gaps: string[] = [];
  for (let run = 0; run < 5; run++) {
    const reference = referenceTicker();
    const largestGap = ticker();
    let noise = 0;
    let largest = 0;
    try {
      await body();
    } finally {
      largest = largestGap();
      noise = await reference();
    }
    // A busy machine delays both tickers.
    if (largest < 250 || largest < 3 * noise) return;
    gaps.push(`${largest} ms; another thread, ${noise} ms`);
  }
  assert.fail(`the event loop stood still for ${gaps.join(", then ")}`);
}

/** Returns the ids of the processes that name this home, and of this process's children. */
function processes(home: string): string[] {
  const listed = spawnSync("ps", ["-eo", "pid=,ppid=,stat=,args="], { encoding: "utf8" }).stdout.split("\n");
  const words = listed.map((line) => line.trim().split(/\s+/));
  const ours = words.filter(([, parent, , program]) => parent === String(process.pid) && program !== "ps");
  const homes = words.filter((line) => line.includes(home));
  return [...ours, ...homes].map(([pid]) => pid ?? "").sort();
}

describe("lifecycle", { concurrency: 1, timeout: 1_800_000 }, () => {
  test("13, 18, 19: a machine that is killed ends every call, and the event loop never waits", async () => {
    await using msb = await openMsb();
    const name = uniqueName("killed");
    await expectLoopRuns(async () => {
      await using sandbox = await msb.sandboxes.run(IMAGE, { ...SMALL, name });
      const [waited, read] = [await sandbox.spawn(["sleep", "600"]), await sandbox.spawn(["sleep", "600"])];
      const drained = (async () => {
        for await (const _ of read);
      })();
      const calls = [sandbox.exec(["sh", "-c", "touch /tmp/runs; exec sleep 600"]), waited.wait(), drained];
      const ends = Promise.allSettled(calls);
      const isThere = async () => (await sandbox.exec(["test", "-e", "/tmp/runs"])).exitCode === 0;
      for (const end = Date.now() + 60_000; !(await isThere()); await sleep(50)) {
        assert.ok(Date.now() < end, "the command does not start");
      }
      await sandbox.kill();
      for (const end of await ends) {
        assert.equal(end.status, "rejected");
        assert.ok(end.reason instanceof SandboxEnded, String(end.reason));
      }
    });
    await assert.rejects(msb.sandboxes.get(name), SandboxNotFound);
  });

  test("13: the event loop never waits during a pull", async () => {
    const home = mkdtempSync(join(tmpdir(), "msb-pulled-"));
    const registry = await serveLayout(process.env["SDK_TEST_IMAGE"] ?? "");
    try {
      await using msb = new Msb({ home });
      await expectLoopRuns(async () => {
        const image = await msb.images.pull(`${registry.address}/pulled:1`);
        assert.match(image.digest, /^sha256:/);
        await msb.images.remove(`${registry.address}/pulled:1`);
      });
    } finally {
      registry.close();
      rmSync(home, { recursive: true });
    }
  });

  test("2, 18: nothing is left after many sandboxes, and an error of the body comes out of the scope", async () => {
    // Other tests run beside this one, in another home.
    const home = mkdtempSync(join(tmpdir(), "msb-many-"));
    try {
      await using msb = await openMsb({ home });
      const found = () => JSON.stringify([processes(home), readdirSync(join(home, "sandboxes"))]);
      await (await msb.sandboxes.create(IMAGE, SMALL)).remove();
      const before = found();
      for (let run = 0; run < (IS_LONG ? 20 : 2); run++) {
        await assert.rejects(
          async () => {
            await using sandbox = await msb.sandboxes.run(IMAGE, SMALL);
            assert.equal((await sandbox.exec(["true"])).exitCode, 0);
            if (run === 0) {
              await sandbox.close();
              await sandbox.close();
            }
            throw new Error("of the body");
          },
          { message: "of the body" },
        );
      }
      assert.ok(await holds(() => found() === before, 60_000), `${before} became ${found()}`);
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  test("6, 18: a sandbox that is garbage, or whose owner is killed, is removed", async () => {
    await using msb = await openMsb();
    const names = [uniqueName("garbage"), uniqueName("orphan")];
    const program = `const { Msb } = require("msb-sdk"); const msb = new Msb();
      process.on("warning", (warning) => console.log(warning.name, warning.message));
      const run = (name) => msb.sandboxes.run("${IMAGE}", { name, memory: "512M", cpus: 1, pull: "never" });
      (async () => {
        await run("${names[0]}");
        globalThis.kept = await run("${names[1]}");
        setInterval(() => globalThis.gc(), 50);
      })();`;
    const child = spawn(process.execPath, ["--expose-gc", "--input-type=commonjs", "--eval", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      let printed = "";
      while (!printed.includes(names[0] ?? "")) {
        const [text] = (await once(child.stdout, "data")) as [Buffer];
        printed += text.toString();
      }
      assert.match(printed, /ResourceWarning the sandbox garbage-\S+ was not closed/);
      await isGone(msb, names[0] ?? "");
      for (let found = 0; found === 0; await sleep(50)) {
        found = (await msb.sandboxes.list({ name: names[1], state: "running" })).length;
      }
    } finally {
      child.kill("SIGKILL");
    }
    await isGone(msb, names[1] ?? "");
  });

  test("7: an abort during run leaves nothing", async () => {
    await using msb = await openMsb();
    for (let point = 0; point < (IS_LONG ? 10 : 3); point++) {
      const name = uniqueName("aborted");
      const signal = AbortSignal.timeout(1 + 150 * point);
      const sandbox = await msb.sandboxes.run(IMAGE, { ...SMALL, name, signal }).catch((error: unknown) => {
        assert.equal((error as Error).name, "TimeoutError");
      });
      // A fast guest is up before the last points.
      await sandbox?.close();
      await isGone(msb, name);
    }
  });
});
