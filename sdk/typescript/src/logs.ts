/** Records of logs. */
import type { Answer } from "./remote.js";
import type { LogRecord } from "./types.js";

/** Returns the record of an answer of a log's `next`. */
export function logRecord({ value, content }: Answer<unknown>): LogRecord {
  return { ...(value as Omit<LogRecord, "data">), data: content[0] ?? new Uint8Array() };
}
