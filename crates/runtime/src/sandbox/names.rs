use std::collections::HashSet;
use std::io;

use fs_err as fs;

use super::{CreateError, Sandbox, UnreadableSandbox};
use crate::plain_name::is_plain_name;
use durable_files::flock;

use crate::Home;

/// Maximum length of a name, in bytes: that of a DNS label (RFC 1035).
const LENGTH_MAX: usize = 63;
/// The end of the name by which SSH clients know a sandbox. A sandbox whose own name ended so would have the host name of
/// another one, so there is none.
pub const HOST_NAME_SUFFIX: &str = ".msb";

/// Returns true if a sandbox may have this name.
pub(super) fn is_name(name: &str) -> bool {
    is_plain_name(name, LENGTH_MAX)
}

/// The right to give a sandbox a name. A name that is found free stays free while it is held.
/// It is a lock on the directory of all sandboxes, so that it leaves no file there.
#[derive(Debug)]
pub(super) struct Names<'a> {
    home: &'a Home,
    _directory: fs::File,
}

impl<'a> Names<'a> {
    /// Waits until the right is free, and takes it.
    /// It is held only while a description is written and the volumes that it names are created.
    pub(super) fn take(home: &'a Home) -> io::Result<Self> {
        let directory = fs::File::open(home.sandboxes())?;
        flock::wait(&directory, flock::Kind::Exclusive)?;
        Ok(Self {
            home,
            _directory: directory,
        })
    }

    pub(super) fn check_all<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<(), CreateError> {
        check_names(self.home, names)
    }
}

/// Checks that names are valid and free at this moment, and that none is given twice.
///
/// # Errors
/// A name that is taken, invalid or given twice.
pub fn check_names<'n>(
    home: &Home,
    names: impl IntoIterator<Item = &'n str>,
) -> Result<(), CreateError> {
    let listing = Sandbox::list(home).map_err(|source| CreateError::Io {
        directory: home.sandboxes(),
        source,
    })?;
    let taken = listing
        .sandboxes
        .iter()
        .map(|sandbox| sandbox.spec.name.as_str());
    let unreadable = listing.unreadable.iter().map(UnreadableSandbox::name);
    let mut taken: HashSet<&str> = taken.chain(unreadable).collect();
    for name in names {
        if !is_name(name) || name.ends_with(HOST_NAME_SUFFIX) {
            return Err(CreateError::InvalidName {
                name: name.to_owned(),
            });
        }
        if !taken.insert(name) {
            return Err(CreateError::NameTaken {
                name: name.to_owned(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::sandbox::Spec;

    fn sandbox(home: &Home, name: &str) -> Sandbox {
        let sandbox = Sandbox::at(home, Spec::for_tests(name));
        fs::create_dir_all(&sandbox.files.directory).expect("made");
        sandbox
    }

    #[test]
    fn of_many_who_want_a_name_one_has_it() {
        const MANY: usize = 8;
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let sandboxes: Vec<_> = (0..MANY).map(|_| sandbox(&home, "wanted")).collect();
        let together = Barrier::new(MANY);
        let named = std::thread::scope(|scope| {
            let each: Vec<_> = sandboxes
                .iter()
                .map(|sandbox| {
                    scope.spawn(|| {
                        check_names(&home, ["wanted"]).expect("free at first");
                        together.wait();
                        sandbox.describe(&home)
                    })
                })
                .collect();
            let outcomes = each.into_iter().map(|one| one.join().expect("no panic"));
            outcomes.filter(Result::is_ok).count()
        });
        assert_eq!(named, 1);
        assert_eq!(Sandbox::all(&home).expect("listed").len(), 1);
    }

    #[test]
    fn a_name_is_not_the_host_name_of_another_sandbox() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let refused = check_names(&home, ["web.msb"]).expect_err("a host name");
        assert!(refused.to_string().contains("'.msb'"), "{refused}");
        check_names(&home, ["web", "web.msb.1", "webmsb"]).expect("free");
    }

    #[test]
    fn who_names_no_volume_waits_for_nobody_who_removes_one() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let guard = crate::volumes::Guard::to_remove(&home).expect("free");
        let sandbox = sandbox(&home, "a");
        let (done, told) = std::sync::mpsc::channel();
        let describing = {
            let home = home.clone();
            std::thread::spawn(move || done.send(sandbox.describe(&home).is_ok()))
        };
        let limit = std::time::Duration::from_secs(60);
        assert_eq!(told.recv_timeout(limit), Ok(true));
        drop(guard);
        describing.join().expect("no panic").expect("heard");
    }

    #[test]
    fn a_name_is_given_to_one_of_those_renamed_at_once() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::new(root.path());
        let sandboxes: Vec<_> = ["a", "b", "c", "d"]
            .iter()
            .map(|name| Sandbox::for_tests(&home, Spec::for_tests(name)))
            .collect();
        let together = Barrier::new(sandboxes.len());
        std::thread::scope(|scope| {
            for mut sandbox in sandboxes {
                let (together, home) = (&together, &home);
                scope.spawn(move || {
                    together.wait();
                    sandbox.rename(home, "wanted")
                });
            }
        });
        let all = Sandbox::all(&home).expect("listed");
        let named = all.iter().filter(|one| one.spec.name == "wanted").count();
        assert_eq!((all.len(), named), (4, 1));
    }
}
