import assert from "node:assert/strict";
import { test } from "node:test";

import * as msb from "msb-sdk";

import { internal } from "./support/internal.js";

const { errorOf } = internal<typeof import("../dist/failure.js")>("failure");

const failure = (fields: object) =>
  JSON.stringify({ kind: "", parents: [], code: "x", message: "m", hint: null, details: {}, causes: [], ...fields });

test("every kind has a class with its code", () => {
  for (const [name, kind] of Object.entries(msb.ERROR_CLASSES)) {
    const error = new kind("message");
    assert.equal(error.name, name);
    assert.match(error.code, /^[a-z]+(-[a-z]+)*$/);
    assert.ok(error instanceof msb.MsbError && error instanceof Error);
  }
  assert.equal(new msb.SandboxNotFound("").code, "sandbox-not-found");
  assert.ok(new msb.SandboxNotFound("") instanceof msb.NotFound);
  assert.equal(Object.keys(msb.ERROR_CLASSES).length, 39);
});

test("a failure has its class, fields, output and causes", () => {
  const text = failure({
    kind: "CommandTimeout",
    parents: ["CommandError"],
    code: "command-timeout",
    hint: "wait",
    details: { limit_ms: 5 },
    causes: ["outer", "inner"],
  });
  const error = errorOf(text, [Buffer.from("out"), Buffer.from("err")]);
  assert.ok(error instanceof msb.CommandTimeout);
  assert.equal(error.code, "command-timeout");
  assert.equal(error.hint, "wait");
  assert.deepEqual(error.details, { limitMs: 5 });
  assert.equal(Buffer.from(error.stdout).toString() + Buffer.from(error.stderr).toString(), "outerr");
  assert.equal((error.cause as Error).message, "outer");
  assert.equal(((error.cause as Error).cause as Error).message, "inner");
});

test("a kind that is not known is its nearest known parent", () => {
  assert.ok(errorOf(failure({ kind: "New", parents: ["Busy"] }), []) instanceof msb.Busy);
  assert.ok(errorOf(failure({ kind: "New", parents: ["AlsoNew"] }), []) instanceof msb.InternalError);
});

test("an error of a machine has its last words", () => {
  const error = errorOf(failure({ kind: "MachineFailed", details: { last_words: ["a", "b"] } }), []);
  assert.deepEqual((error as msb.MachineFailed).lastWords, ["a", "b"]);
});
