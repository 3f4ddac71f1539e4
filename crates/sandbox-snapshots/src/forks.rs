//! Forks: new sandboxes whose disks begin with that of another one, and share its generations.

use std::io;

use durable_files::{each_at_once, now_s};
use fs_err as fs;
use fstree::Metadata;
use image_store::StoredImage;
use msb_network::Publish;
use msb_runtime::{
    CreateError, CreateOptions, Home, Lock, MountError, Sandbox, SandboxId, Spec, check_names,
    staged, write_anonymous_volumes,
};

use crate::Origin;

/// Sandboxes that were forked.
#[derive(Debug)]
pub struct Forked {
    /// The new sandboxes, in the order of their names.
    pub sandboxes: Vec<Sandbox>,
    /// The ports of the host that lead into the source and into no fork.
    pub unpublished: Vec<Publish>,
}

impl Origin {
    /// Makes a sandbox of each name, and of its id where there is none. It has the options of the source,
    /// an id and a hostname of its own, and none of the ports of the host that the source names. It has the
    /// placeholders of the source's secrets and its authority, which files on the disk may hold. It is kept
    /// when it stops.
    ///
    /// # Errors
    /// A name that is taken, invalid or given twice, files that cannot be written. Nothing is left of the
    /// sandboxes then.
    pub fn fork(&self, home: &Home, names: &[Option<String>]) -> Result<Forked, CreateError> {
        let specs = names.iter().map(|name| self.child(name.clone()));
        let specs = specs.collect::<io::Result<Vec<Spec>>>();
        let io_error = |source| CreateError::Io {
            directory: home.sandboxes(),
            source,
        };
        let children = specs.map_err(io_error)?.into_iter();
        let children: Vec<Sandbox> = children.map(|spec| Sandbox::at(home, spec)).collect();
        check_names(home, children.iter().map(|child| child.spec.name.as_str()))?;
        // Nobody starts or removes one before all are there.
        let mut locks = Vec::new();
        let made = self.make(home, &children, &mut locks);
        if made.is_err() {
            for child in children.iter().take(locks.len()) {
                // The first error is the one that is reported.
                let _ = fs::remove_dir_all(&child.files.directory);
            }
        }
        made?;
        let published = self
            .spec
            .network
            .iter()
            .flat_map(|network| &network.publish);
        Ok(Forked {
            sandboxes: children,
            unpublished: published
                .filter(|publish| is_given(publish))
                .copied()
                .collect(),
        })
    }

    /// Creates a sandbox of the source's image, if it has one, with options of its own, whose disk begins with
    /// that of the source. The options have no changes to the image's files, and their image is ignored.
    ///
    /// # Errors
    /// Fails as [`Sandbox::create`] does.
    pub fn create(
        &self,
        home: &Home,
        image: Option<&StoredImage>,
        mut options: CreateOptions,
    ) -> Result<(Sandbox, Lock), CreateError> {
        let upper_bytes = options.resources.upper_bytes.max(self.size_bytes());
        options.resources.upper_bytes = upper_bytes;
        options.image.clone_from(&self.spec.image);
        options.root_disk.clone_from(&self.spec.root_disk);
        options.native_root = self.spec.native_root;
        if staged(&options.mounts).next().is_some() {
            return Err(MountError::StagedFork.into());
        }
        let write_upper = |sandbox: &Sandbox, _: &[Metadata]| self.write_disk(&sandbox.files);
        Sandbox::create_with(home, image, options, write_upper)
    }

    fn make(
        &self,
        home: &Home,
        children: &[Sandbox],
        locks: &mut Vec<Lock>,
    ) -> Result<(), CreateError> {
        for child in children {
            locks.push(begin(child)?);
        }
        each_at_once(children, |child| {
            let directory = &child.files.directory;
            let written = self.trust.write(directory);
            written.map_err(|source| CreateError::Io {
                directory: directory.clone(),
                source,
            })?;
            self.write_disk(&child.files)?;
            write_anonymous_volumes(child)
        })?;
        Sandbox::describe_all(home, children)
    }

    /// Returns the description of a fork.
    fn child(&self, name: Option<String>) -> io::Result<Spec> {
        let source = &self.spec;
        let id = SandboxId::random()?;
        let name = name.unwrap_or_else(|| id.to_string());
        let mut network = source.network.clone();
        if let Some(network) = &mut network {
            network.publish.retain(|publish| !is_given(publish));
        }
        Ok(Spec {
            id,
            created_s: now_s(),
            upper_bytes: source.upper_bytes.max(self.size_bytes()),
            remove_when_stopped: false,
            removed_with_owner: false,
            last_snapshot_number: 0,
            guest: source.guest.clone().for_copy(&name),
            network,
            name,
            ..source.clone()
        })
    }
}

/// Makes the directory of a fork, and takes its lock. Nothing is left if either fails.
fn begin(child: &Sandbox) -> Result<Lock, CreateError> {
    let directory = &child.files.directory;
    let io_error = |source| CreateError::Io {
        directory: directory.clone(),
        source,
    };
    durable_files::create_directory(directory).map_err(io_error)?;
    let lock = Lock::take(&child.files);
    let lock = lock.and_then(|lock| lock.ok_or_else(|| io::ErrorKind::ResourceBusy.into()));
    lock.map_err(|source| {
        // The first error is the one that is reported.
        let _ = fs::remove_dir_all(directory);
        io_error(source)
    })
}

/// Returns true if the user chose the port of the host, which one sandbox can have.
fn is_given(publish: &Publish) -> bool {
    publish.host.port() != 0
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use testkit::sandboxes::spec;

    /// The longest path of a directory that Linux makes, in bytes.
    const PATH_BYTES_MAX: usize = 4095;

    #[test]
    fn a_fork_whose_lock_cannot_be_made_leaves_no_directory() {
        let temporary = tempfile::tempdir().expect("a directory");
        let spec = spec("fork");
        let is_too_long = |root: &Path| {
            let home = Home::new(root);
            let directory = Sandbox::at(&home, spec.clone()).files.directory;
            directory.as_os_str().len() > PATH_BYTES_MAX
        };
        // The path of the sandbox's directory is as long as it may be, so that of its lock is too long.
        let mut root = temporary.path().to_owned();
        for name in ["n".repeat(250), "n".to_owned()] {
            while !is_too_long(&root.join(&name)) {
                root.push(&name);
            }
        }
        let home = Home::new(&root);
        fs::create_dir_all(home.sandboxes()).expect("made");
        let error = begin(&Sandbox::at(&home, spec)).expect_err("no lock");
        let CreateError::Io { source, .. } = error else {
            panic!("{error}");
        };
        assert!(source.to_string().contains("/lock`"), "{source}");
        let left = fs::read_dir(home.sandboxes()).expect("read").count();
        assert_eq!(left, 0);
    }
}
