/** A registry that serves one image from an OCI layout, under any name. */
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

/** A registry that is served. */
export interface Registry {
  /** The address and port. */
  readonly address: string;
  /** Ends the server. */
  close(): void;
}

/** Serves the first image of an OCI layout on a free port of 127.0.0.1. */
export async function serveLayout(layout: string): Promise<Registry> {
  const index = JSON.parse(readFileSync(join(layout, "index.json"), "utf8")) as {
    manifests: [{ digest: string; mediaType: string }];
  };
  const [manifest] = index.manifests;
  const server = createServer((request, response) => {
    const [, kind, reference = ""] = /^\/v2\/.+\/(manifests|blobs)\/([^/]+)$/.exec(request.url ?? "") ?? [];
    const digest = kind === "manifests" && !reference.includes(":") ? manifest.digest : reference;
    const path = join(layout, "blobs", digest.replace(":", "/"));
    if (request.url === "/v2/") {
      response.end("{}");
    } else if (kind === undefined || !/^sha256:[0-9a-f]{64}$/.test(digest) || !existsSync(path)) {
      response.writeHead(404).end();
    } else {
      response.writeHead(200, {
        "content-type": kind === "manifests" ? manifest.mediaType : "application/octet-stream",
        "content-length": statSync(path).size,
        "docker-content-digest": digest,
      });
      if (request.method === "HEAD") response.end();
      else createReadStream(path).pipe(response);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { address: `127.0.0.1:${port}`, close: () => void server.close() };
}
