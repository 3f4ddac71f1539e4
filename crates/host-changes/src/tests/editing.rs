//! Reads of the sandbox's files, and edits of the host's files meanwhile.

use std::cell::Cell;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use fstree::{FileKind, Name, Segment};
use tree_diff::{InMemory, Scope, Side, Unrelated, compare};

use super::super::host_directory::HostDirectory;
use super::super::plan::Plan;
use super::super::write::Written;
use super::super::{ApplyError, ApplyOptions};
use super::{Files, mode, plan, read_tree, run, set_metadata, temporary, tree, write_tree};

/// A side that counts what is read of it, and edits a file of the host then if it is armed.
pub(super) struct Editing {
    files: InMemory,
    edited: PathBuf,
    pub(super) is_armed: Cell<bool>,
    read_bytes: Cell<u64>,
}

impl Editing {
    pub(super) fn new(files: &Files, edited: PathBuf) -> Self {
        Self {
            files: InMemory(files.clone()),
            edited,
            is_armed: Cell::new(false),
            read_bytes: Cell::new(0),
        }
    }
}

impl Side for Editing {
    type Content = Vec<u8>;
    type Error = io::Error;

    fn tree(&self) -> &Files {
        self.files.tree()
    }

    fn size_bytes(&self, content: &Vec<u8>) -> u64 {
        self.files.size_bytes(content)
    }

    /// All zeros at the start are a hole.
    fn segments(&self, content: &Vec<u8>) -> Vec<Segment> {
        let zeros = content.iter().take_while(|&&byte| byte == 0).count();
        let data = Segment {
            offset_bytes: zeros as u64,
            length_bytes: (content.len() - zeros) as u64,
        };
        vec![data]
    }

    fn read_at(&self, content: &Vec<u8>, offset_bytes: u64, buffer: &mut [u8]) -> io::Result<()> {
        if self.is_armed.get() {
            fs::write(&self.edited, "edited")?;
        }
        let read_bytes = self.read_bytes.get() + buffer.len() as u64;
        self.read_bytes.set(read_bytes);
        self.files.read_at(content, offset_bytes, buffer)
    }
}

#[test]
fn a_file_that_changes_while_the_new_one_is_written_is_kept() {
    let host = temporary();
    write_tree(&[("a", "1")], host.path());
    let path = host.path().join("a");
    let old = Editing::new(&tree(&[("a", "1")]), path.clone());
    let new = Editing::new(&tree(&[("a", "new content")]), path.clone());
    let directory = HostDirectory::open(host.path()).expect("open");
    let options = ApplyOptions::default();
    let plan = plan((&old, &new), &directory, &options);
    new.is_armed.set(true);
    let failed = run((&old, &new), &directory, &options, &plan).expect_err("it changed");
    assert!(matches!(failed, ApplyError::Changed { .. }), "{failed:?}");
    assert_eq!(
        read_tree(host.path()),
        [("a".to_owned(), "edited".to_owned())]
    );
}

#[test]
fn the_names_of_one_file_take_its_room_and_are_read_once() {
    let host = temporary();
    let old = Editing::new(&tree(&[]), PathBuf::new());
    let mut files = tree(&[("a", "content")]);
    let id = files.find(b"a").expect("there");
    for label in ["b", "c", "d"] {
        let label = Name::new(label.as_bytes()).expect("a name");
        files.link(files.root(), label, id);
    }
    let new = Editing::new(&files, PathBuf::new());
    let directory = HostDirectory::open(host.path()).expect("open");
    let options = ApplyOptions::default();
    let plan = plan((&old, &new), &directory, &options);
    assert_eq!(plan.needed_bytes, 7);
    new.read_bytes.set(0);
    run((&old, &new), &directory, &options, &plan).expect("applied");
    // It is written once, and its other names are linked without another look at it.
    assert_eq!(new.read_bytes.get(), 7);
    assert_eq!(read_tree(host.path()).len(), 4);
}

#[test]
fn the_holes_of_two_files_are_not_compared() {
    let host = temporary();
    let mut content = vec![0; 8 << 20];
    content.push(b'x');
    let mut files = tree(&[("a", "")]);
    let id = files.find(b"a").expect("there");
    files.inode_mut(id).kind = FileKind::Regular(content);
    let old = Editing::new(&tree(&[]), PathBuf::new());
    let new = Editing::new(&files, PathBuf::new());
    let directory = HostDirectory::open(host.path()).expect("open");
    let options = ApplyOptions::default();
    let first = plan((&old, &new), &directory, &options);
    run((&old, &new), &directory, &options, &first).expect("applied");
    new.read_bytes.set(0);
    assert!(plan((&old, &new), &directory, &options).steps.is_empty());
    let read_bytes = new.read_bytes.get();
    assert!(read_bytes < 1 << 20, "{read_bytes}");
    // Data in a hole of the sandbox's file is another content.
    let file = fs::OpenOptions::new()
        .write(true)
        .open(host.path().join("a"));
    let file = file.expect("there");
    file.write_all_at(b"y", 4 << 20).expect("written");
    let changes = compare(&old, &new, &Unrelated, &Scope::everything()).expect("compared");
    let plan = Plan::new((&old, &new), &changes, &directory, &options).expect("planned");
    assert_eq!(plan.conflicts.len(), 1);
}

#[test]
fn a_new_directory_has_its_permissions_before_its_files() {
    let host = temporary();
    let mut files = tree(&[("d/a", "1")]);
    set_metadata(&mut files, "d", |metadata| metadata.mode = 0o1077);
    let (old, new) = (InMemory(tree(&[])), InMemory(files));
    let directory = HostDirectory::open(host.path()).expect("open");
    let options = ApplyOptions::default();
    let plan = plan((&old, &new), &directory, &options);
    let written = Written::new((&old, &new), &directory, &options, &plan).expect("written");
    // The file has no place yet. Without it, the directory is made and the rest fails.
    for entry in fs::read_dir(host.path()).expect("listed") {
        fs::remove_file(entry.expect("an entry").path()).expect("removed");
    }
    let failed = written.finish().expect_err("no file");
    assert!(matches!(failed, ApplyError::Host { .. }), "{failed:?}");
    assert_eq!(mode(host.path().join("d")), 0o1777);
}
