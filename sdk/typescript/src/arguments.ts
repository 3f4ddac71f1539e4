/** The arguments of a command. */
import { kindOf } from "./content.js";
import { InvalidArgument } from "./errors.js";
import type { Text } from "./types.js";

/** Returns the arguments of a command, and refuses text that a shell would have to split. */
export function argumentsOf(argv: readonly Text[]): readonly Text[] {
  const given: unknown = argv;
  if (typeof given === "string") {
    throw new InvalidArgument(`the command '${given}' is not a list of arguments`, {
      hint: "pass a list, or use shell() for text that a shell interprets",
    });
  }
  if (!Array.isArray(given)) {
    throw new TypeError(`the command must be a list of arguments, not ${kindOf(given)}`);
  }
  for (const word of given) {
    if (typeof word !== "string" && !(word instanceof Uint8Array)) {
      throw new TypeError(`an argument must be a string or a Uint8Array, not ${kindOf(word)}`);
    }
  }
  return argv;
}
