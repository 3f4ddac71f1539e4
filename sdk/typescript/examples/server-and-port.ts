// Runs a server in a sandbox, and sends it a request through a free port of this host.
import { setTimeout as sleep } from "node:timers/promises";

import { Msb } from "msb-sdk";

await using msb = new Msb();
await using sandbox = await msb.sandboxes.run("python:3-slim", { ports: { 8000: null } });
await sandbox.files.write("/srv/index.html", "hello from the sandbox\n", { parents: true });
await sandbox.jobs.start(["python3", "-m", "http.server", "8000", "--directory", "/srv"]);

const [port] = await sandbox.ports();
const address = `http://127.0.0.1:${port?.hostPort}/`;
for (;;) {
  try {
    const response = await fetch(address);
    console.log(await response.text());
    break;
  } catch {
    await sleep(100); // The server does not listen yet.
  }
}
