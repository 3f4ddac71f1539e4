// Copies files into a sandbox and results out of it.
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Msb } from "msb-sdk";

await using msb = new Msb();
await using sandbox = await msb.sandboxes.run("python:3-slim");
const { files } = sandbox;

await files.write("/data/in.csv", "3,4\n5,12\n", { parents: true });
await sandbox.shell(`cd /data && awk -F, '{ print sqrt($1*$1 + $2*$2) }' in.csv > out.txt`, { check: true });
console.log(await files.readText("/data/out.txt"));

for (const { name, sizeBytes } of await files.list("/data")) {
  console.log(name, sizeBytes);
}

const results = await mkdtemp(join(tmpdir(), "results-"));
await files.download("/data", results);
console.log(await readFile(join(results, "data/out.txt"), "utf8"));
