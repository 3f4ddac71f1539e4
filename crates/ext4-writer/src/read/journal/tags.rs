use zerocopy::FromBytes as _;

use super::disk::{Features, Header, Journal, Tag, Tag3};

/// `JBD2_FLAG_ESCAPE`: the block begins with the journal's magic number.
const ESCAPE: u32 = 1;
/// `JBD2_FLAG_SAME_UUID`: no UUID follows the tag.
const SAME_UUID: u32 = 2;
/// `JBD2_FLAG_DELETED`: the transaction deletes the block.
const DELETED: u32 = 4;
/// `JBD2_FLAG_LAST_TAG`: no tag follows.
const LAST_TAG: u32 = 8;
const UUID_BYTES: usize = 16;
/// Size of the checksum at the end of a block, in bytes.
const TAIL_BYTES: usize = 4;

/// A descriptor's tag of one block that follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Logged {
    /// Number of the block in the filesystem.
    pub(super) block: u64,
    pub(super) is_escaped: bool,
    pub(super) is_deleted: bool,
    /// Checksum of the block as it lies in the log; `None` if the tag has none.
    pub(super) checksum: Option<Sum>,
}

/// Checksum of a block: the low 16 bits, or all 32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sum {
    Low(u16),
    Whole(u32),
}

/// Returns the tags of a descriptor; `None` if they do not end within it.
pub(super) fn tags(journal: &Journal, bytes: &[u8]) -> Option<Vec<Logged>> {
    let end = if journal.has_checksums() {
        bytes.len() - TAIL_BYTES
    } else {
        bytes.len()
    };
    let mut rest = &bytes[size_of::<Header>()..end];
    let mut tags = Vec::new();
    loop {
        let (logged, flags, length) = tag(journal.features, rest)?;
        tags.push(logged);
        if flags & LAST_TAG != 0 {
            return Some(tags);
        }
        let uuid_bytes = if flags & SAME_UUID == 0 {
            UUID_BYTES
        } else {
            0
        };
        rest = rest.get(length + uuid_bytes..)?;
        // A descriptor that is full has no last tag.
        if rest.len() < length {
            return Some(tags);
        }
    }
}

/// Returns a tag, its flags and its length in bytes (`journal_tag_bytes`); `None` if it does not
/// fit.
fn tag(features: Features, bytes: &[u8]) -> Option<(Logged, u32, usize)> {
    let has_high = features.contains(Features::BITS_64);
    let logged = |low: u32, high: u32, flags: u32, checksum| Logged {
        block: u64::from(low) | if has_high { u64::from(high) << 32 } else { 0 },
        is_escaped: flags & ESCAPE != 0,
        is_deleted: flags & DELETED != 0,
        checksum,
    };
    if features.contains(Features::CSUM_V3) {
        let (tag, _) = Tag3::read_from_prefix(bytes).ok()?;
        let flags = tag.t_flags.get();
        let checksum = Some(Sum::Whole(tag.t_checksum.get()));
        let (low, high) = (tag.t_blocknr.get(), tag.t_blocknr_high.get());
        return Some((logged(low, high, flags, checksum), flags, size_of::<Tag3>()));
    }
    let has_checksum = features.contains(Features::CSUM_V2);
    let length = size_of::<Tag>() - if has_high { 0 } else { 4 } + if has_checksum { 2 } else { 0 };
    let mut whole = [0; size_of::<Tag>()];
    let shown = length.min(whole.len());
    whole[..shown].copy_from_slice(bytes.get(..length)?.get(..shown)?);
    let tag = Tag::read_from_bytes(&whole).ok()?;
    let flags = tag.t_flags.get().into();
    let checksum = has_checksum.then_some(Sum::Low(tag.t_checksum.get()));
    let (low, high) = (tag.t_blocknr.get(), tag.t_blocknr_high.get());
    Some((logged(low, high, flags, checksum), flags, length))
}
