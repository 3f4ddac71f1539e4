//! The rights of a process of a container, which are taken before it becomes its program.

use std::io;
use std::path::Path;

use container_plan::{Capabilities, Process, SeccompFilter, UNLIMITED};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::{Gid, Rlimit, Uid, fchdir, setrlimit, umask};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capability_is_in_bounding_set, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_keep_capabilities, set_no_new_privs, set_thread_gid, set_thread_groups, set_thread_uid,
};

use crate::error::step;
use crate::limits::resource;
use crate::point::mount_point;
use crate::{ContainerError, seccomp};

/// The mask for the modes of new files if the plan has none.
const UMASK: u32 = 0o022;

/// Takes all rights away that the process does not have. It is called in the container's root, as root, with one
/// thread, right before the program is executed.
///
/// `ready` is called as the process's user before the filter of system calls is put on, which may forbid whatever it
/// does. Without `no_new_privileges` the filter needs a right that the user does not have, and comes before; it has to
/// allow the calls of this function then, as with runc.
///
/// # Errors
/// If the kernel refuses a step, or `ready` fails.
pub(crate) fn restrict<T, E: From<ContainerError>>(
    process: &Process,
    filter: Option<&SeccompFilter>,
    ready: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    const FILTER: &str = "put on the filter of system calls";
    limit(process)?;
    work_in(&process.cwd)?;
    umask(Mode::from_raw_mode(process.umask.unwrap_or(UMASK)));
    if process.no_new_privileges {
        set_no_new_privs(true).map_err(step("set no_new_privs"))?;
    }
    let (early, late) = match filter {
        filter if process.no_new_privileges => (None, filter),
        filter => (filter, None),
    };
    if let Some(filter) = early {
        seccomp::put_on(filter).map_err(step(FILTER))?;
    }
    become_user(process)?;
    let made = ready()?;
    if let Some(filter) = late {
        seccomp::put_on(filter).map_err(step(FILTER))?;
    }
    Ok(made)
}

fn limit(process: &Process) -> Result<(), ContainerError> {
    let limited = |limit: u64| (limit != UNLIMITED).then_some(limit);
    for each in &process.rlimits {
        let name = &each.resource;
        let resource = resource(name).ok_or_else(|| ContainerError::Unavailable {
            what: format!("the limit {name:?}"),
        })?;
        let rlimit = Rlimit {
            current: limited(each.soft),
            maximum: limited(each.hard),
        };
        setrlimit(resource, rlimit).map_err(step(format!("set the limit {name}")))?;
    }
    Ok(())
}

/// Enters the working directory, and makes it if it does not exist. The image names it: links of `/proc` to files that
/// this process or another one has open, which can lie outside of the root, are not followed.
fn work_in(directory: &str) -> Result<(), ContainerError> {
    let entered = || -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open("/", flags, Mode::empty())?;
        let found = mount_point(&root, Path::new(directory))?;
        Ok(fchdir(&found)?)
    };
    entered().map_err(step(format!("use {directory:?} as working directory")))
}

/// Takes the user, the groups and the capabilities. The bounding set goes first, because its change needs a capability.
fn become_user(process: &Process) -> Result<(), ContainerError> {
    let Capabilities {
        bounding,
        effective,
        permitted,
        inheritable,
        ambient,
    } = process.capabilities;
    bound(bounding).map_err(step("bound the capabilities"))?;
    set_keep_capabilities(true).map_err(step("keep the capabilities"))?;
    let groups = process.additional_gids.iter();
    let groups: Vec<Gid> = groups.map(|&gid| Gid::from_raw(gid)).collect();
    set_thread_groups(&groups).map_err(step("set the additional groups"))?;
    let (uid, gid) = (process.uid, process.gid);
    set_thread_gid(Gid::from_raw(gid)).map_err(step(format!("become group {gid}")))?;
    set_thread_uid(Uid::from_raw(uid)).map_err(step(format!("become user {uid}")))?;
    set_keep_capabilities(false).map_err(step("keep no more capabilities"))?;
    let sets = CapabilitySets {
        effective: CapabilitySet::from_bits_retain(effective),
        permitted: CapabilitySet::from_bits_retain(permitted),
        inheritable: CapabilitySet::from_bits_retain(inheritable),
    };
    set_capabilities(None, sets).map_err(step("set the capabilities"))?;
    clear_ambient_capability_set().map_err(step("set the ambient capabilities"))?;
    for capability in each_of(ambient) {
        configure_capability_in_ambient_set(capability, true)
            .map_err(step("set the ambient capabilities"))?;
    }
    Ok(())
}

/// Removes all capabilities from the bounding set but these.
fn bound(kept: u64) -> io::Result<()> {
    for capability in each_of(!kept) {
        match capability_is_in_bounding_set(capability) {
            Ok(true) => remove_capability_from_bounding_set(capability)?,
            Ok(false) => {}
            // The kernel has no capability of this number.
            Err(Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns a set for each bit.
fn each_of(bits: u64) -> impl Iterator<Item = CapabilitySet> {
    let each = (0..u64::BITS).map(|number| 1 << number);
    let set = each.filter(move |bit: &u64| bits & bit != 0);
    set.map(CapabilitySet::from_bits_retain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_capability_is_a_set_of_its_own() {
        let bits = |sets: u64| -> Vec<u64> { each_of(sets).map(|set| set.bits()).collect() };
        assert_eq!(bits(0), []);
        assert_eq!(bits(0b1010), [0b10, 0b1000]);
        assert_eq!(bits(u64::MAX).len(), 64);
    }
}
