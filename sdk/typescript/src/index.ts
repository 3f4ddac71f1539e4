/**
 * The TypeScript SDK of msb, which runs any OCI image in a microVM.
 *
 * @packageDocumentation
 */
export { Diff } from "./diff.js";
export * from "./errors.js";
export { Files } from "./files.js";
export { Image, Images, type Pruned, type PrunedImage } from "./images.js";
export { Job, Jobs } from "./jobs.js";
export { Mount, type Rule, type RuleState, type StagedOptions } from "./mount.js";
export { Msb } from "./msb.js";
export { Network, type NetworkRules } from "./network.js";
export { Output } from "./output.js";
export { Process } from "./process.js";
export { Pull, Push } from "./transfers.js";
export type { Transfer } from "./transfers.js";
export { Answering, type OnAsk } from "./questions.js";
export { ReadableFiles } from "./readable-files.js";
export type { Data, Parts } from "./content.js";
export type { Name, Side } from "./names.js";
export type { CallOptions } from "./remote.js";
export { Sandbox } from "./sandbox.js";
export { Sandboxes } from "./sandboxes.js";
export { SandboxNetwork } from "./sandbox_network.js";
export { Secrets } from "./secrets.js";
export type { SignalName } from "./signals.js";
export { Snapshots } from "./snapshots.js";
export type * from "./types.js";
export { Volumes } from "./volumes.js";
