/** The package as it is installed: module formats, the native loader, threads, the end of the process. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";

import * as asEsm from "msb-sdk";

const require = createRequire(import.meta.url);
const PACKAGE = dirname(require.resolve("msb-sdk/package.json"));

/** Runs a program of Node.js, and returns its end. */
function node(program: string, options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
  const cwd = options.cwd ?? dirname(dirname(PACKAGE));
  const env = { ...process.env, ...options.env };
  const ended = spawnSync(process.execPath, ["--input-type=commonjs", "--eval", program], {
    cwd,
    env,
    encoding: "utf8",
    timeout: 300_000,
  });
  return { status: ended.status, stdout: ended.stdout, stderr: ended.stderr };
}

test("import and require give the same classes", () => {
  const asCommonJs = require("msb-sdk") as typeof asEsm;
  assert.equal(asEsm.Msb, asCommonJs.Msb);
  assert.deepEqual(Object.keys(asEsm).filter((name) => !["default", "__esModule"].includes(name)).sort(), Object.keys(asCommonJs).sort());
});

test("the package has no install scripts", () => {
  const manifest = require("msb-sdk/package.json") as { scripts?: object };
  assert.equal(manifest.scripts, undefined);
});

test("without the platform package the error names the flag", () => {
  const directory = mkdtempSync(join(tmpdir(), "msb-omit-"));
  try {
    cpSync(PACKAGE, join(directory, "node_modules/msb-sdk"), { recursive: true });
    const program = 'try { new (require("msb-sdk").Msb)() } catch (e) { console.log(e.code, e.message, e.hint) }';
    const { stdout, status } = node(program, { cwd: directory });
    assert.equal(status, 0);
    assert.match(stdout, /^native-addon the package msb-sdk-linux-x64.* is not installed/);
    assert.match(stdout, /--omit=optional/);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("an addon that cannot be loaded is an error with the true cause", () => {
  const program = 'try { new (require("msb-sdk").Msb)() } catch (e) { console.log(e.code, e.message, e.hint) }';
  const { stdout } = node(program, { env: { MSB_NATIVE: join(PACKAGE, "package.json") } });
  assert.match(stdout, /^native-addon cannot load .*package\.json: .*(invalid ELF header|file too short)/);
  assert.match(stdout, /MSB_NATIVE/);
});

test("on a platform without an addon the error names the platform", () => {
  const program = `Object.defineProperty(process, "platform", { value: "sunos" });
    try { new (require("msb-sdk").Msb)() } catch (e) { console.log(e.name, e.code, e.message, e.hint !== null) }`;
  const { stdout } = node(program);
  assert.match(stdout, /^Unsupported unsupported msb-sdk does not support sunos-x64 true\n$/);
});

test("31: the addon needs glibc 2.34 and has no hypervisor", () => {
  const addon = require.resolve("msb-sdk-linux-x64/msb-sdk.node");
  const readelf = (...words: string[]) => spawnSync("readelf", [...words, addon], { encoding: "utf8", maxBuffer: 1 << 28 }).stdout;
  const minors = [...readelf("--version-info").matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor));
  assert.ok(minors.length > 0 && Math.max(...minors) <= 34, String(Math.max(...minors)));
  const needed = [...readelf("--dynamic").matchAll(/NEEDED.*\[(.*)\]/g)].map(([, library]) => library);
  const known = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"];
  assert.deepEqual(needed.filter((library) => !known.includes(library ?? "")), []);
  assert.ok(!readelf("--dyn-syms", "--wide").includes("krun_"));
});

test("the addon is found through a symbolic link to the package", () => {
  const directory = mkdtempSync(join(tmpdir(), "msb-link-"));
  try {
    symlinkSync(dirname(PACKAGE), join(directory, "node_modules"));
    assert.equal(node('new (require("msb-sdk").Msb)()', { cwd: directory }).stderr, "");
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("Node.js exits by itself with an open client", () => {
  const program = 'const m = new (require("msb-sdk").Msb)(); m.version().then((v) => console.log(v.msb))';
  const { status, stdout, stderr } = node(program);
  assert.deepEqual([status, stderr], [0, ""]);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
});

test("the process exits with a call under way, by process.exit and by an exception", () => {
  const begin = 'const m = new (require("msb-sdk").Msb)(); m.doctor().catch(() => {}); ';
  assert.deepEqual(node(`${begin} process.exit(3)`).status, 3);
  const thrown = node(`${begin} throw new Error("mine")`);
  assert.equal(thrown.status, 1);
  assert.match(thrown.stderr, /Error: mine/);
});

test("worker threads load the package and are terminated", () => {
  const worker = `const { Msb } = require("msb-sdk"); const m = new Msb();
    m.version().then(() => { m.doctor().catch(() => {}); require("node:worker_threads").parentPort.postMessage(1); });`;
  const count = process.env["SDK_TEST_LONG"] === "1" ? 100 : 10;
  const program = `const { Worker } = require("node:worker_threads");
    (async () => { for (let i = 0; i < ${count}; i++) {
      const w = new Worker(${JSON.stringify(worker)}, { eval: true });
      await new Promise((done, failed) => { w.once("message", done); w.once("error", failed); });
      await w.terminate();
    } console.log("done"); })();`;
  const { status, stdout, stderr } = node(program);
  assert.deepEqual([status, stdout, stderr], [0, "done\n", ""]);
});

test("the command msb runs the program of the platform package", () => {
  const shim = join(dirname(PACKAGE), ".bin/msb");
  const ended = spawnSync(shim, ["version", "--format", "json"], { encoding: "utf8" });
  assert.equal(ended.status, 0, ended.stderr);
  assert.match((JSON.parse(ended.stdout) as { msb: string }).msb, /^\d/);
  assert.equal(spawnSync(shim, ["inspect", "no-such-sandbox"]).status, 125);
});
