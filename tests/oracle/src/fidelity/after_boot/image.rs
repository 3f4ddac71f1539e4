//! The images that are changed in the guest.

use std::path::Path;

use anyhow::Result;
use fs_err as fs;
use testkit::TarEntry;

use crate::fidelity::row::{entries, finished};
use test_fixtures::images;
use test_support::oci_layout::{self, Blob};

/// A file capability as it is on disk (`vfs_cap_data`, linux/capability.h). It has revision 2, is
/// effective, and permits CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH.
const CAPABILITY: [u8; 20] = [1, 0, 0, 2, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// `user::rw-, user:1000:r--, group::---, mask::r--, other::---` (linux/posix_acl_xattr.h).
const LIST: [u8; 44] = [
    2, 0, 0, 0, //
    1, 0, 6, 0, 255, 255, 255, 255, //
    2, 0, 4, 0, 232, 3, 0, 0, //
    4, 0, 0, 0, 255, 255, 255, 255, //
    16, 0, 4, 0, 255, 255, 255, 255, //
    32, 0, 0, 0, 255, 255, 255, 255,
];
/// Number of files of the directory that is read while it changes.
const MANY: u32 = 100_000;
const LARGE_BYTES: usize = 8 << 20;

/// Returns the demo image with a layer of files to change.
pub(super) fn changed() -> Result<Vec<Blob>> {
    let mut layers = oci_layout::read(&images::demo()?)?;
    layers.push(Blob::plain(finished(entries(lower()?))));
    Ok(layers)
}

fn lower() -> Result<Vec<TarEntry>> {
    let cat = fs::read("/bin/cat")?;
    let file = |name: &str| {
        let content = name.rsplit_once("lower/").map_or(name, |(_, name)| name);
        TarEntry::file(name, content)
    };
    let mut all = vec![TarEntry::directory("lower")];
    for name in [
        "directory/a",
        "directory/b",
        "directory/c",
        "linked",
        "numbered",
        "unlinked",
    ] {
        all.push(file(&format!("lower/{name}")));
    }
    all.extend([
        TarEntry::file("lower/large", vec![7; LARGE_BYTES]),
        file("lower/noted").xattr("user.image", "1"),
        file("lower/one"),
        TarEntry::hardlink("lower/two", "lower/one"),
        TarEntry::directory("lower/types/directory"),
        file("lower/types/file"),
        TarEntry::symlink("lower/types/link", "file"),
        TarEntry::new(b'6', "lower/types/pipe"),
        TarEntry::file("lower/mapped", vec![b'm'; 10_000]),
        TarEntry::file("lower/copied", vec![b'c'; 1 << 20]),
        TarEntry::file("lower/cat", &cat).mode(0o755),
        TarEntry::file("lower/capable-cat", &cat)
            .mode(0o755)
            .xattr("security.capability", CAPABILITY),
        file("lower/listed")
            .mode(0o640)
            .xattr("system.posix_acl_access", LIST),
        file("lower/tree/a/b/c"),
    ]);
    for name in ["a", "b", "c", "d"] {
        all.push(TarEntry::file(
            format!("lower/owned/{name}"),
            name.repeat(65_536),
        ));
    }
    all.extend((0..MANY).map(|number| TarEntry::file(format!("lower/many/image-{number}"), "")));
    Ok(all)
}

/// Returns a layer with one static binary, behind symlinks.
pub(super) fn symlinks(program: &Path) -> Result<Blob> {
    Ok(Blob::plain(finished(entries([
        TarEntry::directory("."),
        TarEntry::file("usr/bin/tree-dump", fs::read(program)?).mode(0o755),
        TarEntry::symlink("bin", "usr/bin"),
        TarEntry::directory("private/etc"),
        TarEntry::symlink("etc", "private/etc"),
    ]))))
}
