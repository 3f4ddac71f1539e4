use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use fuse_backend_rs::abi::fuse_abi::{CreateIn, Opcode, ROOT_ID, SetattrIn};

use super::guest::{Guest, NOTHING, body, node};
use super::requests;

/// A shared directory inside a directory that is not shared, with a file in each.
struct TestDirectory(tempfile::TempDir);

impl TestDirectory {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.shared().join("below")).unwrap();
        fs::write(place.shared().join("file"), "hello").unwrap();
        fs::write(place.outside().join("secret"), "secret").unwrap();
        let quiet = fs::Permissions::from_mode(0o600);
        fs::set_permissions(place.outside().join("secret"), quiet).unwrap();
        place
    }

    fn outside(&self) -> &Path {
        self.0.path()
    }

    fn shared(&self) -> std::path::PathBuf {
        self.0.path().join("shared")
    }

    #[track_caller]
    fn is_untouched(&self) {
        let mut names: Vec<_> = fs::read_dir(self.outside())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["secret", "shared"]);
        let secret = self.outside().join("secret");
        assert_eq!(fs::read(&secret).unwrap(), b"secret");
        let mode = fs::metadata(&secret).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
    }
}

/// Names that lead out of a directory, or name none of its entries.
const OUTWARD: [&str; 9] = [
    "../secret",
    "../new",
    "below/../../secret",
    "/etc/passwd",
    "below/new",
    "file/",
    "..",
    ".",
    "",
];

#[test]
fn no_name_leads_out_of_a_directory() {
    for is_read_only in [false, true] {
        let place = TestDirectory::new();
        let mut guest = Guest::initialised(&place.shared(), is_read_only);
        let file = node(&guest.call(Opcode::Lookup, ROOT_ID, b"file\0").unwrap());
        let below = node(&guest.call(Opcode::Lookup, ROOT_ID, b"below\0").unwrap());
        let expected = [libc::EINVAL, libc::EROFS][usize::from(is_read_only)];
        for name in OUTWARD {
            for directory in [ROOT_ID, below] {
                let found = guest.call(Opcode::Lookup, directory, &body(NOTHING, &[name]));
                assert_eq!(found, Err(libc::EINVAL), "lookup of {name:?}");
                for (what, call, request) in requests(name, "file", file) {
                    let answer = guest.call(call, directory, &request);
                    assert_eq!(answer, Err(expected), "{what} of {name:?}");
                }
            }
        }
        place.is_untouched();
    }
}

/// A file outside could be changed through its node if its name were accepted.
#[test]
fn no_attribute_of_a_file_outside_is_changed() {
    let place = TestDirectory::new();
    let mut guest = Guest::initialised(&place.shared(), false);
    let create = body(CreateIn::default(), &["../secret"]);
    let reached = guest.call(Opcode::Create, ROOT_ID, &create);
    if let Ok(entry) = &reached {
        let mode = SetattrIn {
            valid: 1,
            mode: 0o777,
            ..SetattrIn::default()
        };
        let _ = guest.call(Opcode::Setattr, node(entry), &body(mode, &[]));
    }
    place.is_untouched();
    assert_eq!(reached, Err(libc::EINVAL));
}

/// The requests are valid: in a directory that may be changed, each takes effect.
#[test]
fn names_of_entries_are_let_through() {
    let place = TestDirectory::new();
    for name in ["new", "..new", "...", " "] {
        let mut guest = Guest::initialised(&place.shared(), false);
        let file = node(&guest.call(Opcode::Lookup, ROOT_ID, b"file\0").unwrap());
        for (what, call, request) in requests(name, "there", file) {
            let path = place.shared().join(name);
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
            match what {
                "rmdir" => fs::create_dir(&path).unwrap(),
                "unlink" | "rename from" | "rename2 from" => fs::write(&path, "").unwrap(),
                _ => fs::write(place.shared().join("there"), "").unwrap(),
            }
            let answer = guest.call(call, ROOT_ID, &request);
            // Hosts before Linux 6.10 do not let every user create links.
            let is_older = what == "link" && answer == Err(libc::EPERM);
            assert!(answer.is_ok() || is_older, "{what} of {name:?}: {answer:?}");
        }
    }
    place.is_untouched();
}

/// The guest resolves symlinks itself: the host does not open one, nor anything through one.
#[test]
fn symlinks_are_not_followed() {
    let place = TestDirectory::new();
    std::os::unix::fs::symlink("../secret", place.shared().join("link")).unwrap();
    let mut guest = Guest::initialised(&place.shared(), false);
    let link = node(&guest.call(Opcode::Lookup, ROOT_ID, b"link\0").unwrap());
    let target = guest.call(Opcode::Readlink, link, &[]).unwrap();
    assert_eq!(target, b"../secret");
    guest.call(Opcode::Open, link, &[0; 8]).unwrap_err();
    for flags in [0, libc::O_PATH, libc::O_RDWR, libc::O_PATH | libc::O_EXCL] {
        let create = CreateIn {
            flags: flags.unsigned_abs(),
            ..CreateIn::default()
        };
        let opened = guest.call(Opcode::Create, ROOT_ID, &body(create, &["link"]));
        assert!(opened.is_err(), "{flags:o}: {opened:?}");
    }
    place.is_untouched();
}
