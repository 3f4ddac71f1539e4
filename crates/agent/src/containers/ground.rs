use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use container_plan::{ContainerPlan, MountSource, PodMemory};
use guest_container::{Group, RootSource, SCRATCH};
use msb_agent_protocol::v1::{ContainerDisks, ContainerRoot, container_root};
use msb_agent_protocol::{Bytes, Status};

use super::memory::Memory;
use super::{invalid, refused};
use crate::boot::{self, own_mounts};
use crate::exec;

/// The most layers of a root. containerd's images have at most 127.
const LAYERS_MAX: usize = 128;

/// All that a container has before its first process.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) group: Group,
    pub(super) memory: Vec<Memory>,
    pub(super) root: RootSource,
    pub(super) upper: Option<UpperDisk>,
}

/// A container's disk for changes, by its device node. The end of the machine waits for its unmount while this value
/// exists.
#[derive(Debug)]
pub(super) struct UpperDisk(String);

impl UpperDisk {
    fn new(device: String) -> Self {
        boot::note_written(&device);
        Self(device)
    }

    pub(super) fn device(&self) -> &str {
        &self.0
    }
}

impl Drop for UpperDisk {
    fn drop(&mut self) {
        boot::note_released(&self.0);
    }
}

impl Ground {
    /// Prepares a container, and opens the directory of the agent's own mounts for it. It waits for disks.
    pub(super) fn prepare(
        plan: &ContainerPlan,
        root: ContainerRoot,
    ) -> Result<(Self, OwnedFd), Status> {
        let (root, upper) = describe(root)?;
        let own_mounts = scratch().map_err(|error| refused("prepare the mounts", &error))?;
        let memory = memory(plan).map_err(|error| refused("mount the pod's memory", &error))?;
        let groups = boot::commands_group();
        let groups = groups.ok_or_else(|| {
            Status::failed_precondition("the guest's kernel has no control groups")
        })?;
        let name = format!("container-{}", exec::next_number());
        let group = Group::create(groups.directory(), &name, &plan.cgroup);
        let group = group.map_err(|error| invalid(&error))?;
        let ground = Self {
            group,
            memory,
            root,
            upper: upper.map(UpperDisk::new),
        };
        Ok((ground, own_mounts))
    }
}

/// Makes the mount point of first processes, and opens the directory that it is in.
fn scratch() -> io::Result<OwnedFd> {
    match own_mounts::point(SCRATCH, 0o700) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    own_mounts::directory()?.try_clone()
}

/// Mounts the memory of the pod that the plan names, each filesystem once.
fn memory(plan: &ContainerPlan) -> io::Result<Vec<Memory>> {
    let mut names = BTreeSet::new();
    let wanted = plan.mounts.iter().filter_map(|mount| match &mount.source {
        Some(MountSource::PodMemory(memory)) => Some(memory),
        _ => None,
    });
    let wanted = wanted.filter(|memory: &&PodMemory| names.insert(memory.name.clone()));
    wanted.map(Memory::acquire).collect()
}

/// Returns the origin of a root, and the device node of its disk for changes.
fn describe(root: ContainerRoot) -> Result<(RootSource, Option<String>), Status> {
    match root.source {
        Some(container_root::Source::Directory(path)) => Ok((of_directory(&path)?, None)),
        Some(container_root::Source::Disks(disks)) => of_disks(&disks),
        None => Err(Status::invalid_argument(
            "the container has no root filesystem",
        )),
    }
}

fn of_directory(path: &Bytes) -> Result<RootSource, Status> {
    if !path.starts_with(b"/") || path.contains(&0) {
        let message = format!(
            "the root directory {} is not an absolute path",
            path.escape_ascii()
        );
        return Err(Status::invalid_argument(message));
    }
    Ok(RootSource::Directory(OsStr::from_bytes(path).into()))
}

fn of_disks(disks: &ContainerDisks) -> Result<(RootSource, Option<String>), Status> {
    let count = disks.layers.len();
    if !(1..=LAYERS_MAX).contains(&count) {
        let message = format!("the root has {count} layers, accepted are 1 to {LAYERS_MAX}");
        return Err(Status::invalid_argument(message));
    }
    let find = |serial: &String| {
        boot::wait_for_disk(serial).map_err(|error| Status::invalid_argument(error.to_string()))
    };
    let upper = Some(&disks.upper).filter(|serial| !serial.is_empty());
    let upper = upper.map(find).transpose()?;
    let layers = disks
        .layers
        .iter()
        .map(|serial| find(serial).map(PathBuf::from));
    let source = RootSource::Disks {
        layers: layers.collect::<Result<_, _>>()?,
        upper: upper.as_ref().map(PathBuf::from),
    };
    Ok((source, upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_a_path_or_some_disks() {
        let directory = |path: &'static [u8]| {
            let source = container_root::Source::Directory(Bytes::from_static(path));
            describe(ContainerRoot {
                source: Some(source),
            })
        };
        let described = directory(b"/srv/root").expect("a path");
        let source = RootSource::Directory("/srv/root".into());
        assert_eq!(described, (source, None));
        for path in [&b""[..], b"srv", b"/a\0b"] {
            directory(path).expect_err("no path");
        }
        describe(ContainerRoot::default()).expect_err("nothing");
        let none = container_root::Source::Disks(ContainerDisks::default());
        let none = ContainerRoot { source: Some(none) };
        describe(none).expect_err("no layer");
    }
}
