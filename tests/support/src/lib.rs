//! The fixtures and tools of system tests.
//!
//! [`TestEnv`] is the msb under test with a home, a guest kernel, an image and a VMM. If none of
//! the variables in [`settings`] is set, everything is built or fetched at its first use, so a
//! single test runs by its name in a fresh working tree. [`GuestSlot`] bounds the number of tests
//! that have guests at once. [`lab::Lab`] is a machine in which KVM works on a host without it.
//! [`harness`] registers tests by name; [`process`] runs and judges commands; [`oci_layout`] writes
//! images; [`trees`] and [`listing`] describe the content of a filesystem and of a store, for
//! comparison; [`upper_disk`] makes raw files of writable disks.

mod env;
mod file_identity;
mod guest_slot;
pub mod harness;
mod home;
mod image_store;
pub mod lab;
pub mod listing;
mod msb;
pub mod oci_layout;
pub mod process;
pub mod schema;
pub mod settings;
pub mod trees;
pub mod upper_disk;

pub use env::TestEnv;
pub use guest_slot::GuestSlot;
pub use msb::{Artifacts, Msb};
pub use process::{
    Speaking, describe, expect_code, finish, inherit_variables, run_through, spawn, succeed,
};
