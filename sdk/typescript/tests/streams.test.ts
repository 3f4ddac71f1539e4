import assert from "node:assert/strict";
import { test } from "node:test";

import type { OutputEvent } from "msb-sdk";

import { internal } from "./support/internal.js";

const { Demultiplexer } = internal<typeof import("../dist/demultiplexer.js")>("demultiplexer");

function source(events: readonly [OutputEvent["stream"], string][]) {
  const left = [...events];
  const counted = { requests: 0 };
  const next = async (): Promise<OutputEvent | undefined> => {
    counted.requests += 1;
    const event = left.shift();
    return event && { stream: event[0], data: Buffer.from(event[1]) };
  };
  return { next, counted };
}

async function textOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) text += Buffer.from(chunk).toString();
  return text;
}

test("two streams are split", async () => {
  const { next } = source([
    ["stdout", "a"],
    ["stderr", "b"],
    ["stdout", "c"],
  ]);
  const output = new Demultiplexer(next);
  assert.deepEqual(await Promise.all([textOf(output.stdout()), textOf(output.stderr())]), ["ac", "b"]);
});

test("output of a stream without a reader is dropped", async () => {
  const { next } = source([
    ["stderr", "b"],
    ["stdout", "a"],
  ]);
  const output = new Demultiplexer(next);
  assert.equal(await textOf(output.stdout()), "a");
  assert.equal(await textOf(output.stderr()), "");
});

test("a reader that waits stops the requests", async () => {
  const chunk = "x".repeat(64 << 10);
  const { next, counted } = source(Array.from({ length: 1000 }, () => ["stdout", chunk]));
  const stream = new Demultiplexer(next).stdout();
  const reader = stream.getReader();
  await reader.read();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(counted.requests < 40, `${counted.requests} requests for one chunk that was read`);
  await reader.cancel();
});

test("a failure reaches every reader", async () => {
  const output = new Demultiplexer(async () => {
    throw new Error("the sandbox has ended");
  });
  const [stdout, stderr] = [output.stdout(), output.stderr()];
  await assert.rejects(textOf(stdout), /the sandbox has ended/);
  await assert.rejects(textOf(stderr), /the sandbox has ended/);
});
