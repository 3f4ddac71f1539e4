/** Comparison of results with the expectations of behaviours. */
import assert from "node:assert/strict";

import { MsbError } from "msb-sdk";

import { bytesOf, type Data, type ExpectedError } from "./data.js";

/** The result of a step: its fields by their names in the data. */
export type Result = Readonly<Record<string, unknown>>;

/** Checks each expected field of a result. */
export function checkResult(result: Result, expected: Readonly<Record<string, unknown>>): void {
  for (const [field, value] of Object.entries(expected)) {
    assert.ok(field in result, `the result has no ${field}: ${Object.keys(result).join(", ")}`);
    const found = result[field];
    if (found instanceof Uint8Array) {
      const wanted = bytesOf(value as Data);
      assert.ok(Buffer.from(found).equals(wanted), `${field} is ${shown(found)}, not ${shown(wanted)}`);
    } else {
      assert.deepEqual(found, value, field);
    }
  }
}

/** Checks that an error is the expected one. A kind may be one of several, separated by `|`. */
export function checkError(error: unknown, expected: ExpectedError): void {
  if (!(error instanceof MsbError)) throw error;
  assert.ok(
    expected.kind.split("|").includes(error.name),
    `${error.name} (${error.message}), not ${expected.kind}`,
  );
  assert.equal(error.code, kebabCase(error.name));
  assert.ok(error.message.length > 0);
  if (expected.message !== undefined) {
    const text = String(expected.message);
    assert.ok(error.message.includes(text), `'${error.message}' does not contain '${text}'`);
  }
  if (expected.hint === true) assert.ok(error.hint, `'${error.message}' has no hint`);
  for (const [name, value] of Object.entries(expected.details ?? {})) {
    const key = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    assert.deepEqual(error.details[key], value, `details.${key}`);
  }
  const { stdout, stderr } = error as { stdout?: Uint8Array; stderr?: Uint8Array };
  if (expected.stdout !== undefined) assert.equal(Buffer.from(stdout ?? []).toString(), expected.stdout);
  if (expected.stderr !== undefined) assert.equal(Buffer.from(stderr ?? []).toString(), expected.stderr);
  if (expected.stdout_bytes_max !== undefined) {
    assert.ok(stdout !== undefined && stdout.length > 0 && stdout.length <= expected.stdout_bytes_max);
  }
}

function kebabCase(name: string): string {
  return name.replace(/(?<!^)[A-Z]/g, "-$&").toLowerCase();
}

function shown(bytes: Uint8Array): string {
  const start = JSON.stringify(Buffer.from(bytes.subarray(0, 80)).toString("latin1"));
  return `${start} (${bytes.length} bytes)`;
}
