//! Machines that boot under QEMU.
//!
//! They need a guest kernel (`MSB_KERNEL`, or the system's libkrunfw), `mkfs.erofs` and QEMU, and
//! fail without them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod boot;
mod guest;
mod host;
