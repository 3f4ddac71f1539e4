use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use fuse_backend_rs::abi::fuse_abi::{
    LinkIn, MkdirIn, Opcode, OpenIn, ROOT_ID, ReadIn, Rename2In, RenameIn,
};

use super::guest::{Guest, NOTHING, body, node};
use super::listed::Listed;
use crate::{Entry, Kind, Permission, Permissions};

const RULES: Listed = Listed(&[
    ("hidden", Permission::Nothing),
    ("hidden/shown", Permission::Read),
    ("named", Permission::Name),
    ("docs", Permission::Read),
    ("src/secret", Permission::Nothing),
    ("full", Permission::Nothing),
    ("full/last", Permission::All),
]);

/// Returns a guest of a directory with [`RULES`], and the number of its root.
fn guest(directory: &Path) -> (Guest, u64) {
    let entry = Entry {
        name: "0",
        path: directory,
        kind: Kind::Directory,
    };
    let permissions = |_| Some(Box::new(RULES) as Box<dyn Permissions>);
    let mut guest = Guest::with_permissions(&[entry], permissions);
    let root = node(&guest.call(Opcode::Lookup, ROOT_ID, b"0\0").unwrap());
    (guest, root)
}

pub(super) fn lookup(guest: &mut Guest, parent: u64, name: &str) -> Result<u64, i32> {
    let answer = guest.call(Opcode::Lookup, parent, &body(NOTHING, &[name]))?;
    Ok(node(&answer))
}

pub(super) fn open(guest: &mut Guest, node: u64, call: Opcode, flags: i32) -> Result<u64, i32> {
    let input = OpenIn {
        flags: flags.unsigned_abs(),
        fuse_flags: 0,
    };
    let opened = guest.call(call, node, &body(input, &[]))?;
    Ok(u64::from_le_bytes(opened[..8].try_into().unwrap()))
}

/// Returns the names that a directory lists, read with buffers of `size` bytes.
pub(super) fn listed(guest: &mut Guest, directory: u64, call: Opcode, size: u32) -> Vec<String> {
    let handle = open(guest, directory, Opcode::Opendir, 0).unwrap();
    let (mut names, mut offset) = (Vec::new(), 0);
    loop {
        let input = ReadIn {
            fh: handle,
            size,
            offset,
            ..ReadIn::default()
        };
        let answer = guest.call(call, directory, &body(input, &[])).unwrap();
        if answer.is_empty() {
            names.sort();
            return names;
        }
        // `struct fuse_direntplus` is a `fuse_entry_out` of 128 bytes before the `fuse_dirent`.
        let before = match call {
            Opcode::Readdirplus => 128,
            _ => 0,
        };
        let mut rest = &answer[..];
        while !rest.is_empty() {
            let word = |at: usize| u64::from_le_bytes(rest[at..at + 8].try_into().unwrap());
            offset = word(before + 8);
            let length = usize::try_from(word(before + 16) & 0xffff_ffff).unwrap();
            let start = before + 24;
            names.push(String::from_utf8(rest[start..start + length].to_vec()).unwrap());
            rest = &rest[(start + length).next_multiple_of(8)..];
        }
    }
}

fn tree() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |path: &str| {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "content").unwrap();
    };
    for path in [
        "hidden/key",
        "hidden/shown",
        "named",
        "docs/guide",
        "src/secret",
        "src/main",
    ] {
        write(path);
    }
    for number in 0..300 {
        write(&format!("full/{number}"));
    }
    write("full/last");
    directory
}

#[test]
fn hidden_names_are_neither_found_nor_listed() {
    let directory = tree();
    let (mut guest, root) = guest(directory.path());
    let hidden = lookup(&mut guest, root, "hidden").unwrap();
    assert_eq!(lookup(&mut guest, hidden, "key"), Err(libc::ENOENT));
    let shown = lookup(&mut guest, hidden, "shown").unwrap();
    assert!(open(&mut guest, shown, Opcode::Open, libc::O_RDONLY).is_ok());
    let src = lookup(&mut guest, root, "src").unwrap();
    assert_eq!(lookup(&mut guest, src, "secret"), Err(libc::ENOENT));
    let full = lookup(&mut guest, root, "full").unwrap();
    for call in [Opcode::Readdir, Opcode::Readdirplus] {
        assert_eq!(listed(&mut guest, src, call, 4096), ["main"]);
        assert_eq!(listed(&mut guest, hidden, call, 4096), ["shown"]);
        // A buffer full of hidden names is not the end of the directory.
        assert_eq!(listed(&mut guest, full, call, 512), ["last"]);
    }
    let made = body(
        MkdirIn {
            mode: 0o755,
            umask: 0,
        },
        &["secret"],
    );
    assert_eq!(
        guest.call(Opcode::Mkdir, src, &made).err(),
        Some(libc::EACCES)
    );
    let path = directory.path().join("src/secret");
    assert_eq!(fs::read(path).unwrap(), b"content");
}

