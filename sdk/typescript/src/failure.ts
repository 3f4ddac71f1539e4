/** Errors from the descriptions that the native addon returns. */
import { fromNative } from "./conversion.js";
import { ERROR_CLASSES, InternalError, MsbError, NotRunning } from "./errors.js";

interface FailureDescription {
  readonly kind: string;
  readonly parents: readonly string[];
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  readonly hints?: { readonly typescript?: string | null };
  readonly details: Readonly<Record<string, unknown>>;
  readonly causes: readonly string[];
}

/** Returns the error that a failure describes. `content` is the output of a command. */
export function errorOf(failure: string, content: readonly Uint8Array[]): MsbError {
  const description = fromNative(JSON.parse(failure)) as FailureDescription;
  const { kind, parents, code, message, details, causes } = description;
  const hint = description.hints?.typescript ?? description.hint;
  // A kind that is newer than this package is reported as its nearest known parent.
  const known = [kind, ...parents].map((name) => ERROR_CLASSES[name]).find((found) => found !== undefined);
  const cause = causeOf(causes);
  const [stdout, stderr] = content;
  return new (known ?? InternalError)(message, {
    code,
    hint: hint ?? undefined,
    details,
    ...(cause === undefined ? {} : { cause }),
    ...(stdout === undefined ? {} : { stdout }),
    ...(stderr === undefined ? {} : { stderr }),
  });
}

/** Returns the error of a call whose client is closed. */
export function clientClosed(): MsbError {
  return new NotRunning("cannot use the client: it is closed", { code: "client-closed" });
}

/** Returns a chain of errors, the nearest cause first. */
function causeOf(messages: readonly string[]): Error | undefined {
  return messages.reduceRight<Error | undefined>(
    (cause, message) => new Error(message, cause === undefined ? undefined : { cause }),
    undefined,
  );
}
