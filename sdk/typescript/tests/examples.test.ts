/** The examples, run as their readers run them. The short form runs three of them. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";

import { openMsb, IS_LONG } from "./support/environment.js";
import { serveLayout, type Registry } from "./support/registry.js";

/** The output of each example. */
const OUTPUTS: Readonly<Record<string, RegExp>> = {
  "run-command": /^42\n\n$/,
  "stream-build": /^step 1\nstep 2\nstep 3\nexit code 0\n$/,
  "agent-sandbox": /^1\n\n$/,
  "files-in-and-out": /^5\n13\n\nin\.csv 9\nout\.txt 5\n5\n13\n\n$/,
  "server-and-port": /^hello from the sandbox\n\n$/,
  "no-network": /^no network\n$/,
  "allow-list": /^refused, as it is not listed\n$/,
  "volumes-and-caches": /^first run: nothing in the cache\nsecond run: 1\.2\.3\n$/,
  limits: /^command-timeout after: begun\n\noutput-limit after \d+ bytes\n$/,
  parallel: /^\[ '1a 1b', '2a 2b', '3a 3b' \]\n$/,
  "pull-progress": /^127\.0\.0\.1:\d+\/app:1: [1-9]\d* layers, ([1-9]\d*) of \1 bytes read\n$/,
  "step-back-and-branch": /^print\('one'\)\n\nC \/work\/app\.py\ndocker\.io\/library\/example:1\n$/,
  "staged-directory": /^\[ 'app\.py' \] \[ 'LICENSE=read-only' \]\nprint\('two'\)\n MIT\n\n$/,
  "cleaning-up": /^the owned sandbox is gone\nthe kept sandbox is removed\n$/,
};

/** The output of each example of docs/sdk-examples.md. */
const COMPARED: Readonly<Record<string, RegExp>> = {
  "root-oci": /^stdout: Hello from msb!\n\nstderr: \nexit code: 0\nuname: Linux .*\n\nos-release:\n/,
  "fs-read-stream": /^(chunk \d+: \d+ bytes\n)+10485760 bytes in all\n$/,
  "volume-named": /^hello from sandbox A\n\n$/,
  "net-ports": /^host: Hello from msb!\n\n$/,
  // Whether this host reaches the server is not known; a sandbox without a network does not.
  "net-policy": /^outbound: \w+\noutbound and a private range: \w+\nnone: FAIL\n$/,
  "logs-read": /^output: 4 entries\n( {2}\[\d.*Z\] std(out|err): .*\n){4}console: \d+ entries\nlast: .*line.*\n$/,
  "metrics-stream": /^(\[\d\] CPU: \d+\.\d%, memory: [1-9]\d* MB, disk: \d+\/\d+ bytes\n){5}$/,
};

const DIRECTORY = join(import.meta.dirname ?? ".", "../examples");

describe("examples", { concurrency: 1, timeout: 1_800_000 }, () => {
  let registry: Registry;

  before(async () => {
    await using _msb = await openMsb();
    registry = await serveLayout(process.env["SDK_TEST_IMAGE"] ?? "");
  });
  after(() => registry?.close());

  test("every example has an expected output", () => {
    for (const [directory, outputs] of [[DIRECTORY, OUTPUTS], [join(DIRECTORY, "compared"), COMPARED]] as const) {
      const examples = readdirSync(directory).filter((file) => file.endsWith(".js"));
      assert.deepEqual(examples.sort(), Object.keys(outputs).map((name) => `${name}.js`).sort());
    }
  });

  const compared = Object.entries(COMPARED).map(([name, output]) => [`compared/${name}`, output] as const);

  for (const [name, output] of [...Object.entries(OUTPUTS), ...compared]) {
    if (!IS_LONG && !["run-command", "staged-directory", "step-back-and-branch"].includes(name)) continue;
    test(name, async () => {
      // A pull needs a store without the image: each example of it has a home of its own.
      const home = name === "pull-progress" ? mkdtempSync(join(tmpdir(), "msb-home-")) : undefined;
      const image = name === "pull-progress" ? [`${registry.address}/app:1`] : [];
      const env = home === undefined ? process.env : { ...process.env, HOME: home };
      const example = spawn(process.execPath, [join(DIRECTORY, `${name}.js`), ...image], { env });
      const [stdout, stderr, code] = await Promise.all([
        text(example.stdout),
        text(example.stderr),
        new Promise((resolve) => example.once("exit", resolve)),
      ]);
      if (home !== undefined) rmSync(home, { recursive: true });
      assert.equal(code, 0, stdout + stderr);
      assert.match(stdout, output, stderr);
      if (name === "agent-sandbox") await removeAgent();
    });
  }
});

async function removeAgent(): Promise<void> {
  await using msb = await openMsb();
  await (await msb.sandboxes.get("agent")).remove({ force: true });
}
