// Runs commands in a sandbox of an image.
import { Msb } from "msb-sdk";

await using msb = new Msb();
await using sandbox = await msb.sandboxes.run("python:3-slim", { cpus: 1, memory: "512M" });
const output = await sandbox.shell("echo 'Hello from msb!'");
console.log("stdout:", output.text());
console.log("stderr:", output.errorText());
console.log("exit code:", output.exitCode);
console.log("uname:", (await sandbox.shell("uname -a")).text());
console.log("os-release:\n" + (await sandbox.shell("cat /etc/os-release")).text());
