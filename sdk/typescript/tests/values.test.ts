/** Arguments of wrong types, and objects that stand for their names; without a machine. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Readable } from "node:stream";

import { internal } from "./support/internal.js";

const { bytesOf, chunksOf } = internal<typeof import("../dist/content.js")>("content");
const { nameOf, sideOf } = internal<typeof import("../dist/names.js")>("names");
const { argumentsOf } = internal<typeof import("../dist/arguments.js")>("arguments");
const { sandboxParameters } = internal<typeof import("../dist/sandbox_options.js")>("sandbox_options");

test("content is text or bytes, and nothing else", () => {
  assert.deepEqual(bytesOf("ä"), new Uint8Array([195, 164]));
  assert.deepEqual(bytesOf(new Uint8Array([1, 2]).buffer), new Uint8Array([1, 2]));
  assert.deepEqual(bytesOf(new DataView(new Uint8Array([1, 2, 3]).buffer, 1)), new Uint8Array([2, 3]));
  for (const wrong of [5, [65], null, {}]) {
    assert.throws(() => bytesOf(wrong as unknown as string), { name: "TypeError", message: /must be a string/ });
  }
});

test("content is read piece by piece", async () => {
  const read = async (data: Parameters<typeof chunksOf>[0]): Promise<string> => {
    const pieces: Uint8Array[] = [];
    for await (const piece of chunksOf(data)) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  };
  assert.equal(await read(["a", new Uint8Array([98])]), "ab");
  assert.equal(await read(Readable.from([Buffer.from("node "), "stream"])), "node stream");
  assert.equal(await read(new Blob(["web"]).stream()), "web");
  await assert.rejects(read(7 as unknown as string), { name: "TypeError" });
});

test("text is no command, and a number no argument", () => {
  assert.throws(() => argumentsOf("ls -l" as unknown as string[]), { code: "invalid-argument", hint: /shell\(\)/ });
  assert.throws(() => argumentsOf(["echo", 5] as unknown as string[]), { name: "TypeError", message: /not number/ });
});

test("objects stand for their names", () => {
  const snapshot = { sandbox: "web", name: "ready" };
  assert.equal(nameOf(snapshot), "ready");
  assert.equal(sideOf(snapshot), "web@ready");
  assert.equal(sideOf({ name: "web" }), "web");
  assert.equal(sideOf({ digest: "sha256:1" }), "sha256:1");
  assert.throws(() => nameOf(7 as unknown as string), { name: "TypeError" });
});

test("ports are taken as docker takes them", () => {
  const parameters = sandboxParameters("alpine", { ports: { "80/tcp": 8080, "53/udp": null }, user: 1000 });
  assert.deepEqual((parameters as { ports: unknown }).ports, [
    { guestPort: 80, hostPort: 8080, protocol: "tcp" },
    { guestPort: 53, hostPort: 0, protocol: "udp" },
  ]);
  assert.equal((parameters as { user: unknown }).user, "1000");
  assert.throws(() => sandboxParameters("alpine", { ports: { http: 80 } }), { code: "invalid-argument" });
});
