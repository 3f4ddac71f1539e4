#!/usr/bin/env node
"use strict";
// Runs the program msb of the platform package with the same arguments.

const { spawn } = require("node:child_process");
const { existsSync } = require("node:fs");
const { constants } = require("node:os");
const { dirname, join } = require("node:path");

const SIGNALS = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGWINCH"];

/** Returns the path of the program; `undefined` if the package of this platform is not installed. */
function program() {
  try {
    const manifest = require.resolve(`msb-sdk-${process.platform}-${process.arch}/package.json`);
    const path = join(dirname(manifest), "bin", "msb");
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

const path = program();
if (path === undefined) {
  console.error(
    `msb: the package msb-sdk-${process.platform}-${process.arch} is not installed\n` +
      "hint: install msb-sdk without --omit=optional (--no-optional), on Linux with x86-64",
  );
  process.exit(125);
}
const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
for (const signal of SIGNALS) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`msb: cannot run ${path}: ${error.message}`);
  process.exit(125);
});
child.on("exit", (code, signal) => {
  process.exit(code ?? 128 + constants.signals[signal]);
});
