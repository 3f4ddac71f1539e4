// Leaves nothing behind, even if the program is killed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

import { Msb } from "msb-sdk";

const label = { "example.clean-up": "true" };
await using msb = new Msb();

if (process.argv[2] === "victim") {
  // This process is killed: its owned sandbox ends with it.
  const sandbox = await msb.sandboxes.run("python:3-slim", { labels: label });
  console.log(sandbox.name);
  await sandbox.wait();
}

const victim = spawn(process.execPath, [process.argv[1] ?? "", "victim"], { stdio: ["ignore", "pipe", "inherit"] });
await once(victim.stdout, "data");
victim.kill("SIGKILL");
while ((await msb.sandboxes.list({ labels: label })).length > 0) {
  await sleep(100);
}
console.log("the owned sandbox is gone");

// A sandbox of `create` is kept. A later run finds it by its label, and removes it.
await msb.sandboxes.create("python:3-slim", { labels: label });
for (const { name } of await msb.sandboxes.list({ labels: label })) {
  const sandbox = await msb.sandboxes.get(name);
  await sandbox.remove({ force: true });
}
console.log("the kept sandbox is removed");
