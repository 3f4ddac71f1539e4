/** Signals by name. */
import { constants } from "node:os";

import { InvalidArgument } from "./errors.js";

/** The name of a signal. */
export type SignalName = NodeJS.Signals;

/** Returns the number of a signal on Linux. */
export function signalNumber(signal: SignalName | number): number {
  if (typeof signal === "number") {
    return signal;
  }
  const number = constants.signals[signal];
  if (number === undefined) {
    throw new InvalidArgument(`'${signal}' is not the name of a signal`, { details: { signal } });
  }
  return number;
}
