/** Questions of a sandbox, and rules that change while it runs. */

/** A question of a process of the guest, which `msb-ask` asks. Its texts are the guest's. */
export interface Question {
  /** The number of the question in the life of the sandbox. */
  readonly id: number;
  /** The kind: `path`, or `network` or `unknown` of a newer machine, which can only be denied. */
  readonly kind: string;
  /** The path in the sandbox that the process asks for. */
  readonly subject: string;
  /** The words of the process; empty if it gave none. */
  readonly reason: string;
  /** Name of the process that asks, if it is known. */
  readonly process: string | null;
  /** User id of the process in the guest, if it is known. */
  readonly uid: number | null;
}

/** The answer to a question: true lets the file in, `"always"` keeps the rule too, false denies it. */
export type QuestionAnswer = boolean | "always";

/** The effect of a changed rule of a staged directory. */
export interface Allowed {
  /** The rule, `PATH=STATE`, relative to the staged directory. */
  readonly rule: string;
  /** Paths in the sandbox of the files that were copied into it. Of a directory only itself is listed. */
  readonly letIn: string[];
  /** Paths of files that the sandbox has already, of its own; they stay as they are. */
  readonly present: string[];
}
