/** Commands in a machine: what they leave, how they are killed, how their output is bounded. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";

import { OutputLimit, type Msb, type Sandbox } from "msb-sdk";

import { IMAGE, IS_LONG, SMALL, eventually, openMsb } from "./support/environment.js";
import { held, holds, memoryRise, residentBytes } from "./support/process.js";

const MIB = 1 << 20;

/** Prints the names of the guest's processes, without those of its kernel, which come and go. */
const PROCESSES = `import glob
for path in glob.glob("/proc/[0-9]*/stat"):
    try: text = open(path).read()
    except OSError: continue
    name, rest = text.rsplit(")", 1)
    if rest.split()[1] != "2" and name != "2 (kthreadd": print(name.split("(", 1)[1])`;

/** Time after which threads that wait for work have ended. */
const IDLE_MS = 60_000;

describe("commands", { concurrency: 1, timeout: 1_800_000 }, () => {
  let msb: Msb;
  let sandbox: Sandbox;

  before(async () => {
    msb = await openMsb();
    sandbox = await msb.sandboxes.run(IMAGE, SMALL);
  });
  after(async () => {
    await msb?.close();
  });

  /** Returns the names of the guest's processes, in order. */
  const guestProcesses = async () => {
    const output = await sandbox.exec(["python3", "-c", PROCESSES]);
    return output.text().split("\n").sort();
  };

  test("1: commands leave no descriptor, thread or guest process", async () => {
    const [warm, count] = IS_LONG ? [50, 1000] : [20, 100];
    for (let i = 0; i < warm; i++) await sandbox.exec(["true"]);
    const [before, beforeBytes, guestBefore] = [held(), await residentBytes(), await guestProcesses()];
    for (let i = 0; i < count; i++) await sandbox.exec(["true"]);
    assert.ok((await residentBytes()) - beforeBytes < 8 * MIB);
    // The agent collects what has ended a moment after its answer.
    const isAsBefore = async () => isDeepStrictEqual(await guestProcesses(), guestBefore);
    assert.ok(await holds(isAsBefore, 60_000), `${guestBefore.join(" ")} became ${(await guestProcesses()).join(" ")}`);
    const isReleased = () => held().descriptors === before.descriptors && held().threads <= before.threads;
    assert.ok(await holds(isReleased, IDLE_MS), `${JSON.stringify(before)} became ${JSON.stringify(held())}`);
  });

  test("3: an abort kills the command in the guest", async () => {
    for (let i = 0; i < (IS_LONG ? 50 : 5); i++) {
      const controller = new AbortController();
      const call = sandbox.exec(["sleep", `6${i}.31`], { signal: controller.signal });
      await eventually(sandbox, `pgrep -fc 'sleep 6${i}[.]31'`, "1\n");
      controller.abort();
      await assert.rejects(call, { name: "AbortError" });
      await eventually(sandbox, `pgrep -fc 'sleep 6${i}[.]31'`, "0\n");
    }
  });

  test("3: leaving an iteration kills the command", async () => {
    const process = await sandbox.spawn(["sh", "-c", "while :; do echo 632.1; sleep 0.1; done"]);
    for await (const { stream } of process) {
      assert.equal(stream, "stdout");
      break;
    }
    await eventually(sandbox, "pgrep -fc 'echo 632[.]1'", "0\n");
  });

  test("3: an abort of spawn's signal ends the iteration with its reason", async () => {
    const controller = new AbortController();
    const process = await sandbox.spawn(["sh", "-c", "echo ready; sleep 633"], { signal: controller.signal });
    await assert.rejects(
      async () => {
        for await (const _ of process) controller.abort(new Error("my reason"));
      },
      { message: "my reason" },
    );
    await eventually(sandbox, "pgrep -fc 'sleep 63[3]'", "0\n");
  });

  test("3: a signal that is aborted already begins nothing", async () => {
    const signal = AbortSignal.abort();
    await assert.rejects(sandbox.exec(["touch", "/tmp/begun"], { signal }), { name: "AbortError" });
    assert.equal(await sandbox.files.exists("/tmp/begun"), false);
  });

  test("9: output that is streamed, and a file that is written, take little memory", async () => {
    const sizeMib = IS_LONG ? 100 : 20;
    const risen = await memoryRise(async () => {
      let bytes = 0;
      const process = await sandbox.spawn(["head", "-c", `${sizeMib}M`, "/dev/zero"]);
      for await (const { data } of process) bytes += data.length;
      assert.equal(bytes, sizeMib * MIB);
      await using input = await sandbox.spawn(["wc", "-c"], { stdin: true });
      const writer = input.stdin.getWriter();
      const chunk = new Uint8Array(64 << 10);
      for (let i = 0; i < sizeMib * 16; i++) await writer.write(chunk);
      await writer.close();
      for await (const { data } of input) assert.equal(Buffer.from(data).toString(), `${sizeMib * MIB}\n`);
    });
    assert.ok(risen < 32 * MIB, `the resident memory rose by ${risen} bytes`);
  });

  test("9: a reader that stops reading stops the writer", async () => {
    const script = "i=0; while :; do head -c 65536 /dev/zero; i=$((i+1)); echo $i > /tmp/written; done";
    await using process = await sandbox.spawn(["sh", "-c", script]);
    const output = process[Symbol.asyncIterator]();
    await output.next();
    const written = async () => (await sandbox.shell("cat /tmp/written")).text();
    let [before, now] = ["", await written()];
    // The writer fills what lies between it and the reader, and stops then.
    for (let i = 0; i < 100 && before !== now; i++) {
      await sandbox.shell("sleep 0.5");
      [before, now] = [now, await written()];
    }
    assert.equal(before, now);
  });

  test("10: output beyond the limit is an error that takes little memory", async () => {
    const risen = await memoryRise(async () => {
      const call = sandbox.shell(IS_LONG ? "head -c 10G /dev/zero" : "head -c 200M /dev/zero");
      await assert.rejects(call, (error) => error instanceof OutputLimit && error.stdout.length <= 32 * MIB);
    });
    assert.ok(risen < 96 * MIB, `the resident memory rose by ${risen} bytes`);
  });

  test("11: many commands run at once", async () => {
    const count = IS_LONG ? 300 : 64;
    const calls = Array.from({ length: count }, (_, i) => sandbox.exec(["echo", `${i}`]));
    const outputs = await Promise.all(calls);
    assert.deepEqual(outputs.map((output) => output.text()), Array.from({ length: count }, (_, i) => `${i}\n`));
  });

  test("17: processes of Node.js end as ever beside the SDK's own", async () => {
    await Promise.all([
      sandbox.exec(["sleep", "0.5"]),
      ...Array.from({ length: 5 }, async (_, i) => {
        assert.equal(spawnSync("sh", ["-c", `exit ${i}`]).status, i);
      }),
    ]);
  });

  test("20: a command that ends before it has read its input is no crash", async () => {
    await using process = await sandbox.spawn(["true"], { stdin: true });
    const writer = process.stdin.getWriter();
    await process.wait();
    await assert.rejects(async () => {
      for (let i = 0; i < 100; i++) await writer.write(new Uint8Array(64 << 10));
    });
  });

  test("stdout and stderr are read as streams", async () => {
    await using process = await sandbox.spawn(["sh", "-c", "echo out; echo err >&2; cat"], { stdin: true });
    const writer = process.stdin.getWriter();
    await writer.write(Buffer.from("input\n"));
    await writer.close();
    const texts = [process.stdout, process.stderr].map((stream) => new Response(stream).text());
    assert.deepEqual(await Promise.all(texts), ["out\ninput\n", "err\n"]);
    assert.equal((await process.wait()).code, 0);
  });

  test("files are read and written as streams", async () => {
    const data = Buffer.alloc(3 * MIB, "0123456789abcdef");
    await sandbox.files.write("/tmp/stream", data);
    const read = await new Response(sandbox.files.readStream("/tmp/stream")).arrayBuffer();
    assert.ok(data.equals(new Uint8Array(read)));
    const archive = await new Response(sandbox.files.getTar("/tmp/stream")).arrayBuffer();
    await sandbox.files.mkdir("/tmp/unpacked");
    await sandbox.files.putTar(new Uint8Array(archive), "/tmp/unpacked");
    assert.equal((await sandbox.exec(["cmp", "/tmp/stream", "/tmp/unpacked/stream"])).exitCode, 0);
  });
});
