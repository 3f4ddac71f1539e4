/** A registry that is empty at first and takes what is pushed to it. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A registry, and what was pushed to it. */
export class PushRegistry {
  readonly blobs = new Map<string, Buffer>();
  /** Manifests by their tag or digest. */
  readonly manifests = new Map<string, Buffer>();
  /** The user and the password that every request must have, as `user:password`. */
  login: string | undefined;
  /** If it is set, an upload ends only once the promise is fulfilled. */
  held: Promise<void> | undefined;
  readonly #uploads = new Map<string, Buffer>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  /** The address and port. */
  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Returns a registry that is served on a free port of 127.0.0.1. */
  static async open(): Promise<PushRegistry> {
    const registry = new PushRegistry();
    await new Promise<void>((resolve) => registry.#server.listen(0, "127.0.0.1", resolve));
    return registry;
  }

  /** Ends the server. */
  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // The client is gone.
    }
    const expected = this.login && `Basic ${Buffer.from(this.login).toString("base64")}`;
    if (expected && request.headers.authorization !== expected) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="test"' }).end();
    } else {
      await this.#answer(request, Buffer.concat(chunks), response);
    }
  }

  async #answer({ method = "GET", url = "/" }: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(url, "http://registry");
    const reference = pathname.slice(pathname.lastIndexOf("/") + 1);
    const isManifest = pathname.includes("/manifests/");
    const upload = Buffer.concat([this.#uploads.get(reference) ?? Buffer.alloc(0), body]);
    if (method === "POST") {
      const number = `${this.#uploads.size}`;
      this.#uploads.set(number, body);
      response.writeHead(202, { location: `/v2/uploads/${number}` }).end();
    } else if (method === "PATCH") {
      this.#uploads.set(reference, upload);
      await this.held;
      response.writeHead(202, { location: pathname, range: `0-${upload.length - 1}` }).end();
    } else if (method === "PUT" && isManifest) {
      for (const name of [reference, digest(body)]) this.manifests.set(name, body);
      response.writeHead(201, { "docker-content-digest": digest(body) }).end();
    } else if (method === "PUT") {
      const isWhole = searchParams.get("digest") === digest(upload);
      if (isWhole) this.blobs.set(digest(upload), upload);
      response.writeHead(isWhole ? 201 : 400).end();
    } else {
      const found = (isManifest ? this.manifests : this.blobs).get(reference);
      const length = { "content-length": found?.length ?? 0 };
      response.writeHead(found || pathname === "/v2/" ? 200 : 404, length);
      response.end(method === "HEAD" ? undefined : found);
    }
  }
}

function digest(content: Buffer): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}
