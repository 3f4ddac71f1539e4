/** Changes that are put into directories of this host, and are decided about one by one. */
import type { Remote } from "./remote.js";
import type { AppliedDirectory, ApplyOptions, PlannedChange, TextHunk } from "./types.js";

/** The decision about a change. */
type Decide = NonNullable<ApplyOptions["onChange"]>;

/** Plans the changes, asks about each of them, and makes those that were chosen. */
export async function applyChosen(sandbox: Remote, parameters: object, decide: Decide): Promise<AppliedDirectory[]> {
  const [plan] = await sandbox.open("plan_apply", parameters);
  try {
    for (let from = 0; ; ) {
      const offered = await plan.value<Omit<PlannedChange, "patch" | "hunks">[]>("offered", { from });
      if (offered.length === 0) {
        break;
      }
      for (const change of offered) {
        const answer = decide({ ...change, ...(await read(plan, change.index)) });
        const whole = answer === true ? "yes" : "no";
        const choice = typeof answer === "boolean" ? whole : { hunks: [...answer] };
        await plan.call("choose", { index: change.index, choice });
      }
      from += offered.length;
    }
    return await plan.value("run");
  } finally {
    plan.close();
  }
}

/** Returns the patch and the hunks of a change. */
async function read(plan: Remote, index: number): Promise<Pick<PlannedChange, "patch" | "hunks">> {
  const patch = await plan.call("patch", { index });
  const hunks = await plan.call<Omit<TextHunk, "text">[]>("hunks", { index });
  return {
    patch: patch.content[0] ?? new Uint8Array(),
    hunks: hunks.value.map((hunk, at) => ({ ...hunk, text: hunks.content[at] ?? new Uint8Array() })),
  };
}
