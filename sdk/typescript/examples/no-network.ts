// Runs code that must not reach any network.
import { Msb, Network } from "msb-sdk";

await using msb = new Msb();
await using sandbox = await msb.sandboxes.run("python:3-slim", { network: Network.none() });
const code = "import socket; socket.create_connection(('1.1.1.1', 443), timeout=5)";
const output = await sandbox.exec(["python3", "-c", code]);
console.log(output.exitCode === 0 ? "the network was reached" : "no network");
