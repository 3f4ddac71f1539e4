//! Archives with the same bytes for the same tree: sorted, of one owner, of one time.

use std::io::{self, Write};

use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use crate::tree::{PROGRAM, Tree};

/// The owner of every entry, by name.
const OWNER: &str = "root";

/// Returns a tree as a tar archive. Every entry has the time `epoch_s` and belongs to root.
///
/// # Errors
/// If a path is too long for an archive.
pub(crate) fn tar(tree: &Tree, epoch_s: u64) -> io::Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    for directory in tree.directories() {
        let mut header = header(EntryType::Directory, PROGRAM, epoch_s)?;
        archive.append_data(&mut header, format!("{directory}/"), io::empty())?;
    }
    for (path, file) in tree.files() {
        let mut header = header(EntryType::Regular, file.mode, epoch_s)?;
        header.set_size(file.bytes.len() as u64);
        archive.append_data(&mut header, path, file.bytes.as_slice())?;
    }
    archive.into_inner()
}

/// Returns bytes compressed by gzip, without a name and a time.
///
/// # Errors
/// None in memory.
pub(crate) fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn header(kind: EntryType, mode: u32, epoch_s: u64) -> io::Result<Header> {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(epoch_s);
    header.set_uid(0);
    header.set_gid(0);
    header.set_username(OWNER)?;
    header.set_groupname(OWNER)?;
    header.set_size(0);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::DATA;

    #[test]
    fn the_order_of_insertion_does_not_show() {
        let of = |paths: [&str; 2]| {
            let mut tree = Tree::default();
            for path in paths {
                tree.insert(path, DATA, path);
            }
            gzip(&tar(&tree, 1).expect("packed")).expect("compressed")
        };
        assert_eq!(of(["a/b", "c"]), of(["c", "a/b"]));
    }

    #[test]
    fn entries_belong_to_root_and_have_one_time() {
        let mut tree = Tree::default();
        tree.insert("bin/msb", PROGRAM, "m");
        let bytes = tar(&tree.below("msb-1"), 77).expect("packed");
        let mut archive = tar::Archive::new(bytes.as_slice());
        let entries = archive.entries().expect("an archive");
        let seen: Vec<_> = entries
            .map(|entry| {
                let entry = entry.expect("an entry");
                let header = entry.header();
                let path = entry.path().expect("a path").display().to_string();
                let owner = (
                    header.uid().expect("a number"),
                    header.gid().expect("a number"),
                );
                let time = header.mtime().expect("a number");
                (path, header.mode().expect("a number"), owner, time)
            })
            .collect();
        let expected = [
            ("msb-1/", 0o755),
            ("msb-1/bin/", 0o755),
            ("msb-1/bin/msb", 0o755),
        ];
        assert_eq!(
            seen,
            expected.map(|(path, mode)| (path.to_owned(), mode, (0, 0), 77))
        );
    }
}
