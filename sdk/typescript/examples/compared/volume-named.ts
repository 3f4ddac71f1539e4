// Writes to a volume in one sandbox, and reads it in another.
import { Mount, Msb } from "msb-sdk";

await using msb = new Msb();
await msb.volumes.create("my-data", { size: "100M" });
{
  await using writer = await msb.sandboxes.run("python:3-slim", { mounts: [Mount.volume("my-data", "/data")] });
  await writer.shell("echo 'hello from sandbox A' > /data/message.txt", { check: true });
  await writer.stop();
}
{
  const mounts = [Mount.volume("my-data", "/data", { readOnly: true })];
  await using reader = await msb.sandboxes.run("python:3-slim", { mounts });
  console.log((await reader.shell("cat /data/message.txt", { check: true })).text());
}
await msb.volumes.remove("my-data");
