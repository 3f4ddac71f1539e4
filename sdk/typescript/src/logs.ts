/** Records of logs. */
import type { Answer } from "./remote.js";
import type { LogOptions, LogRecord, NetworkLogOptions } from "./types.js";

const NS_PER_MS = 1_000_000;

/** Returns the parameters of `logs` and `network_log`. */
export function logParameters({ since, until, ...others }: LogOptions | NetworkLogOptions): object {
  return { ...others, sinceNs: since && since.getTime() * NS_PER_MS, untilNs: until && until.getTime() * NS_PER_MS };
}

/** Returns the record of an answer of a log's `next`. */
export function logRecord({ value, content }: Answer<unknown>): LogRecord {
  const { timeNs, stream } = value as { timeNs: number | null; stream: LogRecord["stream"] };
  return {
    time: timeNs === null ? null : new Date(timeNs / NS_PER_MS),
    stream,
    data: content[0] ?? new Uint8Array(),
  };
}
