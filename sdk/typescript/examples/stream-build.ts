// Shows the output of a long command while it runs, and stops it after a minute.
import { Msb } from "msb-sdk";

await using msb = new Msb();
await using sandbox = await msb.sandboxes.run("python:3-slim");
await sandbox.files.write("/src/build.sh", "for step in 1 2 3; do echo step $step; sleep 0.2; done\n", { parents: true });

const signal = AbortSignal.timeout(60_000);
await using build = await sandbox.spawn(["sh", "build.sh"], { cwd: "/src", signal });
for await (const { stream, data } of build) {
  process[stream].write(data);
}
const exit = await build.wait();
console.log(`exit code ${exit.code}`);
