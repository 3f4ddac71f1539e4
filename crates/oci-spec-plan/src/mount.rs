//! Mounts: filesystems of the guest's kernel, and files of the host by the pod's share.

use container_plan::{Filesystem, Mount, MountSource, PodMemory, Propagation};

use crate::Refusal;
use crate::mount_option::{self, MountOption};
use crate::node::{Fields, Node};
use crate::plan::{HostBind, Pod, SpecPlan};
use crate::propagation;

/// The directories of the host that are no files, but views of its kernel.
const KERNEL_DIRECTORIES: [&str; 3] = ["/dev", "/proc", "/sys"];

/// A mount of a specification whose options are read.
struct Options {
    mount: Mount,
    is_bind: bool,
    /// The options that may be data of a filesystem.
    rest: Vec<Node>,
    /// The option of the propagation.
    propagation: Option<(Node, Propagation)>,
}

/// Plans a mount, and the host's part of it.
pub(crate) fn plan(mut fields: Fields, pod: &Pod, plan: &mut SpecPlan) -> Result<(), Refusal> {
    let destination = fields.require("destination")?;
    if destination.text()?.trim_end_matches('/').is_empty() {
        let reason = "it must be an absolute path below the root";
        return Err(destination.refuse(reason, None));
    }
    let kind = fields.take("type");
    let source = fields.take("source");
    let options = Options::read(fields.list("options")?, destination.text()?)?;
    fields.finish(&mut plan.notes)?;
    let is_bind = options.is_bind
        || match &kind {
            Some(kind) => kind.text()? == "bind",
            None => false,
        };
    let mount = if is_bind {
        let source = source.ok_or_else(|| {
            destination.refuse("the bind of this destination has no source", None)
        })?;
        options.bind(&source, pod, plan)?
    } else {
        let kind = kind
            .ok_or_else(|| destination.refuse("the mount of this destination has no type", None))?;
        options.filesystem(filesystem(&kind)?)?
    };
    plan.container.mounts.push(mount);
    Ok(())
}

impl Options {
    fn read(nodes: Vec<Node>, destination: &str) -> Result<Self, Refusal> {
        let mut options = Self {
            mount: Mount {
                destination: destination.to_owned(),
                ..Mount::default()
            },
            is_bind: false,
            rest: Vec::new(),
            propagation: None,
        };
        for node in nodes {
            options.apply(node)?;
        }
        Ok(options)
    }

    fn apply(&mut self, node: Node) -> Result<(), Refusal> {
        let effect = mount_option::parse(node.text()?);
        let mount = &mut self.mount;
        match effect {
            None => self.rest.push(node),
            Some(MountOption::Nothing) => {}
            Some(MountOption::Bind) => self.is_bind = true,
            Some(MountOption::RecursiveBind) => {
                self.is_bind = true;
                mount.is_recursive = true;
            }
            Some(MountOption::Set(flag)) => mount.flags |= flag,
            Some(MountOption::Clear(flag)) => mount.flags &= !flag,
            Some(MountOption::SetRecursive(flag)) => mount.recursive_flags |= flag,
            Some(MountOption::ClearRecursive(flag)) => mount.recursive_flags &= !flag,
            Some(MountOption::Propagation(propagation)) => {
                self.propagation = Some((node, propagation));
            }
            Some(MountOption::Shared) => return Err(propagation::refuse_shared(&node)),
            Some(MountOption::CopyUp) => mount.copies_up = true,
        }
        Ok(())
    }

    /// Returns the mount of a new filesystem.
    fn filesystem(mut self, kind: Filesystem) -> Result<Mount, Refusal> {
        let mut data = Vec::new();
        for node in &self.rest {
            let option = node.text()?;
            if !mount_option::is_data(kind, option) {
                let reason = "the option is not known for this type of mount";
                return Err(node.refuse(reason, None));
            }
            data.push(option);
        }
        self.mount.data = data.join(",");
        if let Some((_, propagation)) = self.propagation {
            self.mount.set_propagation(propagation);
        }
        self.mount.source = Some(MountSource::Filesystem(kind.into()));
        Ok(self.mount)
    }

