/** The behaviours of sdk/conformance in TypeScript. Each of them is reported under its id. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";

import type { Msb } from "msb-sdk";

import { bytesOf, fill, readBehaviours, sandboxOptions, type Behaviour } from "./conformance/data.js";
import { checkError, checkResult } from "./conformance/expectations.js";
import { perform, Stage, type World } from "./conformance/steps.js";
import { IMAGE, openMsb, uniqueName } from "./support/environment.js";

const data = readBehaviours();
const reported = new Set<string>();

describe("conformance", { concurrency: 1 }, () => {
  let msb: Msb;
  let world: World;
  const host = mkdtempSync(join(tmpdir(), "msb-conformance-"));

  before(async () => {
    const variables = { host, sandbox: uniqueName("conformance"), volume: uniqueName("volume"), image: IMAGE };
    for (const file of fill(data.files, variables)) {
      mkdirSync(dirname(file.path), { recursive: true });
      writeFileSync(file.path, bytesOf(file.data));
    }
    msb = await openMsb();
    const options = (of: { options: Record<string, unknown> }) => sandboxOptions(fill(of.options, variables));
    const [main, finished] = await Promise.all([
      msb.sandboxes.run(IMAGE, options(data.main)),
      msb.sandboxes.create(IMAGE, options(data.finished)).then(async (sandbox) => {
        await sandbox.start();
        await sandbox.wait();
        return sandbox;
      }),
    ]);
    world = { msb, image: IMAGE, variables, sandboxes: new Map(Object.entries({ main, finished })) };
  });

  after(async () => {
    await world?.sandboxes.get("finished")?.remove();
    await world?.sandboxes.get("main")?.close();
    if (world !== undefined) await msb.volumes.remove(String(world.variables["volume"]));
    await msb?.close();
    rmSync(host, { recursive: true });
  });

  for (const behaviour of data.behaviours) {
    test(behaviour.id, { timeout: 600_000 }, async () => {
      reported.add(behaviour.id);
      await check(behaviour, world);
    });
  }

  test("every behaviour is reported", () => {
    assert.deepEqual([...reported].sort(), data.behaviours.map(({ id }) => id).sort());
  });
});

async function check(behaviour: Behaviour, world: World): Promise<void> {
  const guest = `/tmp/${behaviour.id}`;
  const host = join(String(world.variables["host"]), behaviour.id);
  mkdirSync(host, { recursive: true });
  const stage = new Stage(world, { guest, host, unique: uniqueName(behaviour.id) });
  await world.sandboxes.get("main")?.files.mkdir(guest, { parents: true });
  try {
    for (const [index, template] of behaviour.steps.entries()) {
      const step = fill(template, stage.variables);
      const name = `step ${index + 1}, ${step.do}`;
      if (step.error === undefined) {
        checkResult(await perform(step, stage), step.expect ?? {});
      } else {
        const error = await perform(step, stage).then(
          () => assert.fail(`${name} succeeded`),
          (error: unknown) => error,
        );
        checkError(error, step.error);
      }
    }
  } finally {
    await stage.close();
  }
}
