/** What this process holds, as the kernel counts it. */
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Returns the numbers of open descriptors and of threads. */
export function held(): { descriptors: number; threads: number } {
  return { descriptors: readdirSync("/proc/self/fd").length, threads: readdirSync("/proc/self/task").length };
}

/** Returns true once the condition holds; false if it does not within the time. */
export async function holds(condition: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const end = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > end) return false;
    await sleep(50);
  }
  return true;
}

/** Returns the resident memory in bytes, after a garbage collection. */
export async function residentBytes(): Promise<number> {
  for (let pass = 0; pass < 3; pass++) {
    (globalThis as { gc?: () => void }).gc?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return process.memoryUsage.rss();
}

/** Runs work and returns how much the resident memory rose above its beginning, in bytes. */
export async function memoryRise(work: () => Promise<void>): Promise<number> {
  const before = await residentBytes();
  let peak = before;
  const sampler = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 20);
  try {
    await work();
  } finally {
    clearInterval(sampler);
  }
  return Math.max(peak, process.memoryUsage.rss()) - before;
}
