//! The output and effects of `msb` without a machine.

mod arguments;
mod diff;
mod images;
mod logs;
mod native_root;
mod registries;
mod root_disk;
mod save;
mod snapshot_archives;
mod snapshots;
mod staged_disk;
mod staging;
mod support;
mod trust;
mod undo;
mod unstarted;
