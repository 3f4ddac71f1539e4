/** Questions of a sandbox, and rules that change while it runs. */

/** A question of a process of the guest. Its texts are the guest's. */
export interface Question {
  /** The number of the question in the life of the sandbox. */
  readonly id: number;
  /**
   * The kind: `path` if `msb-ask` asks for a file of a staged directory; `read` if a process opens a file of a shared
   * directory, and `change` if it changes one. `network` and `unknown` of a newer machine can only be denied.
   */
  readonly kind: string;
  /** The path in the sandbox that the question is about. */
  readonly subject: string;
  /** The words of the process; empty if it gave none. */
  readonly reason: string;
  /** Name of the process that asks, if it is known. */
  readonly process: string | null;
  /** User id of the process in the guest, if it is known. */
  readonly uid: number | null;
}

/** The answer to a question: true allows it, `"always"` keeps the rule too, false denies it. */
export type QuestionAnswer = boolean | "always";

/** The effect of a changed rule. */
export interface Allowed {
  /** The rule, `PATH=STATE`, relative to the directory. */
  readonly rule: string;
  /** Paths in the sandbox of the files that were copied into it. Of a directory only itself is listed. */
  readonly letIn: string[];
  /** Paths of files that the sandbox has already, of its own; they stay as they are. */
  readonly present: string[];
}
