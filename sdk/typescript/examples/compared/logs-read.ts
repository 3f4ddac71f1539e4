// Reads the output of a main command, and the console of its machine, after the end.
import { Msb, type LogOptions, type LogRecord } from "msb-sdk";

const script = "echo line one; echo line two; echo error line 1>&2; echo line three";

await using msb = new Msb();
const command = ["sh", "-c", script];
const sandbox = await msb.sandboxes.create("python:3-slim", { command, memory: "512M" });
await sandbox.start();
await sandbox.wait();

const read = async (options: LogOptions = {}): Promise<LogRecord[]> => {
  const records = [];
  for await (const record of sandbox.logs(options)) records.push(record);
  return records;
};
const text = ({ data }: LogRecord): string => new TextDecoder().decode(data).trimEnd();

const entries = await read();
console.log(`output: ${entries.length} entries`);
for (const entry of entries) console.log(`  [${entry.time?.toISOString()}] ${entry.stream}: ${text(entry)}`);
console.log(`console: ${(await read({ source: "console" })).length} entries`);
for (const entry of await read({ tail: 1 })) console.log(`last: ${text(entry)}`);
await sandbox.remove();
