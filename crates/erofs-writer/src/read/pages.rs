use super::{Fault, ReadAt, ReadError, Structure};
use crate::length::Length;

/// Bytes of one page.
const PAGE_BYTES: u64 = 16 * 1024;
/// Most pages that are kept: 1 MiB in all.
const PAGES: u64 = 64;

/// A cache for metadata, which is read in small pieces: a few pages of the image, each kept in the
/// slot that its number selects.
#[derive(Debug)]
pub(crate) struct Pages<'image, R> {
    source: &'image R,
    size_bytes: u64,
    slots: Vec<Option<Page>>,
    /// Bytes that may still be read. The limit prevents overlapping structures from multiplying.
    allowance_bytes: u64,
    /// The limit of the caller, if that is the smaller one.
    limit_bytes: Option<u64>,
}

#[derive(Debug)]
struct Page {
    number: u64,
    bytes: Vec<u8>,
}

impl<'image, R: ReadAt> Pages<'image, R> {
    /// Returns the pages of an image of `size_bytes`. An intact image needs each byte of its
    /// metadata once, or a few times where attributes are shared. The allowance is sixteen times
    /// the image's size and 64 MiB, and at most `limit_bytes`.
    pub(crate) fn new(source: &'image R, size_bytes: u64, limit_bytes: u64) -> Self {
        let whole_bytes = size_bytes.saturating_mul(16).saturating_add(64 << 20);
        Self {
            source,
            size_bytes,
            slots: (0..PAGES).map(|_| None).collect(),
            allowance_bytes: whole_bytes.min(limit_bytes),
            limit_bytes: (limit_bytes < whole_bytes).then_some(limit_bytes),
        }
    }

    /// Reads `length_bytes` of `structure`.
    pub(crate) fn read(
        &mut self,
        structure: Structure,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<Vec<u8>, ReadError> {
        let end = self.check_bounds(structure, offset_bytes, length_bytes)?;
        self.charge(structure, offset_bytes, length_bytes)?;
        let mut bytes = Vec::new();
        let mut next = offset_bytes;
        while next < end {
            let page = self.page(next / PAGE_BYTES)?;
            let skip = usize::try_from(next % PAGE_BYTES).unwrap_or(usize::MAX);
            let rest = page.get(skip..).unwrap_or_default();
            let wanted = usize::try_from(end - next).unwrap_or(usize::MAX);
            let piece = &rest[..wanted.min(rest.len())];
            bytes.extend_from_slice(piece);
            next += piece.length_bytes();
        }
        Ok(bytes)
    }

    /// Subtracts `length_bytes` for `structure` from the allowance.
    pub(crate) fn charge(
        &mut self,
        structure: Structure,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<(), ReadError> {
        let left_bytes = self.allowance_bytes.checked_sub(length_bytes);
        self.allowance_bytes = left_bytes.ok_or_else(|| match self.limit_bytes {
            Some(limit_bytes) => ReadError::Memory { limit_bytes },
            None => structure.corrupt(offset_bytes, Fault::TooLarge),
        })?;
        Ok(())
    }

    /// Returns the end of `length_bytes` of `structure`, which must be within the image.
    pub(crate) fn check_bounds(
        &self,
        structure: Structure,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<u64, ReadError> {
        let size_bytes = self.size_bytes;
        let end = offset_bytes.checked_add(length_bytes);
        end.filter(|&end| end <= size_bytes)
            .ok_or_else(|| structure.corrupt(offset_bytes, Fault::OutsideImage { size_bytes }))
    }

    fn page(&mut self, number: u64) -> Result<&[u8], ReadError> {
        let slot = usize::try_from(number % PAGES).expect("few pages");
        if self.slots[slot]
            .as_ref()
            .is_none_or(|page| page.number != number)
        {
            let offset_bytes = number * PAGE_BYTES;
            let length_bytes = PAGE_BYTES.min(self.size_bytes - offset_bytes);
            let mut bytes = vec![0; usize::try_from(length_bytes).expect("a page is short")];
            self.source
                .read_exact_at(&mut bytes, offset_bytes)
                .map_err(|source| ReadError::Io {
                    device: 0,
                    offset_bytes,
                    source,
                })?;
            self.slots[slot] = Some(Page { number, bytes });
        }
        Ok(self.slots[slot].as_ref().map_or(&[], |page| &page.bytes))
    }
}