#[test]
fn files_are_named_read_or_changed_as_their_permissions_say() {
    let directory = tree();
    let (mut guest, root) = guest(directory.path());
    let named = lookup(&mut guest, root, "named").unwrap();
    assert!(guest.call(Opcode::Getattr, named, &[0; 16]).is_ok());
    for flags in [libc::O_RDONLY, libc::O_WRONLY] {
        assert_eq!(
            open(&mut guest, named, Opcode::Open, flags),
            Err(libc::EACCES)
        );
    }
    let docs = lookup(&mut guest, root, "docs").unwrap();
    let guide = lookup(&mut guest, docs, "guide").unwrap();
    let handle = open(&mut guest, guide, Opcode::Open, libc::O_RDONLY).unwrap();
    for flags in [libc::O_WRONLY, libc::O_RDWR, libc::O_TRUNC] {
        assert_eq!(
            open(&mut guest, guide, Opcode::Open, flags),
            Err(libc::EROFS)
        );
    }
    for (title, call, input) in super::read_only::changes(handle) {
        if title != "access" {
            assert_eq!(
                guest.call(call, guide, &input).err(),
                Some(libc::EROFS),
                "{title}"
            );
        }
    }
    for (title, call, input) in super::requests("new", "guide", guide) {
        let refused = guest.call(call, docs, &input).err();
        assert!(
            matches!(refused, Some(libc::EROFS | libc::EACCES | libc::EPERM)),
            "{title}: {refused:?}"
        );
    }
    let unchanged = fs::metadata(directory.path().join("docs/guide")).unwrap();
    assert_eq!((unchanged.len(), unchanged.nlink()), (7, 1));
    assert_eq!(
        fs::read_dir(directory.path().join("docs")).unwrap().count(),
        1
    );
}

#[test]
fn no_other_name_lifts_a_rule() {
    let directory = tree();
    let (mut guest, root) = guest(directory.path());
    let rename = |from: &str, to: &str| body(RenameIn { newdir: root }, &[from, to]);
    // Below `src` is a hidden file, whose rule names `src`.
    assert_eq!(
        guest
            .call(Opcode::Rename, root, &rename("src", "other"))
            .err(),
        Some(libc::EACCES)
    );
    let exchange = Rename2In {
        newdir: root,
        flags: libc::RENAME_EXCHANGE,
        ..Rename2In::default()
    };
    let exchange = body(exchange, &["full", "src"]);
    assert!(guest.call(Opcode::Rename2, root, &exchange).is_err());
    let docs = lookup(&mut guest, root, "docs").unwrap();
    let guide = lookup(&mut guest, docs, "guide").unwrap();
    let link = body(LinkIn { oldnodeid: guide }, &["link"]);
    assert_eq!(
        guest.call(Opcode::Link, root, &link).err(),
        Some(libc::EROFS)
    );

    // A file moves freely where no rule is, and has the rules of its new place.
    let src = lookup(&mut guest, root, "src").unwrap();
    let main = lookup(&mut guest, src, "main").unwrap();
    let moved = body(RenameIn { newdir: root }, &["main", "moved"]);
    guest.call(Opcode::Rename, src, &moved).unwrap();
    assert!(open(&mut guest, main, Opcode::Open, libc::O_RDWR).is_ok());
    fs::rename(
        directory.path().join("moved"),
        directory.path().join("docs/main"),
    )
    .unwrap();
    assert_eq!(lookup(&mut guest, docs, "main"), Ok(main));
    assert_eq!(
        open(&mut guest, main, Opcode::Open, libc::O_RDWR),
        Err(libc::EROFS)
    );
}

#[test]
fn a_file_in_a_forgotten_directory_has_the_permission_that_it_had() {
    let directory = tree();
    let (mut guest, root) = guest(directory.path());
    let docs = lookup(&mut guest, root, "docs").unwrap();
    let guide = lookup(&mut guest, docs, "guide").unwrap();
    guest.send(Opcode::Forget, docs, &1_u64.to_le_bytes());
    assert!(open(&mut guest, guide, Opcode::Open, libc::O_RDONLY).is_ok());
    assert_eq!(
        open(&mut guest, guide, Opcode::Open, libc::O_RDWR),
        Err(libc::EROFS)
    );
    // A directory that is not known leads to no name.
    assert!(lookup(&mut guest, docs, "guide").is_err());
}
