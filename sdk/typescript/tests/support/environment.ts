/** The environment of tests with a machine. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

import { ImageNotFound, Msb, type MsbOptions, type Sandbox } from "msb-sdk";

/** The name of the test image: a Debian with Python. */
export const IMAGE = "python:3-slim";

/** True in the long form of the tests. */
export const IS_LONG = process.env["SDK_TEST_LONG"] === "1";

/** Options of small sandboxes. */
export const SMALL = { memory: "512M", cpus: 1, pull: "never" } as const;

/** Returns a client whose store has the test image. */
export async function openMsb(options: MsbOptions = {}): Promise<Msb> {
  const msb = new Msb(options);
  try {
    await msb.images.get(IMAGE);
  } catch (error) {
    if (!(error instanceof ImageNotFound)) throw error;
    const layout = process.env["SDK_TEST_IMAGE"];
    assert.ok(layout, "SDK_TEST_IMAGE does not name an OCI layout");
    await msb.images.load(layout, { tag: IMAGE });
  }
  return msb;
}

/** Waits until a command in the sandbox prints something, for at most `timeoutMs`. */
export async function eventually(sandbox: Sandbox, text: string, expected: string, timeoutMs = 60_000): Promise<void> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const output = await sandbox.shell(text);
    if (output.text() === expected) return;
    assert.ok(Date.now() < end, `${text} printed ${JSON.stringify(output.text())}, not ${JSON.stringify(expected)}`);
    await sleep(50);
  }
}

/** Returns a name that no other test uses. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${process.pid}-${Math.trunc(performance.now() * 1000)}`;
}
