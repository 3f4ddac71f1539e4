/** Content of files and inputs: in memory, or read piece by piece. */

/** The bytes of one call of a stream that is written. */
const CHUNK_BYTES = 1 << 20;

/** Content in memory: text, which is encoded as UTF-8, or bytes. */
export type Data = string | ArrayBuffer | ArrayBufferView;

/** Content that is read piece by piece: a web stream, a Node.js stream, or any iterable of text or bytes. */
export type Parts = ReadableStream<Uint8Array> | AsyncIterable<Data> | Iterable<Data>;

/** Returns data as bytes; text as UTF-8. `name` is that of the argument. */
export function bytesOf(data: Data, name = "data"): Uint8Array {
  const given: unknown = data;
  if (typeof given === "string") {
    return new TextEncoder().encode(given);
  }
  if (given instanceof Uint8Array) {
    return given;
  }
  if (ArrayBuffer.isView(given)) {
    return new Uint8Array(given.buffer, given.byteOffset, given.byteLength);
  }
  if (given instanceof ArrayBuffer) {
    return new Uint8Array(given);
  }
  throw new TypeError(`${name} must be a string, a Uint8Array or an ArrayBuffer, not ${kindOf(given)}`);
}

/** Returns true for content in memory. */
export function isWhole(data: Data | Parts): data is Data {
  return typeof data === "string" || data instanceof ArrayBuffer || ArrayBuffer.isView(data);
}

/** Yields content in pieces of limited size. */
export async function* chunksOf(data: Data | Parts): AsyncGenerator<Uint8Array, void, undefined> {
  const pieces = isWhole(data) ? [data] : iterableOf(data);
  for await (const piece of pieces) {
    const bytes = bytesOf(piece);
    for (let start = 0; start < bytes.byteLength; start += CHUNK_BYTES) {
      yield bytes.subarray(start, start + CHUNK_BYTES);
    }
  }
}

/** Refuses what cannot be iterated over. */
export function iterableOf(data: Parts): AsyncIterable<Data> | Iterable<Data> {
  const given: unknown = data;
  const isIterable =
    typeof given === "object" && given !== null && (Symbol.asyncIterator in given || Symbol.iterator in given);
  if (!isIterable) {
    throw new TypeError(`data must be a string, bytes, a stream or an iterable of those, not ${kindOf(given)}`);
  }
  return given as AsyncIterable<Data> | Iterable<Data>;
}

/** Returns the kind of a value for a message. */
export function kindOf(value: unknown): string {
  if (value === null || typeof value !== "object") {
    return value === null ? "null" : typeof value;
  }
  const prototype = Object.getPrototypeOf(value) as { constructor?: { name?: string } } | null;
  return prototype?.constructor?.name ?? "object";
}
