use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use fuse_backend_rs::abi::fuse_abi::{Attr, LinkIn, Opcode, ROOT_ID};
use fuse_backend_rs::api::filesystem::{Context, Entry, FileSystem};
use libc::stat64;

use super::guest::{Guest, body, node};
use crate::bounds::{Bounded, Handles};

/// A host that refuses links to files, with one file.
struct OlderHost {
    names: u32,
}

impl FileSystem for OlderHost {
    type Inode = u64;
    type Handle = u64;

    fn getattr(&self, _: &Context, _: u64, _: Option<u64>) -> io::Result<(stat64, Duration)> {
        let attributes = Attr {
            nlink: self.names,
            ..Attr::default()
        };
        Ok((attributes.into(), Duration::ZERO))
    }

    fn link(&self, _: &Context, _: u64, _: u64, _: &CStr) -> io::Result<Entry> {
        Err(io::Error::from_raw_os_error(libc::ENOENT))
    }
}

#[test]
fn a_host_that_makes_no_links_is_not_said_to_lack_the_file() {
    for (names, expected) in [(1, libc::EPERM), (0, libc::ENOENT)] {
        let host = Bounded {
            files: OlderHost { names },
            is_read_only: false,
            disk_bytes: None,
            handles: Handles::default(),
        };
        let refused = host.link(&Context::default(), 2, ROOT_ID, c"name");
        let error = refused.err().and_then(|error| error.raw_os_error());
        assert_eq!(error, Some(expected), "{names}");
    }
}

#[test]
fn a_link_is_another_name_where_the_host_makes_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("file"), "").unwrap();
    let mut guest = Guest::initialised(directory.path(), false);
    let oldnodeid = node(&guest.call(Opcode::Lookup, ROOT_ID, b"file\0").unwrap());
    let request = body(LinkIn { oldnodeid }, &["name"]);
    match guest.call(Opcode::Link, ROOT_ID, &request) {
        Ok(_) => {
            let number = |name| fs::metadata(path(name)).unwrap().ino();
            assert_eq!(number("name"), number("file"));
        }
        Err(error) => assert_eq!(error, libc::EPERM),
    }
}
