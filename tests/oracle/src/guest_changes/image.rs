//! The image whose files are changed: a program, and directories of one form, in two layers.

use std::path::Path;

use serde_json::json;
use test_support::oci_layout::{self, Blob};
use testkit::{TarBuilder, TarEntry};

/// The image's name.
pub(super) const NAME: &str = "guest-changes:latest";
/// The image's only program.
const PROGRAM: &str = "bin/change-tree";
/// The directory of all directories that are changed.
pub(super) const CASES: &str = "/cases";
/// A capability in the form of version 2: `struct vfs_cap_data`.
const CAPABILITY: &[u8] = b"\x01\0\0\x02\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
const MTIME_S: i64 = 1_600_000_000;

/// Writes the image to a layout. The directories are `/cases/0`, `/cases/1` and so on.
pub(super) fn write(layout: &Path, program: &[u8], directories: u64) {
    let (mut lower, mut upper) = (TarBuilder::default(), TarBuilder::default());
    for entry in [
        directory("bin"),
        TarEntry::file(PROGRAM, program)
            .mode(0o755)
            .mtime(MTIME_S, 0),
        directory("cases"),
    ] {
        lower.entry(&entry);
    }
    upper.entry(&directory("cases"));
    for number in 0..directories {
        let case = format!("cases/{number}");
        lower.entry(&directory(&case));
        for entry in lower_entries(&case) {
            lower.entry(&entry);
        }
        // `msb apply` refuses devices: every other directory has none.
        if number % 2 == 0 {
            lower.entry(&TarEntry::char_device(format!("{case}/null"), 1, 3).mtime(MTIME_S, 0));
        }
        for entry in upper_entries(&case) {
            upper.entry(&entry);
        }
    }
    let layers = [lower, upper].map(|layer| {
        let tar = layer.finish();
        Blob::wrapped("layer.v1.tar+gzip", &tar, oci_layout::gzip)
    });
    let command = format!("/{PROGRAM}");
    oci_layout::write_with(layout, &layers, &json!({"Cmd": [command]}));
}

/// Returns the paths of the directories that have no devices.
pub(super) fn without_devices(directories: u64) -> Vec<String> {
    let odd = (0..directories).skip(1).step_by(2);
    odd.map(|number| format!("{CASES}/{number}")).collect()
}

/// Returns the names of a directory in the lower layer.
fn lower_entries(case: &str) -> Vec<TarEntry> {
    let at = |path: &str| format!("{case}/{path}");
    let mut entries = Vec::new();
    for (path, length) in [("d", 3), ("d/d", 40), ("b", 7), ("b/d", 11), ("a", 5_000)] {
        entries.push(directory(&at(path)));
        for (name, length) in [("f0", length * 100), ("g0", 12), ("empty", 0)] {
            entries.push(file(&at(&format!("{path}/{name}")), length));
        }
        entries.push(TarEntry::symlink(at(&format!("{path}/l")), "../f0").mtime(MTIME_S, 0));
    }
    entries.extend([
        file(&at("shared"), 9_000),
        TarEntry::hardlink(at("d/s1"), at("shared")).mtime(MTIME_S, 0),
        TarEntry::hardlink(at("b/d/s1"), at("shared")).mtime(MTIME_S, 0),
        file(&at("noted"), 30).xattr("user.mark", "image"),
        file(&at("able"), 30)
            .mode(0o755)
            .xattr("security.capability", CAPABILITY),
        file(&at("x y\t"), 100).owner(3_000_000, 70_000),
        kept(&at("kept")),
        TarEntry::new(b'6', at("pipe")).mtime(MTIME_S, 0),
        directory(&at("opaque")),
        file(&at("opaque/below"), 10),
        file(&at("gone"), 10),
        file(&at("kept/changed"), 70_000),
    ]);
    entries
}

/// Returns what the upper layer changes in a directory: files that it removes, hides and replaces,
/// and names of any bytes.
fn upper_entries(case: &str) -> Vec<TarEntry> {
    let at = |path: &str| format!("{case}/{path}");
    let odd = [case.as_bytes(), b"/\xff\n\"\\"].concat();
    vec![
        directory(case),
        file(&at(".wh.gone"), 0),
        directory(&at("a")),
        TarEntry::symlink(at("a/g0"), "/cases").mtime(MTIME_S, 0),
        directory(&at("b")),
        file(&at("b/.wh.empty"), 0),
        file(&at("b/g0"), 13),
        kept(&at("kept")),
        file(&at("kept/changed"), 20),
        directory(&at("opaque")),
        file(&at("opaque/.wh..wh..opq"), 0),
        file(&at("opaque/above"), 10),
        TarEntry::file(odd, "odd").mtime(MTIME_S, 5),
    ]
}

/// Returns a directory with attributes.
fn kept(path: &str) -> TarEntry {
    directory(path).xattr("user.mark", "image").mode(0o1777)
}

fn directory(path: &str) -> TarEntry {
    TarEntry::directory(path).mtime(MTIME_S, 0)
}

/// Returns a file whose content repeats its path.
fn file(path: &str, length: usize) -> TarEntry {
    let content: Vec<u8> = path.bytes().cycle().take(length).collect();
    TarEntry::file(path, content).mtime(MTIME_S, 0)
}
