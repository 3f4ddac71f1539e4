//! What is left to the process of a machine.
//!
//! It has two kinds of threads, and each kind a jail of its own: the keeper's, which joins
//! clients to the agent and keeps what commands print, and the VMM's. What a program started
//! from one of them may do, that thread may too, and no more.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use fs_err as fs;
use msb_jail::{Access, Calls, Jail, Limits};
use msb_network::Network;
use msb_vmm::{Machine, RunError};

use crate::sandbox::Files;

/// Descriptors for clients, logs and the VMM's own events. Each file of a disk takes one more, and a
/// second while it is opened.
const OPEN_FILES: u64 = 4096;
/// The shortest that the longest file may be, in bytes: consoles and logs are files too.
const FILE_MIN_BYTES: u64 = 1 << 30;

/// Memory that the process of a network may have of its own, in bytes: twice what it was seen to take.
const NETWORK_DATA_BYTES: u64 = 128 << 20;

/// The keeper's: the directory that it writes, and no other file.
pub(crate) fn of_keeper(files: &Files) -> Jail {
    Jail::new(Calls::Attendant).with(files.written(), Access::Keep)
}

/// That of a sandbox's network: whom to ask for names, and no other file.
pub(crate) fn of_network(network: &Network) -> Jail {
    Jail::new(Calls::Network).with_any(network.files(), Access::Read)
}

/// What the process of a network may take. It is bounded well below in what it takes of memory.
pub(crate) fn limits_of_network(network: &Network) -> Limits {
    Limits {
        open_files: Some(network.descriptors_max()),
        file_bytes: Some(FILE_MIN_BYTES),
        data_bytes: Some(NETWORK_DATA_BYTES),
        any_owner: false,
    }
}

/// What the whole process may take of what the kernel counts.
pub(crate) fn limits(
    machine: &Machine,
    serves_shares: bool,
    home: &Path,
) -> Result<Limits, RunError> {
    let mut extents = 0;
    for disk in &machine.disks {
        extents += disk.extents()?.len() as u64;
    }
    // A VMM that serves directories itself has every file open that its guest's kernel remembers, of
    // whatever length and owner.
    let shares = serves_shares && !machine.shares.is_empty();
    // Memory that another process maps is a file, too.
    let memory_bytes = u64::from(machine.memory_mib) << 20;
    let longest = machine.longest_writable_bytes().max(FILE_MIN_BYTES);
    let longest = match machine.shares.is_empty() {
        true => longest,
        false => longest.max(memory_bytes),
    };
    Ok(Limits {
        open_files: (!shares).then_some(OPEN_FILES + 2 * extents),
        file_bytes: (!shares).then_some(longest),
        data_bytes: None,
        any_owner: shares || fs::metadata(home).is_ok_and(|home| home.uid() != 0),
    })
}
