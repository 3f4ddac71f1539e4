/**
 * The one conversion between the names of the native addon (`snake_case`) and those of TypeScript
 * (`camelCase`), and between bytes and their form in JSON.
 */

import { GUEST_USER_KEYS } from "./types/guest.js";

/** Fields whose keys are the user's own names, which are not converted. */
const USER_KEYS = new Set(["env", "labels", "ulimits", "limits", "config", ...GUEST_USER_KEYS]);

/**
 * Returns a value as the native addon reads it. Fields that are `undefined` are left out, and so are the abort signals that
 * stand among the options of a call.
 */
export function toNative(value: unknown): unknown {
  if (value instanceof Uint8Array) {
    return { bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64") };
  }
  if (value instanceof URL) {
    return hostPath(value);
  }
  if (Array.isArray(value)) {
    return value.map(toNative);
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  const fields = Object.entries(value).filter(([, field]) => field !== undefined && !(field instanceof AbortSignal));
  return Object.fromEntries(
    fields.map(([key, field]) => [snakeCase(key), USER_KEYS.has(key) ? userNamed(field, toNative) : toNative(field)]),
  );
}

/**
 * Returns a value of the native addon as users read it. Text that is not UTF-8 becomes a string with
 * replacement characters, and its bytes stand beside it: `name` and `nameBytes`.
 */
export function fromNative(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => textOf(item) ?? fromNative(item));
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  const fields = Object.entries(value).flatMap(([key, field]): [string, unknown][] => {
    const name = camelCase(key);
    const bytes = bytesOf(field);
    if (bytes !== undefined) {
      return [
        [name, bytes.toString()],
        [`${name}Bytes`, new Uint8Array(bytes)],
      ];
    }
    return [[name, USER_KEYS.has(key) ? userNamed(field, (item) => textOf(item) ?? item) : fromNative(field)]];
  });
  return Object.fromEntries(fields);
}

/** Returns the path of a `file:` URL. */
function hostPath(url: URL): string {
  return decodeURIComponent(url.pathname);
}

function userNamed(value: unknown, convert: (item: unknown) => unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return convert(value);
  }
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([key, field]) => [key, convert(field)]));
}

function textOf(value: unknown): string | undefined {
  return bytesOf(value)?.toString();
}

/** Returns the bytes of `{"bytes": "BASE64"}`; `undefined` for any other value. */
function bytesOf(value: unknown): Buffer | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return undefined;
  }
  const bytes = (value as { bytes?: unknown }).bytes;
  const isText = typeof bytes === "string" && Object.keys(value).length === 1;
  return isText ? Buffer.from(bytes, "base64") : undefined;
}

function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function camelCase(key: string): string {
  return key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
