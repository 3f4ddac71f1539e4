// Makes a file in a sandbox, and reads it as a stream.
import assert from "node:assert/strict";

import { Msb } from "msb-sdk";

const FILE_SIZE = 10 * 1024 * 1024;

await using msb = new Msb();
await using sandbox = await msb.sandboxes.run("python:3-slim", { cpus: 1, memory: "512M" });
await sandbox.shell("dd if=/dev/urandom of=/tmp/data.bin bs=1M count=10", { check: true });
let [total, count] = [0, 0];
for await (const chunk of sandbox.files.readStream("/tmp/data.bin")) {
  total += chunk.length;
  console.log(`chunk ${++count}: ${chunk.length} bytes`);
}
console.log(`${total} bytes in all`);
assert.equal(total, FILE_SIZE);
