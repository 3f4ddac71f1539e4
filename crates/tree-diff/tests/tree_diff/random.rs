//! Random trees and random changes: what the comparison finds makes the new tree of the old one.

use fstree::{Device, FileKind, Inode, InodeId, Metadata, Name, Tree, Xattrs};
use proptest::collection::vec;
use proptest::prelude::*;
use tree_diff::InMemory;
use tree_diff::{Scope, Unrelated, compare};

use crate::rebuilt::assert_rebuilt;
use crate::trees::{Files, changes};

/// One change. The numbers choose among what is there.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    Add(usize, usize, u8),
    Link(usize, usize, usize),
    Remove(usize),
    Move(usize, usize, usize),
    Describe(usize, u8),
    Write(usize, u8),
    Replace(usize, u8),
}

pub(crate) fn action() -> impl Strategy<Value = Action> {
    let number = 0..40_usize;
    let small = 0..8_u8;
    prop_oneof![
        4 => (number.clone(), number.clone(), small.clone()).prop_map(|(a, b, c)| Action::Add(a, b, c)),
        2 => (number.clone(), number.clone(), number.clone()).prop_map(|(a, b, c)| Action::Link(a, b, c)),
        2 => number.clone().prop_map(Action::Remove),
        1 => (number.clone(), number.clone(), number.clone()).prop_map(|(a, b, c)| Action::Move(a, b, c)),
        2 => (number.clone(), small.clone()).prop_map(|(a, b)| Action::Describe(a, b)),
        2 => (number.clone(), small.clone()).prop_map(|(a, b)| Action::Write(a, b)),
        2 => (number, small).prop_map(|(a, b)| Action::Replace(a, b)),
    ]
}

const NAMES: [&[u8]; 6] = [b"a", b"b", b"c", b"a b", b"\xff\n", b".wh.a"];

fn name(number: usize) -> Name {
    Name::new(NAMES[number % NAMES.len()]).expect("a name")
}

fn kind(number: u8) -> FileKind<Vec<u8>> {
    match number {
        0 | 1 => FileKind::Directory(Default::default()),
        2 => FileKind::Symlink(b"a".as_slice().into()),
        3 => FileKind::CharDevice(Device { major: 1, minor: 3 }),
        6 => FileKind::Fifo,
        7 => FileKind::Socket,
        other => FileKind::Regular(vec![other; usize::from(other)]),
    }
}

fn pick<T: Copy>(from: &[T], number: usize) -> Option<T> {
    (!from.is_empty()).then(|| from[number % from.len()])
}

pub(crate) fn act(tree: &mut Files, action: &Action) {
    let mut directories = vec![tree.root()];
    let (mut others, mut links) = (Vec::new(), Vec::new());
    for link in tree.links() {
        if tree.directory(link.id).is_some() {
            directories.push(link.id);
        } else {
            others.push(link.id);
        }
        links.push((link.parent, link.name.clone(), link.id));
    }
    let link = |number: usize| (!links.is_empty()).then(|| links[number % links.len()].clone());
    let directory = |number: usize| directories[number % directories.len()];
    match *action {
        Action::Add(parent, label, what) => {
            add(tree, directory(parent), name(label), what);
        }
        Action::Link(parent, label, file) => {
            let (parent, label) = (directory(parent), name(label));
            let is_free = tree.lookup(parent, label.as_bytes()).is_none();
            if let Some(file) = pick(&others, file).filter(|_| is_free) {
                tree.link(parent, label, file);
            }
        }
        Action::Remove(number) => {
            if let Some((parent, label, _)) = link(number) {
                tree.unlink(parent, label.as_bytes());
            }
        }
        Action::Move(number, parent, label) => {
            let (parent, label) = (directory(parent), name(label));
            if let Some((from, old, id)) = link(number)
                && !is_below(tree, id, parent)
                && tree.lookup(parent, label.as_bytes()).is_none()
            {
                tree.unlink(from, old.as_bytes());
                tree.link(parent, label, id);
            }
        }
        Action::Describe(number, how) => {
            let id = link(number).map_or(tree.root(), |(_, _, id)| id);
            let metadata = &mut tree.inode_mut(id).metadata;
            match how {
                0 => metadata.mode ^= 0o111,
                1 => metadata.uid += 1,
                2 => metadata.mtime.seconds += 1,
                _ => metadata.xattrs = Xattrs::from_iter([("user.a", [how])]),
            }
        }
        Action::Write(number, byte) => {
            if let Some(id) = pick(&others, number)
                && let FileKind::Regular(content) = &mut tree.inode_mut(id).kind
            {
                content.push(byte);
            }
        }
        Action::Replace(number, what) => {
            if let Some((parent, label, _)) = link(number) {
                tree.unlink(parent, label.as_bytes());
                add(tree, parent, label, what);
            }
        }
    }
}

fn add(tree: &mut Files, parent: InodeId, label: Name, what: u8) {
    if tree.lookup(parent, label.as_bytes()).is_none() {
        let metadata = Metadata::with_mode(0o644);
        let id = tree.add(Inode {
            metadata,
            kind: kind(what),
        });
        tree.link(parent, label, id);
    }
}

fn is_below(tree: &Files, id: InodeId, mut directory: InodeId) -> bool {
    loop {
        if directory == id {
            return true;
        }
        let above = tree.links().find(|link| link.id == directory);
        match above {
            Some(link) => directory = link.parent,
            None => return false,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_changes_make_the_new_tree_of_the_old(
        before in vec(action(), 0..40),
        after in vec(action(), 0..20),
    ) {
        let mut old: Files = Tree::new(Metadata::directory(0o755));
        before.iter().for_each(|action| act(&mut old, action));
        let mut new = old.clone();
        after.iter().for_each(|action| act(&mut new, action));
        assert_rebuilt(&old, &new, &changes(&old, &new, &Scope::everything()));
        assert_rebuilt(&new, &old, &changes(&new, &old, &Scope::everything()));
        let (same, copy) = (InMemory(new.clone()), InMemory(new));
        let none = compare(&same, &copy, &Unrelated, &Scope::everything());
        prop_assert!(none.expect("compared").is_empty());
    }
}
