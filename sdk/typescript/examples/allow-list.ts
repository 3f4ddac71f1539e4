// Lets a sandbox reach a package index and nothing else.
import { Msb, Network } from "msb-sdk";

await using msb = new Msb();
await using sandbox = await msb.sandboxes.run("python:3-slim", {
  network: Network.listed({ allow: ["pypi.org:443", "*.pythonhosted.org:443"] }),
});
const code = "import socket; socket.create_connection(('192.0.2.1', 443), timeout=5)";
const output = await sandbox.exec(["python3", "-c", code]);
console.log(output.exitCode === 0 ? "reached" : "refused, as it is not listed");
