//! Values of the SDK, read from and written to text and JSON.

mod modes;
mod mounts;
mod name_pattern;
mod options;
mod root_disk;
mod sendable;
mod texts;
