// Keeps a cache in a volume, which outlives sandboxes, and shares a directory of this host read-only.
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Mount, Msb } from "msb-sdk";

const source = await mkdtemp(join(tmpdir(), "source-"));
await writeFile(join(source, "version"), "1.2.3\n");

await using msb = new Msb();
const mounts = [Mount.volume("build-cache", "/cache"), Mount.bind(source, "/src", { readOnly: true })];
for (const run of ["first", "second"]) {
  await using sandbox = await msb.sandboxes.run("python:3-slim", { mounts });
  const output = await sandbox.shell("cat /cache/built 2>/dev/null || cp /src/version /cache/built");
  console.log(`${run} run: ${output.text().trim() || "nothing in the cache"}`);
}
await msb.volumes.remove("build-cache");
