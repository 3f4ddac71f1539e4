//! Header blocks in the format ustar.

use crate::BLOCK_BYTES;
use crate::entry::{EntryHeader, EntryKind};

/// Largest number that eleven octal digits hold.
pub(super) const OCTAL_11_MAX: u64 = 0o77_777_777_777;
/// Largest number that seven octal digits hold.
pub(super) const OCTAL_7_MAX: u64 = 0o7_777_777;
/// Bytes of a name, or of a link's target, in a block.
pub(super) const NAME_BYTES: usize = 100;

/// Returns the block of an entry under the name `path`. Values that do not fit are in PAX records.
pub(super) fn block(header: &EntryHeader<'_>, path: &[u8], stored_bytes: u64) -> [u8; BLOCK_BYTES] {
    let metadata = header.metadata;
    let mut block = Block::new(path, type_flag(header.kind), stored_bytes);
    block.octal(100..108, metadata.mode.into());
    block.octal(108..116, u64::from(metadata.uid).min(OCTAL_7_MAX));
    block.octal(116..124, u64::from(metadata.gid).min(OCTAL_7_MAX));
    let seconds = u64::try_from(metadata.mtime.seconds).unwrap_or(0);
    block.octal(136..148, seconds.min(OCTAL_11_MAX));
    block.text(157..257, header.link);
    if let EntryKind::CharDevice(device) | EntryKind::BlockDevice(device) = header.kind {
        block.octal(329..337, device.major.into());
        block.octal(337..345, device.minor.into());
    }
    block.sealed()
}

/// Returns the header block of PAX records, which extend the next header.
pub(super) fn records_block(path: &[u8], length_bytes: u64) -> [u8; BLOCK_BYTES] {
    let name = [b"PaxHeaders/", last_component(path)].concat();
    let mut block = Block::new(&name, b'x', length_bytes);
    block.octal(100..108, 0o644);
    block.sealed()
}

/// Returns the name in a sparse file's header, for readers that do not know sparse files.
pub(super) fn sparse_name(path: &[u8]) -> Vec<u8> {
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

/// A header block that is being filled in.
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

    /// Writes as much of a text as fits.
    fn text(&mut self, field: std::ops::Range<usize>, text: &[u8]) {
        let length = text.len().min(field.len());
        self.0[field][..length].copy_from_slice(&text[..length]);
    }

    /// Writes octal digits, then a NUL.
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
