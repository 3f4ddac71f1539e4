// Runs the same request under three network policies.
import { Msb, Network } from "msb-sdk";

const request = "import urllib.request; urllib.request.urlopen('http://example.com', timeout=5)";
const policies = {
  outbound: Network.outbound(),
  "outbound and a private range": Network.outbound({ allow: ["10.0.5.0/24:443"] }),
  none: Network.none(),
};

await using msb = new Msb();
for (const [name, network] of Object.entries(policies)) {
  await using sandbox = await msb.sandboxes.run("python:3-slim", { memory: "512M", network });
  const { exitCode } = await sandbox.exec(["python3", "-c", request]);
  console.log(`${name}: ${exitCode === 0 ? "OK" : "FAIL"}`);
}
