// Runs a command in a new sandbox, which is removed at the end.
import { Msb } from "msb-sdk";

await using msb = new Msb();
await using sandbox = await msb.sandboxes.run("python:3-slim");
const output = await sandbox.exec(["python3", "-c", "print(6 * 7)"]);
console.log(output.text());
