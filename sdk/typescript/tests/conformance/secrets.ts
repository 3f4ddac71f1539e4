/** Secrets of the data in the form of the SDK. */
import type { Secret, SecretSource } from "msb-sdk";

/** The fields of the sources, by the words before their texts. */
const SOURCES: Readonly<Record<string, keyof SecretSource>> = { env: "env", file: "file", cmd: "command" };

/** Returns a secret of a sandbox's options. */
export function secretOf(fields: Record<string, unknown>): Secret {
  return { name: fields["name"] as string, to: fields["to"] as string[], ...sourceOf(fields) };
}

/** Returns the source of a secret's value. */
export function sourceOf(fields: Readonly<Record<string, unknown>>): SecretSource {
  const { from, value } = fields as { from?: string; value?: string };
  if (from === undefined) return value === undefined ? {} : { value };
  const [kind = ""] = from.split(":");
  const name = SOURCES[kind];
  if (name === undefined) throw new Error(`no source ${kind}`);
  return { [name]: from.slice(kind.length + 1) };
}
