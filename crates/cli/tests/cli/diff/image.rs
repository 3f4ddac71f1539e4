//! The layer of a test, which has files of every kind, and changes of them.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use tar::{Builder, EntryType, Header};

/// Returns a layer whose `/etc/motd` has this text.
pub(super) fn layer(motd: &str) -> Vec<u8> {
    let mut layer = Layer(Builder::new(Vec::new()));
    for directory in [
        "etc",
        "usr",
        "usr/bin",
        "usr/lib",
        "usr/lib/deep",
        "var",
        "var/cache",
    ] {
        layer.add(EntryType::Directory, directory, 0o755, b"");
    }
    layer.file("etc/motd", motd.as_bytes());
    layer.file("etc/passwd", b"root:x:0:0::/root:/bin/sh\n");
    layer.xattr("user.note", b"kept");
    layer.file("etc/noted", b"noted\n");
    for number in 0..20 {
        let text = format!("library {number}\n").repeat(400 * number + 1);
        layer.file(&format!("usr/lib/deep/{number}"), text.as_bytes());
        layer.file(&format!("var/cache/{number}"), &text.as_bytes()[..number]);
    }
    layer.add(EntryType::Regular, "usr/bin/tool", 0o4755, b"#!/bin/sh\n");
    layer.add(EntryType::Symlink, "usr/bin/alias", 0o777, b"tool");
    layer.add(EntryType::Link, "usr/bin/again", 0o4755, b"usr/bin/tool");
    layer.add(EntryType::Link, "usr/lib/tool", 0o4755, b"usr/bin/tool");
    layer.add(EntryType::Fifo, "var/pipe", 0o600, b"");
    layer.0.into_inner().expect("finished")
}

struct Layer(Builder<Vec<u8>>);

impl Layer {
    fn file(&mut self, path: &str, content: &[u8]) {
        self.add(EntryType::Regular, path, 0o644, content);
    }

    /// Adds an entry; `data` is the content of a file, or the target of a link.
    fn add(&mut self, kind: EntryType, path: &str, mode: u32, data: &[u8]) {
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_mtime(1_600_000_000);
        let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
        if is_link {
            header.set_link_name_literal(data).expect("short");
        }
        let content = if is_link { b"" } else { data };
        header.set_size(content.len() as u64);
        self.0
            .append_data(&mut header, path, content)
            .expect("appended");
    }

    /// Adds an xattr to the entry that comes next.
    fn xattr(&mut self, name: &str, value: &[u8]) {
        let key = format!("SCHILY.xattr.{name}");
        self.0
            .append_pax_extensions([(key.as_str(), value)])
            .expect("appended");
    }
}

/// Changes a mounted root of the image in every way that a layer tells apart: content and mode, a
/// removal, a moved directory, a further name, and files that others replace.
pub(super) fn change(root: &Path) {
    fs::write(root.join("etc/motd"), "changed\n").expect("written");
    fs::remove_dir_all(root.join("var/cache")).expect("removed");
    fs::rename(root.join("usr/lib/deep"), root.join("moved")).expect("moved");
    fs::hard_link(root.join("usr/bin/tool"), root.join("etc/linked")).expect("linked");
    fs::remove_file(root.join("usr/bin/alias")).expect("removed");
    fs::create_dir(root.join("usr/bin/alias")).expect("made");
    fs::remove_file(root.join("var/pipe")).expect("removed");
    symlink("../etc", root.join("var/pipe")).expect("made");
    fs::set_permissions(root.join("etc/noted"), Permissions::from_mode(0o4700)).expect("set");
}