    /// Returns the bind of a file or directory of the host, and adds it to the host's part.
    fn bind(mut self, source: &Node, pod: &Pod, plan: &mut SpecPlan) -> Result<Mount, Refusal> {
        if let Some(node) = self.rest.first() {
            let reason = match node.text()? {
                "idmap" | "ridmap" => "id-mapped mounts are not supported",
                _ => "the option is not known for a bind",
            };
            return Err(node.refuse(reason, None));
        }
        if let Some((node, propagation)) = &self.propagation {
            let propagation = propagation::of_bind(node, *propagation)?;
            self.mount.set_propagation(propagation);
        }
        let path = source_path(source)?;
        let memory = pod.memory.iter().find_map(|volume| {
            let below = below(path, &volume.host_path)?;
            Some(PodMemory {
                path: below.to_owned(),
                ..volume.memory.clone()
            })
        });
        self.mount.source = Some(match memory {
            Some(memory) => MountSource::PodMemory(memory),
            None => MountSource::Share(self.share(path, pod, plan)),
        });
        Ok(self.mount)
    }

    /// Adds a bind to the host's part, and returns the name of its entry in the share.
    fn share(&self, source: &str, pod: &Pod, plan: &mut SpecPlan) -> String {
        let binds = &mut plan.host.binds;
        let number = pod.first_share_entry.saturating_add(binds.len());
        let entry = number.to_string();
        let all_flags = self.mount.flags | self.mount.recursive_flags;
        binds.push(HostBind {
            source: source.to_owned(),
            entry: entry.clone(),
            is_read_only: all_flags & container_plan::flags::READ_ONLY != 0,
            is_recursive: self.mount.is_recursive,
        });
        entry
    }
}

/// Returns the kind of a filesystem that the guest's kernel makes.
fn filesystem(kind: &Node) -> Result<Filesystem, Refusal> {
    Ok(match kind.text()? {
        "proc" => Filesystem::Proc,
        "sysfs" => Filesystem::Sysfs,
        "devpts" => Filesystem::Devpts,
        "tmpfs" => Filesystem::Tmpfs,
        "mqueue" => Filesystem::Mqueue,
        // A guest has version 2 only, whatever the host has.
        "cgroup" | "cgroup2" => Filesystem::Cgroup2,
        _ => {
            return Err(kind.refuse(
                "it must be bind, proc, sysfs, devpts, tmpfs, mqueue or cgroup",
                Some("mount it on the host, and bind the directory"),
            ));
        }
    })
}

fn source_path(source: &Node) -> Result<&str, Refusal> {
    let path = source.text()?;
    if !path.starts_with('/') || path.split('/').any(|part| part == "..") || path.contains('\0') {
        let reason = "it must be an absolute path without \"..\"";
        return Err(source.refuse(reason, None));
    }
    let is_kernels = |directory: &&str| below(path, directory).is_some();
    if KERNEL_DIRECTORIES.iter().any(is_kernels) {
        return Err(source.refuse(
            "devices and kernel filesystems of the host do not exist in a guest",
            Some("remove the mount: a container has its own /dev, /proc and /sys"),
        ));
    }
    Ok(path)
}

/// Returns a path relative to a directory, without slashes at its ends; `None` if it is not the directory and not below
/// it.
fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(directory.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_below_its_directory_and_not_beside_it() {
        assert_eq!(below("/a/b", "/a/b"), Some(""));
        assert_eq!(below("/a/b/", "/a/b"), Some(""));
        assert_eq!(below("/a/b/c/d", "/a/b/"), Some("c/d"));
        assert_eq!(below("/a/bc", "/a/b"), None);
        assert_eq!(below("/a", "/a/b"), None);
    }
}
