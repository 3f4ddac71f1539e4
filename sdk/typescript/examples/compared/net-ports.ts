// Runs a server in a sandbox, and reaches it through a port of this host.
import { setTimeout as sleep } from "node:timers/promises";

import { Msb } from "msb-sdk";

await using msb = new Msb();
await using sandbox = await msb.sandboxes.run("python:3-slim", { memory: "512M", ports: { 80: null } });
await sandbox.files.write("/srv/index.html", "Hello from msb!\n", { parents: true });
await sandbox.jobs.start(["python3", "-m", "http.server", "80", "--directory", "/srv"]);
const [port] = await sandbox.ports();
for (let answer = ""; answer === ""; await sleep(200)) {
  try {
    const response = await fetch(`http://127.0.0.1:${port?.hostPort}/index.html`);
    answer = await response.text();
    console.log(`host: ${answer}`);
  } catch {} // The server does not listen yet.
}
