// Gives a sandbox a project of this host, and applies the changes that its rules accept.
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Mount, Msb } from "msb-sdk";

const project = await mkdtemp(join(tmpdir(), "project-"));
await writeFile(join(project, "app.py"), "print('one')\n");
await writeFile(join(project, "LICENSE"), "MIT\n");

await using msb = new Msb();
const work = Mount.staged(project, "/work", { rules: ["target=hide", "LICENSE=read-only"] });
await using sandbox = await msb.sandboxes.run("python:3-slim", { mounts: [work] });
await sandbox.files.write("/work/app.py", "print('two')\n"); // This host's file is unchanged.
await sandbox.files.write("/work/LICENSE", "mine\n");

for (const { changes, refused } of await sandbox.apply({ dryRun: true })) { // What would be written.
  console.log(changes.map(({ path }) => path), refused.map(({ rule }) => rule));
}
await sandbox.apply();
console.log(await readFile(join(project, "app.py"), "utf8"), await readFile(join(project, "LICENSE"), "utf8"));
