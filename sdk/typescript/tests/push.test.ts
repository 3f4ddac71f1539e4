/** Pushes and logins of an image, without a machine. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";

import { Msb, Unauthorized, type PushEvent } from "msb-sdk";

import { PushRegistry } from "./support/push_registry.js";
import { serveLayout, type Registry } from "./support/registry.js";

describe("an image that was pulled", () => {
  const home = mkdtempSync(join(tmpdir(), "msb-pushed-"));
  const msb = new Msb({ home });
  let origin: Registry;
  let target: PushRegistry;

  before(async () => {
    origin = await serveLayout(process.env["SDK_TEST_IMAGE"] ?? "");
    const image = await msb.images.pull(`${origin.address}/pulled:1`);
    await msb.images.tag(image.digest, "app:1");
  });
  beforeEach(async () => {
    target?.close();
    target = await PushRegistry.open();
  });
  after(async () => {
    await msb.close();
    origin?.close();
    target?.close();
    rmSync(home, { recursive: true });
  });

  test("the progress of a push leads to its end", async () => {
    const to = `${target.address}/app:1`;
    const push = msb.images.push("app:1", { to });
    const events: PushEvent[] = [];
    for await (const event of push.progress) events.push(event);
    const pushed = await push;

    const [first, last] = [events[0], events.at(-1)];
    assert.ok(first?.type === "image");
    const sizes = new Map(first.layers.map(({ diffId, sizeBytes }) => [diffId, sizeBytes]));
    assert.deepEqual(last, { type: "done", digest: pushed.digest });
    const routes = events.flatMap((event) => (event.type === "layer-done" ? [[event.diffId, event.route]] : []));
    assert.deepEqual(Object.fromEntries(routes), Object.fromEntries([...sizes.keys()].map((layer) => [layer, "streamed"])));
    const positions = events.flatMap((event) => (event.type === "layer-position" ? [event] : []));
    assert.ok(positions.length > 0);
    assert.ok(positions.every(({ diffId, positionBytes }) => positionBytes <= (sizes.get(diffId) ?? 0)));

    assert.equal(pushed.digest, pushed.sourceDigest);
    assert.deepEqual(target.manifests.get("1"), target.manifests.get(pushed.digest));
    assert.ok(pushed.layers.every((layer) => target.blobs.get(layer.digest)?.length === layer.sizeBytes));
    const again = await msb.images.push("app:1", { to });
    assert.deepEqual([again.uploadedBytes, ...new Set(again.layers.map(({ route }) => route))], [0, "present"]);
  });

  test("a push that is aborted or disposed of publishes nothing", async () => {
    let release = (): void => undefined;
    target.held = new Promise((resolve) => (release = resolve));
    const to = `${target.address}/app:1`;
    {
      await using push = msb.images.push("app:1", { to });
      for await (const event of push.progress) {
        if (event.type === "layer-position") break;
      }
    }
    await assert.rejects(async () => msb.images.push("app:1", { to, signal: AbortSignal.timeout(500) }), { name: "TimeoutError" });
    release();
    assert.equal(target.manifests.size, 0);
  });

  test("a login opens a registry until the logout", async () => {
    const docker = join(home, "docker");
    const config = process.env["DOCKER_CONFIG"];
    process.env["DOCKER_CONFIG"] = docker;
    target.login = "me:secret";
    const [registry, to] = [target.address, `${target.address}/app:1`];
    try {
      await assert.rejects(async () => msb.images.push("app:1", { to }), Unauthorized);
      const guessed = msb.images.login({ registry, username: "me", password: "guessed" });
      await assert.rejects(guessed, (error) => error instanceof Unauthorized && !String(error).includes("guessed"));
      assert.ok(!existsSync(join(docker, "config.json")));
      const kept = await msb.images.login({ registry, username: "me", password: "secret" });
      assert.deepEqual([kept.isChecked, kept.file], [true, join(docker, "config.json")]);
      const { digest } = await msb.images.push("app:1", { to });
      assert.ok(target.manifests.has(digest));
      assert.equal(await msb.images.logout(registry), true);
      assert.equal(await msb.images.logout(registry), false);
      await assert.rejects(async () => msb.images.push("app:1", { to }), Unauthorized);
    } finally {
      if (config === undefined) delete process.env["DOCKER_CONFIG"];
      else process.env["DOCKER_CONFIG"] = config;
    }
  });
});
