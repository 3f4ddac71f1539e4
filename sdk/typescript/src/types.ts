/** The options and results of operations. Names are those of the Rust SDK in camel case. */
export type * from "./types/client.js";
export type * from "./types/image.js";
export type { GuestSettings } from "./types/guest.js";
export type * from "./types/sandbox.js";
export type * from "./types/sandbox_info.js";
export type * from "./types/command.js";
export type * from "./types/diff.js";
export type * from "./types/file.js";
export type * from "./types/history.js";
export type * from "./types/log.js";
export type * from "./types/network.js";
export type * from "./types/question.js";
export type * from "./types/secret.js";
export type * from "./types/snapshot.js";
export type * from "./types/volume.js";
