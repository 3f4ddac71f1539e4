use std::collections::HashMap;

use erofs_writer::{Extent, FileData};
use fstree::{FileKind, WalkEntry};

use super::case::Case;
use super::tally::Tally;
use crate::model::Content;

/// Known faults of a version of `fsck.erofs --extract`, each as narrow as possible. Data that a
/// fault affects is counted instead of compared; everything else is compared.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Faults {
    /// The version extracts no xattrs at all.
    pub(super) knows_no_xattrs: bool,
    /// It extracts an inode's xattrs in part or not at all if one of them has an empty value.
    pub(super) stops_at_empty_xattrs: bool,
    /// It sets the owner after the mode, which removes setuid and setgid.
    pub(super) loses_set_ids: bool,
    /// It makes a separate file for every name of one file.
    pub(super) splits_links: bool,
    /// It leaves holes out, so that the following data moves up.
    pub(super) closes_holes: bool,
    /// It ends a file with its last data, even if a hole follows.
    pub(super) cuts_last_holes: bool,
    /// It subtracts the device from a block address that counts through all devices. Then it reads
    /// the rest of the address in the image itself.
    pub(super) forgets_devices: bool,
    /// It sets owner and mode after the xattrs, and lets files inherit their directory's ACL. ACLs
    /// change and capabilities are removed.
    pub(super) changes_fragile_xattrs: bool,
}

/// The properties of a name that faults can affect.
#[derive(Default)]
struct Marks {
    has_empty_xattr: bool,
    has_hole: bool,
    ends_in_hole: bool,
    is_run_on_device: bool,
    has_fragile_xattr: bool,
    has_set_ids: bool,
    is_linked: bool,
}

impl Faults {
    /// Returns the expected and the actual dump of `case` without the data that faults affect.
    pub(super) fn look_over(self, case: &Case, dumps: [&str; 2], tally: &mut Tally) -> [String; 2] {
        let links = case.tree.link_counts();
        let marks: HashMap<String, Marks> = case
            .tree
            .walk()
            .map(|entry| {
                let mut marks = marks(&entry, links[entry.id.index()]);
                let written = &case.built.tree.inode(entry.id).kind;
                marks.is_run_on_device = is_run_on_device(written);
                (shown(&entry.path), marks)
            })
            .collect();
        marks.values().for_each(|marks| self.count(marks, tally));
        dumps.map(|dump| {
            let none = Marks::default();
            let lines = dump.lines().map(|line| {
                let path = line.split(' ').next().unwrap_or_default();
                self.blurred(line, marks.get(path).unwrap_or(&none))
            });
            lines.collect::<Vec<_>>().join("\n")
        })
    }

    fn count(self, marks: &Marks, tally: &mut Tally) {
        let touched = [
            (
                self.stops_at_empty_xattrs && marks.has_empty_xattr,
                "lost beside an empty xattr",
            ),
            (
                self.changes_fragile_xattrs && marks.has_fragile_xattr,
                "ACL or capability changed",
            ),
            (
                self.loses_set_ids && marks.has_set_ids,
                "setuid and setgid lost",
            ),
            (self.splits_links && marks.is_linked, "hard links split"),
            (self.closes_holes && marks.has_hole, "holes closed"),
            (
                self.cuts_last_holes && marks.ends_in_hole,
                "last hole cut off",
            ),
            (
                self.forgets_devices && marks.is_run_on_device,
                "device of an address forgotten",
            ),
        ];
        for (_, what) in touched.iter().filter(|(is_touched, _)| *is_touched) {
            tally.quirk("fsck.erofs --extract", what);
        }
    }

    fn blurred(self, line: &str, marks: &Marks) -> String {
        let mut fields: Vec<&str> = line.split(' ').collect();
        let [_, _, mode, _, size, _, _, _, links, xattrs, sha256] = &mut fields[..] else {
            return line.to_owned();
        };
        let bits = u16::from_str_radix(mode, 8).unwrap_or(u16::MAX);
        let plain = format!("{:04o}", bits & !0o6000);
        if self.loses_set_ids && marks.has_set_ids {
            *mode = &plain;
        }
        if self.splits_links && marks.is_linked {
            *links = "?";
        }
        if self.knows_no_xattrs || self.stops_at_empty_xattrs && marks.has_empty_xattr {
            *xattrs = "?";
        }
        let kept = without_fragile(xattrs);
        if self.changes_fragile_xattrs {
            *xattrs = &kept;
        }
        if self.forgets_devices && marks.is_run_on_device {
            *sha256 = "?";
        }
        let loses_holes = self.closes_holes && marks.has_hole;
        if loses_holes || self.cuts_last_holes && marks.ends_in_hole {
            (*size, *sha256) = ("?", "?");
        }
        fields.join(" ")
    }
}

fn marks(entry: &WalkEntry<'_, Content>, links: u64) -> Marks {
    let metadata = &entry.inode.metadata;
    let content = match &entry.inode.kind {
        FileKind::Regular(content) => Some(content),
        _ => None,
    };
    Marks {
        has_empty_xattr: metadata.xattrs.iter().any(|(_, value)| value.is_empty()),
        has_hole: content.is_some_and(has_hole),
        ends_in_hole: content.is_some_and(ends_in_hole),
        has_fragile_xattr: metadata.xattrs.names().any(is_fragile),
        is_run_on_device: false,
        has_set_ids: metadata.mode & 0o6000 != 0,
        is_linked: links > 1,
    }
}

fn has_hole(content: &Content) -> bool {
    let blocks: u64 = content.pieces.iter().map(|piece| piece.blocks).sum();
    blocks < content.size_bytes.div_ceil(4096)
}

/// Returns true if a file lies in one run on a device. Its inode then has one address that counts
/// through all devices.
fn is_run_on_device(kind: &FileKind<FileData>) -> bool {
    let FileKind::Regular(data) = kind else {
        return false;
    };
    let goes_on = |pair: &[Extent]| {
        let [one, next] = pair else { return false };
        one.device == next.device
            && one.file_block + one.blocks == next.file_block
            && u64::from(one.start_block) + one.blocks == u64::from(next.start_block)
    };
    let blocks: u64 = data.extents.iter().map(|extent| extent.blocks).sum();
    data.extents.first().is_some_and(|first| first.device > 0)
        && data.extents.windows(2).all(goes_on)
        && blocks == data.size_bytes.div_ceil(4096)
}

fn ends_in_hole(content: &Content) -> bool {
    let last = content.pieces.last();
    let end = last.map_or(0, |piece| piece.file_block + piece.blocks);
    end < content.size_bytes.div_ceil(4096)
}

fn is_fragile(name: &[u8]) -> bool {
    name == b"security.capability" || name.starts_with(b"system.posix_acl_")
}

/// Returns a dump's xattrs without those that the host changes by itself.
fn without_fragile(xattrs: &str) -> String {
    let kept = xattrs
        .split(',')
        .filter(|xattr| !is_fragile(xattr.split('=').next().unwrap_or_default().as_bytes()));
    let kept = kept.collect::<Vec<_>>().join(",");
    if kept.is_empty() {
        "-".to_owned()
    } else {
        kept
    }
}

/// Returns a path as a dump shows it.
fn shown(path: &[u8]) -> String {
    let path = [b"/", path].concat();
    path.escape_ascii().to_string().replace(' ', "\\x20")
}
