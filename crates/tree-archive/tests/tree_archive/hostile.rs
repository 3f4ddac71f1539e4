//! Archives that a hostile guest has written.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use testkit::{TarBuilder, TarEntry};
use tree_archive::UnpackOptions;

use crate::unpacked;

/// A destination beside files that must not change.
struct Yard(tempfile::TempDir);

impl Yard {
    fn new() -> Self {
        let yard = Self(tempfile::tempdir().expect("made"));
        for name in ["in", "out"] {
            fs::create_dir(yard.path(name)).expect("made");
        }
        fs::write(yard.path("out/secret"), "secret").expect("written");
        yard
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.0.path().join(path)
    }

    /// Unpacks, with any result; then checks that everything outside is unchanged.
    fn unpack(&self, entries: Vec<TarEntry>) -> bool {
        let tar = TarBuilder::archive(entries);
        let done = unpacked(&tar, &self.path("in"), &UnpackOptions::default());
        let names = |path: &Path| fs::read_dir(path).expect("read").count();
        assert_eq!((names(self.0.path()), names(&self.path("out"))), (2, 1));
        let secret = self.path("out/secret");
        assert_eq!(fs::read(&secret).expect("read"), b"secret");
        let seen = fs::metadata(&secret).expect("there");
        assert_eq!((seen.nlink(), seen.mode() & 0o7777), (1, 0o644));
        done.is_ok()
    }
}

#[test]
fn no_name_leads_upwards() {
    for path in ["../x", "a/../../x", "..", "./../x", "/../x", "a/.."] {
        assert!(
            !Yard::new().unpack(vec![TarEntry::file(path, "x")]),
            "{path}"
        );
    }
    let yard = Yard::new();
    assert!(yard.unpack(vec![TarEntry::file("/out/secret", "x")]));
    assert!(yard.path("in/out/secret").exists());
}

#[test]
fn no_symlink_is_followed_whoever_made_it() {
    for target in ["../out", "/", "."] {
        let entries = vec![
            TarEntry::symlink("l", target),
            TarEntry::file("l/secret", "x"),
        ];
        assert!(!Yard::new().unpack(entries), "{target}");
        let entries = vec![TarEntry::symlink("l", target), TarEntry::directory("l")];
        assert!(!Yard::new().unpack(entries), "{target}");
    }
    let yard = Yard::new();
    symlink("../out", yard.path("in/old")).expect("linked");
    assert!(!yard.unpack(vec![TarEntry::file("old/secret", "x")]));
    assert!(!yard.unpack(vec![TarEntry::directory("old/d")]));
}

#[test]
fn a_link_is_replaced_not_written_through() {
    let yard = Yard::new();
    let entries = vec![
        TarEntry::symlink("l", "../out/secret"),
        TarEntry::file("l", "x"),
    ];
    assert!(yard.unpack(entries));
    assert_eq!(fs::read(yard.path("in/l")).expect("read"), b"x");
    // The same holds for a symlink that was there before.
    let yard = Yard::new();
    symlink("../out/secret", yard.path("in/l")).expect("linked");
    assert!(yard.unpack(vec![TarEntry::file("l", "x")]));
}

#[test]
fn a_hard_link_stays_inside() {
    for target in ["../out/secret", "/out/secret", "l/secret", "missing", ""] {
        let entries = vec![
            TarEntry::symlink("l", "../out"),
            TarEntry::hardlink("h", target),
        ];
        assert!(!Yard::new().unpack(entries), "{target}");
    }
    let entries = vec![
        TarEntry::symlink("l", "../out/secret"),
        TarEntry::hardlink("h", "l").mode(0o4777),
    ];
    assert!(Yard::new().unpack(entries));
}

#[test]
fn a_directory_on_the_way_may_not_change_under_it() {
    let entries = vec![
        TarEntry::directory("d"),
        TarEntry::file("d/f", "x"),
        TarEntry::symlink("d", "../out"),
        TarEntry::file("d/secret", "x"),
    ];
    assert!(!Yard::new().unpack(entries));
}

#[test]
fn devices_are_left_out() {
    let yard = Yard::new();
    assert!(yard.unpack(vec![TarEntry::char_device("mem", 1, 1)]));
    assert!(!yard.path("in/mem").exists());
}

#[test]
fn memory_is_bounded_and_an_end_is_missed() {
    let yard = Yard::new();
    let long = vec![b'x'; 2 << 20];
    assert!(!yard.unpack(vec![TarEntry::file("f", "").record("comment", &long)]));
    let tar = TarBuilder::archive([TarEntry::file("f", vec![1; 4000])]);
    for length in [100, 600, 2000] {
        let cut = unpacked(&tar[..length], &yard.path("in"), &UnpackOptions::default());
        assert!(cut.is_err(), "{length}");
    }
}

#[test]
fn special_names_are_refused() {
    for name in [&b"a\0b"[..], &[b'y'; 300]] {
        let mut entry = TarEntry::file("f", "");
        entry.pax.push((b"path".to_vec(), name.to_vec()));
        assert!(!Yard::new().unpack(vec![entry]));
    }
}
