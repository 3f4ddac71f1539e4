// Watches the statistics of a sandbox while it works.
import { Msb } from "msb-sdk";

await using msb = new Msb();
await using sandbox = await msb.sandboxes.run("python:3-slim", { cpus: 1, memory: "512M" });
await sandbox.jobs.start(["dd", "if=/dev/urandom", "of=/dev/null", "bs=1M", "count=100"]);
let count = 0;
for await (const { cpuPercent, host, guest } of sandbox.watchStats({ intervalMs: 1000 })) {
  const memory = Math.floor(host.memoryBytes / 1024 / 1024);
  const disk = `${guest?.diskReadBytes}/${guest?.diskWrittenBytes}`;
  console.log(`[${count}] CPU: ${cpuPercent.toFixed(1)}%, memory: ${memory} MB, disk: ${disk} bytes`);
  if (++count === 5) break;
}
