// Runs the same test in three sandboxes at once, and commands at once in each of them.
import { Msb } from "msb-sdk";

await using msb = new Msb();

/** Runs a part of the work in a sandbox of its own. */
async function part(number: number): Promise<string> {
  await using sandbox = await msb.sandboxes.run("python:3-slim", { cpus: 1, memory: "512M" });
  const commands = ["a", "b"].map((letter) => sandbox.exec(["echo", `${number}${letter}`]));
  const outputs = await Promise.all(commands);
  return outputs.map((output) => output.text().trim()).join(" ");
}

console.log(await Promise.all([1, 2, 3].map(part)));
