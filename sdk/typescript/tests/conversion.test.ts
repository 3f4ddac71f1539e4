import assert from "node:assert/strict";
import { test } from "node:test";

import { Mount } from "msb-sdk";

import { internal } from "./support/internal.js";

const { fromNative, toNative } = internal<typeof import("../dist/conversion.js")>("conversion");

test("names become snake case, and undefined fields are left out", () => {
  const options = { timeoutMs: 5, maxOutput: undefined, tty: { rows: 1, cols: 2 }, mounts: [{ readOnly: true }] };
  assert.deepEqual(toNative(options), { timeout_ms: 5, tty: { rows: 1, cols: 2 }, mounts: [{ read_only: true }] });
});

test("a staged directory is written with the names of the Rust SDK", () => {
  const rules = ["target=hide", { path: "docs", state: "read-only" }, { path: new Uint8Array([255]), state: "deny" }] as const;
  const mount = Mount.staged(new URL("file:///a"), "/b", { rules, defaultRules: false });
  assert.deepEqual(toNative(mount), {
    type: "staged",
    source: "/a",
    target: "/b",
    read_only: false,
    rules: ["target=hide", { path: "docs", state: "read-only" }, { path: { bytes: "/w==" }, state: "deny" }],
    default_rules: false,
  });
  assert.deepEqual(toNative(Mount.bind("/a", "/b")), { type: "bind", source: "/a", target: "/b", read_only: false });
});

test("names of the user stay as they are", () => {
  assert.deepEqual(toNative({ env: { someName: "x" }, labels: { aB: "y" } }), {
    env: { someName: "x" },
    labels: { aB: "y" },
  });
  assert.deepEqual(fromNative({ labels: { a_b: "y" }, created_s: 1 }), { labels: { a_b: "y" }, createdS: 1 });
});

test("bytes become their form in JSON, also as values of variables", () => {
  const bytes = new Uint8Array([255, 0]);
  assert.deepEqual(toNative({ argv: ["a", bytes] }), { argv: ["a", { bytes: "/wA=" }] });
  assert.deepEqual(toNative({ env: { A: bytes } }), { env: { A: { bytes: "/wA=" } } });
});

test("text that is not UTF-8 has its bytes beside it", () => {
  const info = fromNative([{ name: { bytes: "/2E=" }, size_bytes: 3 }]);
  assert.deepEqual(info, [{ name: "\ufffda", nameBytes: new Uint8Array([255, 97]), sizeBytes: 3 }]);
  assert.deepEqual(fromNative({ argv: ["sh", { bytes: "/w==" }] }), { argv: ["sh", "\ufffd"] });
});

test("a file URL is a path", () => {
  assert.deepEqual(toNative({ home: new URL("file:///a%20b") }), { home: "/a b" });
});

test("a signal of the system is a parameter, an abort signal is not", () => {
  assert.deepEqual(toNative({ signal: 15 }), { signal: 15 });
  assert.deepEqual(toNative({ signal: AbortSignal.abort(), cwd: "/" }), { cwd: "/" });
});
