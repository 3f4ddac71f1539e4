// Bounds what a sandbox, and a command in it, can use.
import { CommandTimeout, Msb, OutputLimit } from "msb-sdk";

await using msb = new Msb();
await using sandbox = await msb.sandboxes.run("python:3-slim", {
  cpus: 1,
  memory: "512M",
  disk: "2G",
  pids: 100,
  ulimits: { nofile: 256 },
  maxDurationMs: 600_000,
});
try {
  await sandbox.shell("echo begun; sleep 60", { timeoutMs: 5000 });
} catch (error) {
  if (!(error instanceof CommandTimeout)) throw error;
  console.log(`${error.code} after: ${Buffer.from(error.stdout).toString()}`);
}
try {
  await sandbox.exec(["yes"], { maxOutput: "64K" });
} catch (error) {
  if (!(error instanceof OutputLimit)) throw error;
  console.log(`${error.code} after ${error.stdout.length} bytes`);
}
