/** Notices of operations as warnings of the process. */

interface Notice {
  readonly code: string;
  readonly message: string;
}

const emitted = new Set<string>();

/** Emits the notices of a value as warnings, each of them once in the life of the process. */
export function emitNotices(value: unknown): void {
  for (const { code, message } of noticesOf(value)) {
    const key = `${code}\0${message}`;
    if (!emitted.has(key)) {
      emitted.add(key);
      process.emitWarning(message, { type: "MsbWarning", code });
    }
  }
}

function noticesOf(value: unknown): readonly Notice[] {
  const warnings = typeof value === "object" && value !== null ? (value as { warnings?: unknown }).warnings : undefined;
  return Array.isArray(warnings) ? (warnings as Notice[]) : [];
}
