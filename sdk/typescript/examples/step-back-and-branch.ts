// Steps back to a snapshot, tries another way from it, and compares the two.
import { Msb } from "msb-sdk";

await using msb = new Msb();
await using sandbox = await msb.sandboxes.run("python:3-slim");
await sandbox.files.write("/work/app.py", "print('one')\n", { parents: true });
const ready = await sandbox.snapshots.create("ready");

await sandbox.shell("rm -r /work", { check: true });
await sandbox.rollback(ready); // The files are those of the snapshot; the machine stays up.
console.log(await sandbox.files.readText("/work/app.py"));

await using attempt = await sandbox.branch({ snapshot: ready }); // Another sandbox, which shares the files.
await attempt.files.write("/work/app.py", "print('two')\n");
{
  await using diff = await msb.diff(ready, attempt, { paths: ["/work"] });
  for await (const change of diff) console.log(change.letter, change.path);
}
const image = await attempt.commit("example:1");
console.log(image.name);
