/** Objects where a name is asked for: handles and descriptions stand for their names. */
import { kindOf } from "./content.js";

/** A name, or an object that has it: a sandbox, a snapshot, a volume. */
export type Name =
  | string
  | {
      /** The name. */
      readonly name: string;
    };

/** The name of a sandbox, a snapshot (`SANDBOX@SNAPSHOT`) or an image, or the object itself. */
export type Side =
  | Name
  | {
      /** The digest of the image. */
      readonly digest: string;
    };

/** Returns a name. */
export function nameOf(value: Name): string {
  if (typeof value === "string") {
    return value;
  }
  const name = field(value, "name");
  if (name === undefined) {
    throw new TypeError(`a name must be a string, or an object that has a name, not ${kindOf(value)}`);
  }
  return name;
}

/** Returns the name of a sandbox, a snapshot or an image. */
export function sideOf(value: Side): string {
  if (typeof value === "string") {
    return value;
  }
  const [sandbox, name] = [field(value, "sandbox"), field(value, "name")];
  if (sandbox !== undefined && name !== undefined) {
    return `${sandbox}@${name}`;
  }
  const found = field(value, "digest") ?? name;
  if (found === undefined) {
    throw new TypeError(`write a name, a sandbox, a snapshot or an image, not ${kindOf(value)}`);
  }
  return found;
}

function field(value: unknown, key: string): string | undefined {
  if (typeof value !== "object" || value === null) {
    return undefined;
  }
  const found = (value as Record<string, unknown>)[key];
  return typeof found === "string" ? found : undefined;
}
