// Pulls an image and shows how far the pull is: `node pull-progress.js IMAGE`.
import { Msb } from "msb-sdk";

await using msb = new Msb();
await using pull = msb.images.pull(process.argv[2] ?? "alpine");
let totalBytes = 0;
let bytes = 0;
for await (const event of pull.progress) {
  if (event.type === "image") {
    totalBytes = event.layers.reduce((sum, layer) => sum + layer.sizeBytes, 0);
  } else if (event.type === "layer-bytes") {
    bytes += event.bytes;
    process.stderr.write(`\r${Math.floor((100 * bytes) / totalBytes)} %`);
  }
}
const image = await pull;
console.log(`${image.reference}: ${image.layerCount} layers, ${bytes} of ${totalBytes} bytes read`);
