// Measures the time of a command in a running sandbox, and prints the median in µs as JSON.
import { Msb } from "msb-sdk";

const PROGRAM = ["/bin/true"];
const WARM_UP = 50;

const [name, count] = process.argv.slice(2);
const msb = new Msb();
const sandbox = await msb.sandboxes.get(name);
const times = [];
for (let call = 0; call < WARM_UP + Number(count); call += 1) {
  const begun = process.hrtime.bigint();
  await sandbox.exec(PROGRAM);
  times.push(Number(process.hrtime.bigint() - begun) / 1000);
}
const sorted = times.slice(WARM_UP).sort((one, other) => one - other);
console.log(JSON.stringify({ typescript: sorted[Math.floor(sorted.length / 2)] }));
