//! The memory that the containers of a pod share: filesystems in the agent's own mounts, each as long as a container
//! uses it.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use container_plan::PodMemory;
use guest_container::memory_name;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::boot::own_mounts;
use crate::console;

/// The number of uses of each filesystem, by its name in the plans.
static USES: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// The mode of a filesystem whose plan has none.
const MODE: u32 = 0o1777;

/// The use of a filesystem by a container. The last one unmounts it when it is dropped.
#[derive(Debug)]
pub(super) struct Memory {
    name: String,
}

impl Memory {
    /// Mounts the filesystem, unless another container uses it.
    pub(super) fn acquire(wanted: &PodMemory) -> io::Result<Self> {
        let mut uses = uses();
        let name = wanted.name.clone();
        match uses.get_mut(&name) {
            Some(count) => *count += 1,
            None => {
                mount_memory(wanted)?;
                uses.insert(name.clone(), 1);
            }
        }
        Ok(Self { name })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let mut uses = uses();
        let Some(count) = uses.get_mut(&self.name) else {
            return;
        };
        *count -= 1;
        if *count > 0 {
            return;
        }
        uses.remove(&self.name);
        if let Err(error) = unmount_memory(&self.name) {
            console::log(&format!("cannot unmount the memory {}: {error}", self.name));
        }
    }
}

fn mount_memory(wanted: &PodMemory) -> io::Result<()> {
    let point = own_mounts::point(&memory_name(&wanted.name), 0o700)?;
    let mode = if wanted.mode == 0 { MODE } else { wanted.mode };
    let mut options = format!("mode={mode:o}");
    if wanted.size_bytes > 0 {
        options.push_str(&format!(",size={}", wanted.size_bytes));
    }
    let options = CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let mounted = mount("tmpfs", &point, "tmpfs", flags, options.as_c_str());
    if mounted.is_err() {
        let _ = own_mounts::remove(&memory_name(&wanted.name));
    }
    Ok(mounted?)
}

fn unmount_memory(name: &str) -> io::Result<()> {
    let name = memory_name(name);
    let Some(point) = own_mounts::path(&name) else {
        // It went with the root.
        return Ok(());
    };
    unmount(&point, UnmountFlags::DETACH)?;
    own_mounts::remove(&name)
}

fn uses() -> MutexGuard<'static, BTreeMap<String, usize>> {
    USES.lock().unwrap_or_else(PoisonError::into_inner)
}
