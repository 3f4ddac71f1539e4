//! The confinement of a VMM process.
//!
//! The process has two kinds of threads, each with a jail: the supervisor's, which connects clients
//! to the agent and keeps the output of commands, and the VMM's. A program that is started from a
//! thread has at most the rights of that thread.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use fs_err as fs;
use msb_jail::{Access, Calls, Jail, Limits};
use msb_network::Network;
use msb_runtime::{LaunchSpec, SandboxPaths};

/// Open files for clients, logs and the VMM's events. Each extent of the image's disk adds three: the file
/// and its tree, and for a packed layer its cache file.
const OPEN_FILES: u64 = 4096;
/// Lower bound of the file size limit, in bytes: consoles and logs are files too.
const FILE_MIN_BYTES: u64 = 1 << 30;

/// Data memory limit of the network process, in bytes: twice the highest use that was measured.
const NETWORK_DATA_BYTES: u64 = 128 << 20;
/// The same if the process ends TLS, whose connections take at most 160 MiB (`limits.rs` in `msb-tls-edge`).
const EDGE_DATA_BYTES: u64 = 192 << 20;

/// Returns the supervisor's jail: the directory that it writes, and no other file.
pub(crate) fn supervisor_jail(files: &SandboxPaths) -> Jail {
    Jail::new(Calls::Supervisor).with(files.written(), Access::Keep)
}

/// Returns the jail of the thread that serves the image's disk: no file, because its files are open.
pub(crate) fn image_jail() -> Jail {
    Jail::new(Calls::Vmm)
}

/// Returns the jail of the threads that serve and cut a disk: its directory, and no other file.
pub(crate) fn disk_jail(directory: &Path) -> Jail {
    Jail::new(Calls::Vmm).with(directory, Access::Keep)
}

/// Returns the network process's jail: the files that it reads while it serves, and no other. Authority and roots are
/// loaded before, and the socket for the values of secrets is bound.
pub(crate) fn of_network(network: &Network) -> Jail {
    Jail::new(Calls::Network).with_any(network.files(), Access::Read)
}

/// Returns the resource limits of the network process, its memory included.
pub(crate) fn limits_of_network(network: &Network) -> Limits {
    let data_bytes = if network.ends_tls() {
        EDGE_DATA_BYTES
    } else {
        NETWORK_DATA_BYTES
    };
    Limits {
        open_files: Some(network.descriptors_max()),
        file_bytes: Some(FILE_MIN_BYTES),
        data_bytes: Some(data_bytes),
        any_owner: false,
    }
}

/// Returns the resource limits of the whole VMM process. `served_bytes` is the length of the longest disk
/// that it serves and that the guest writes.
pub(crate) fn limits(launch_spec: &LaunchSpec, serves_shares: bool, served_bytes: u64) -> Limits {
    let machine = &launch_spec.machine;
    let extents = launch_spec.image_extents.len() as u64;
    // A VMM that serves host directories itself keeps every file open that the guest's kernel
    // remembers, of any length and owner.
    let shares = serves_shares && !machine.shares.is_empty();
    // The memory is a file too if a server of a share or a disk maps it.
    let memory_bytes = u64::from(machine.memory_mib) << 20;
    // Cache files have the lengths of their layers.
    let extent_bytes = launch_spec.image_extents.iter();
    let extent_bytes = extent_bytes.map(|extent| extent.size_bytes).max();
    let longest = machine.longest_writable_bytes().max(served_bytes);
    let longest = longest.max(extent_bytes.unwrap_or(0));
    let longest = longest.max(FILE_MIN_BYTES);
    let longest = if machine.has_mapped_memory() {
        longest.max(memory_bytes)
    } else {
        longest
    };
    Limits {
        open_files: (!shares).then_some(OPEN_FILES + 3 * extents),
        file_bytes: (!shares).then_some(longest),
        data_bytes: None,
        any_owner: shares || fs::metadata(&launch_spec.home).is_ok_and(|home| home.uid() != 0),
    }
}
