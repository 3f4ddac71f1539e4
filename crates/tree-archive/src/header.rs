//! Blocks and records of POSIX.1-2001 (PAX) archives.

use fstree::Metadata;
use oci_layers::tar::{BLOCK_BYTES, EntryKind};

use crate::kept;
use crate::writer::Head;

/// What eleven octal digits hold.
const OCTAL_11_MAX: u64 = 0o77_777_777_777;
/// What seven octal digits hold.
const OCTAL_7_MAX: u64 = 0o7_777_777;
/// Bytes of a name, or a link, in a header.
const NAME_BYTES: usize = 100;

/// What extends a header, record by record.
#[derive(Debug, Default)]
pub(crate) struct Records {
    body: Vec<u8>,
}

impl Records {
    /// What does not fit the header of `head`, whose content is stored in so many bytes.
    pub(crate) fn of(head: &Head<'_>, path: &[u8], stored_bytes: u64) -> Self {
        let mut records = Self::default();
        let metadata = head.metadata;
        if path.len() > NAME_BYTES {
            records.add(b"path", path);
        }
        if head.link.len() > NAME_BYTES {
            records.add(b"linkpath", head.link);
        }
        if stored_bytes > OCTAL_11_MAX {
            records.add_number(b"size", stored_bytes);
        }
        for (key, number) in [(b"uid", metadata.uid), (b"gid", metadata.gid)] {
            if u64::from(number) > OCTAL_7_MAX {
                records.add_number(key, number.into());
            }
        }
        records.add_mtime(metadata);
        for (name, value) in &metadata.xattrs {
            if kept::is_packed(name) {
                records.add(&[b"SCHILY.xattr.", name].concat(), value);
            }
        }
        records
    }

    /// The same of a sparse file, whose name moves here.
    pub(crate) fn add_sparse(&mut self, path: &[u8], size_bytes: u64) {
        self.add(b"GNU.sparse.major", b"1");
        self.add(b"GNU.sparse.minor", b"0");
        self.add(b"GNU.sparse.name", path);
        self.add_number(b"GNU.sparse.realsize", size_bytes);
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    fn add_mtime(&mut self, metadata: &Metadata) {
        let mtime = metadata.mtime;
        let fits = u64::try_from(mtime.seconds).is_ok_and(|seconds| seconds <= OCTAL_11_MAX);
        if fits && mtime.nanoseconds == 0 {
            return;
        }
        // A fraction goes away from zero: half a second after -2 is -1.5.
        let text = match (mtime.seconds, mtime.nanoseconds) {
            (seconds, 0) => seconds.to_string(),
            (-1, nanoseconds) => format!("-0.{:09}", 1_000_000_000 - nanoseconds),
            (seconds @ ..0, nanoseconds) => {
                format!("{}.{:09}", seconds + 1, 1_000_000_000 - nanoseconds)
            }
            (seconds, nanoseconds) => format!("{seconds}.{nanoseconds:09}"),
        };
        self.add(b"mtime", text.as_bytes());
    }

    fn add_number(&mut self, key: &[u8], number: u64) {
        self.add(key, number.to_string().as_bytes());
    }

    /// `length key=value\n`, where the length counts its own digits.
    fn add(&mut self, key: &[u8], value: &[u8]) {
        let rest = key.len() + value.len() + 3;
        let mut length = rest + 1;
        while length != rest + length.to_string().len() {
            length = rest + length.to_string().len();
        }
        self.body.extend_from_slice(length.to_string().as_bytes());
        for part in [b" ", key, b"=", value, b"\n"] {
            self.body.extend_from_slice(part);
        }
    }
}

/// The header of `head` under the name `path`; what does not fit it stands in records.
pub(crate) fn block(head: &Head<'_>, path: &[u8], stored_bytes: u64) -> [u8; BLOCK_BYTES] {
    let metadata = head.metadata;
    let mut block = Block::new(path, type_flag(head.kind), stored_bytes);
    block.octal(100..108, metadata.mode.into());
    block.octal(108..116, u64::from(metadata.uid).min(OCTAL_7_MAX));
    block.octal(116..124, u64::from(metadata.gid).min(OCTAL_7_MAX));
    let seconds = u64::try_from(metadata.mtime.seconds).unwrap_or(0);
    block.octal(136..148, seconds.min(OCTAL_11_MAX));
    block.text(157..257, head.link);
    if let EntryKind::CharDevice(device) | EntryKind::BlockDevice(device) = head.kind {
        block.octal(329..337, device.major.into());
        block.octal(337..345, device.minor.into());
    }
    block.sealed()
}

/// The header of records that extend the next one.
pub(crate) fn records_block(path: &[u8], length_bytes: u64) -> [u8; BLOCK_BYTES] {
    let name = [b"PaxHeaders/", last_component(path)].concat();
    let mut block = Block::new(&name, b'x', length_bytes);
    block.octal(100..108, 0o644);
    block.sealed()
}

/// The name that a reader shows which does not know sparse files.
pub(crate) fn sparse_name(path: &[u8]) -> Vec<u8> {
    let name = last_component(path);
    let shown = name.len().min(NAME_BYTES - 20);
    [b"GNUSparseFile.0/", &name[..shown]].concat()
}

fn last_component(path: &[u8]) -> &[u8] {
    let mut components = path.split(|&byte| byte == b'/');
    components
        .rfind(|component| !component.is_empty())
        .unwrap_or(b".")
}

const fn type_flag(kind: EntryKind) -> u8 {
    match kind {
        EntryKind::Regular => b'0',
        EntryKind::Hardlink => b'1',
        EntryKind::Symlink => b'2',
        EntryKind::CharDevice(_) => b'3',
        EntryKind::BlockDevice(_) => b'4',
        EntryKind::Directory => b'5',
        EntryKind::Fifo => b'6',
    }
}

/// A header that is being filled in.
struct Block([u8; BLOCK_BYTES]);

impl Block {
    fn new(path: &[u8], type_flag: u8, size_bytes: u64) -> Self {
        let mut block = Self([0; BLOCK_BYTES]);
        block.text(0..NAME_BYTES, path);
        for number in [100..108, 108..116, 116..124, 329..337, 337..345] {
            block.octal(number, 0);
        }
        block.octal(124..136, size_bytes.min(OCTAL_11_MAX));
        block.octal(136..148, 0);
        block.0[156] = type_flag;
        block.text(257..265, b"ustar\x0000");
        block
    }

    /// As much of a text as fits.
    fn text(&mut self, field: std::ops::Range<usize>, text: &[u8]) {
        let length = text.len().min(field.len());
        self.0[field][..length].copy_from_slice(&text[..length]);
    }

    /// Digits, then a NUL.
    fn octal(&mut self, field: std::ops::Range<usize>, number: u64) {
        let digits = format!("{number:0width$o}", width = field.len() - 1);
        self.text(field, digits.as_bytes());
    }

    fn sealed(mut self) -> [u8; BLOCK_BYTES] {
        self.0[148..156].fill(b' ');
        let sum: u64 = self.0.iter().map(|&byte| u64::from(byte)).sum();
        self.text(148..156, format!("{sum:06o}\0 ").as_bytes());
        self.0
    }
}
