// Keeps a sandbox for an agent over several runs of this program: `node agent-sandbox.js TASK`.
import { Msb, SandboxNotFound, type Sandbox } from "msb-sdk";

const task = process.argv[2] ?? "echo hello >> notes; wc -l < notes";

/** Returns the agent's sandbox, which is created if it does not exist. */
async function agentSandbox(msb: Msb, name: string): Promise<Sandbox> {
  try {
    return await msb.sandboxes.get(name);
  } catch (error) {
    if (!(error instanceof SandboxNotFound)) throw error;
    return await msb.sandboxes.create("python:3-slim", { name, memory: "512M", cwd: "/work", idleTimeoutMs: 600_000 });
  }
}

await using msb = new Msb();
const sandbox = await agentSandbox(msb, "agent");
if ((await sandbox.inspect()).state !== "running") await sandbox.start();
const output = await sandbox.shell(task, { timeoutMs: 60_000, maxOutput: "1M" });
console.log(output.text() + output.errorText());
