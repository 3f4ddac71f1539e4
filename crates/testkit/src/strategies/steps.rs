use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::TarEntry;

/// An entry of a layer.
#[derive(Debug, Clone)]
pub struct Step {
    /// Path of the entry, up to three components; none for the root.
    pub path: Vec<String>,
    /// Type and content of the entry.
    pub action: Action,
    /// Number from which mode, owner, time and xattr are derived.
    pub seed: u8,
}

/// Effect of an entry.
#[derive(Debug, Clone)]
pub enum Action {
    /// Creates a regular file with this content.
    File(Vec<u8>),
    /// Creates a directory.
    Directory,
    /// Creates a symlink with this target.
    Symlink(String),
    /// Creates a hard link to this path.
    Hardlink(Vec<String>),
    /// Creates a pipe.
    Fifo,
    /// Adds `.wh.` before the last component.
    Whiteout,
    /// Adds `.wh..wh..opq` in the directory.
    Opaque,
}

impl Step {
    /// Returns the tar entry for this step.
    pub fn entry(&self) -> TarEntry {
        let path = if self.path.is_empty() {
            "./".to_owned()
        } else {
            self.path.join("/")
        };
        let entry = match &self.action {
            Action::File(content) => TarEntry::file(path, content),
            Action::Directory => TarEntry::directory(path),
            Action::Symlink(target) => TarEntry::symlink(path, target),
            Action::Hardlink(target) => TarEntry::hardlink(path, target.join("/")),
            Action::Fifo => TarEntry::new(b'6', path),
            Action::Whiteout => {
                let (last, parents) = self.path.split_last().expect("paths have components");
                let marker = format!(".wh.{last}");
                TarEntry::file([parents, &[marker]].concat().join("/"), "")
            }
            Action::Opaque => TarEntry::file(format!("{path}/.wh..wh..opq"), ""),
        };
        let entry = entry
            .mode(self.mode().into())
            .owner(self.uid().into(), 0)
            .mtime(self.seconds(), 0);
        match self.xattr() {
            Some((name, value)) => entry.xattr(name, value),
            None => entry,
        }
    }

    /// Returns the permission bits.
    pub const fn mode(&self) -> u16 {
        if self.seed.is_multiple_of(2) {
            0o600
        } else {
            0o4755
        }
    }

    /// Returns the owner's id.
    pub fn uid(&self) -> u32 {
        u32::from(self.seed % 3)
    }

    /// Returns the modification time, in seconds since the epoch.
    pub fn seconds(&self) -> i64 {
        i64::from(self.seed)
    }

    /// Returns an xattr for three of seven seeds, otherwise `None`. Only files and directories may
    /// have `user.three`.
    pub fn xattr(&self) -> Option<(&'static str, Vec<u8>)> {
        let name = match self.seed % 7 {
            0 => "security.one",
            1 => "security.two",
            2 => "user.three",
            _ => return None,
        };
        Some((name, vec![self.seed]))
    }
}

/// Returns a strategy for one to four layers of up to nine entries.
pub fn layers() -> impl Strategy<Value = Vec<Vec<Step>>> {
    prop::collection::vec(prop::collection::vec(step(), 0..10), 1..5)
}

/// Returns the layers of [`layers`] for a number, the same at every call.
///
/// # Panics
/// Never, because these strategies reject nothing.
pub fn layers_of_seed(number: u64) -> Vec<Vec<Step>> {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let tree = layers().new_tree(&mut runner);
    tree.expect("nothing is refused").current()
}

fn step() -> impl Strategy<Value = Step> {
    (path(), action(), any::<u8>()).prop_map(|(mut path, action, seed)| {
        let may_be_root = matches!(action, Action::Directory | Action::Opaque);
        if may_be_root && seed.is_multiple_of(16) {
            path.clear();
        }
        Step { path, action, seed }
    })
}

fn path() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(component(), 1..4)
}

fn component() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned)
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        5 => prop::collection::vec(any::<u8>(), 0..3).prop_map(Action::File),
        5 => Just(Action::Directory),
        1 => target().prop_map(Action::Symlink),
        2 => path().prop_map(Action::Hardlink),
        1 => Just(Action::Fifo),
        3 => Just(Action::Whiteout),
        1 => Just(Action::Opaque),
    ]
}

fn target() -> impl Strategy<Value = String> {
    let targets = vec!["a", "b", "/c", "../b", "../../a", "/a/b", "b/../c"];
    prop::sample::select(targets).prop_map(str::to_owned)
}
