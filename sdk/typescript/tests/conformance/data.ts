/** The behaviours of sdk/conformance as data. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { SandboxOptions } from "msb-sdk";

import { SMALL } from "../support/environment.js";
import { secretOf } from "./secrets.js";

/** A value of the data: text, bytes, or a repeated text. */
export type Data = string | { bytes: string } | { repeat: string; count: number };

/** A step: its operation, parameters and expectation. */
export interface Step {
  readonly do: string;
  readonly sandbox?: string;
  readonly as?: string;
  readonly options?: Record<string, unknown>;
  readonly expect?: Record<string, unknown>;
  readonly error?: ExpectedError;
  readonly [parameter: string]: unknown;
}

/** The error that a step has to end with. */
export interface ExpectedError {
  readonly kind: string;
  readonly message?: string;
  readonly hint?: boolean;
  readonly details?: Record<string, unknown>;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly stdout_bytes_max?: number;
}

/** A behaviour. */
export interface Behaviour {
  readonly id: string;
  readonly about: string;
  readonly steps: readonly Step[];
}

/** The file of behaviours. */
export interface Behaviours {
  readonly format: number;
  readonly main: { readonly options: Record<string, unknown> };
  readonly finished: { readonly options: Record<string, unknown> };
  readonly files: readonly { readonly path: string; readonly data: Data }[];
  readonly behaviours: readonly Behaviour[];
}

/** Reads the file. */
export function readBehaviours(): Behaviours {
  const path = join(import.meta.dirname ?? ".", "../../conformance/behaviours.json");
  const read = JSON.parse(readFileSync(path, "utf8")) as Behaviours;
  assert.equal(read.format, 1);
  return read;
}

/** Returns the bytes of a value. */
export function bytesOf(data: Data): Uint8Array {
  if (typeof data === "string") return Buffer.from(data);
  return "bytes" in data ? Buffer.from(data.bytes, "base64") : Buffer.from(data.repeat.repeat(data.count));
}

/** Returns a parameter in the form of the SDK: bytes for text that is not UTF-8. */
export function textOf(data: unknown): string | Uint8Array {
  return typeof data === "string" ? data : bytesOf(data as Data);
}

/** Replaces the variables `${name}` in all strings of a value. A string that is one variable gets its value. */
export function fill<T>(value: T, variables: Readonly<Record<string, unknown>>): T {
  if (typeof value === "string") {
    const whole = /^\$\{(\w+)\}$/.exec(value)?.[1];
    if (whole !== undefined && whole in variables) return variables[whole] as T;
    return value.replace(/\$\{(\w+)\}/g, (text, name: string) => String(variables[name] ?? text)) as T;
  }
  if (Array.isArray(value)) return value.map((item: unknown) => fill(item, variables)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, fill(field, variables)])) as T;
}

/** Returns options of a sandbox in the form of the SDK, whose files and names are records. */
export function sandboxOptions({ copy, hosts, secrets, ...others }: Record<string, unknown>): SandboxOptions {
  const files = copy as { source: string; destination: string }[] | undefined;
  const names = hosts as { names: [string]; address: string }[] | undefined;
  return {
    ...SMALL,
    ...(camelOptions(others) as SandboxOptions),
    copy: files && Object.fromEntries(files.map(({ source, destination }) => [source, destination])),
    secrets: (secrets as Record<string, unknown>[] | undefined)?.map(secretOf),
    hosts: names && Object.fromEntries(names.map(({ names: [name], address }) => [name, address])),
  };
}

/** Returns options with names in camel case, as the SDK has them; keys of the user stay. */
export function camelOptions(value: unknown, isUserKeyed = false): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => camelOptions(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [
      isUserKeyed ? key : key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      camelOptions(field, ["env", "labels", "sysctls", "ulimits"].includes(key)),
    ]),
  );
}
