use memchr::memmem;

/// The name of a PVH note (include/xen/interface/elfnote.h).
///
/// Before it stand its size, 4, the size of the descriptor, and the type
/// `XEN_ELFNOTE_PHYS32_ENTRY`.
const NAME: &[u8; 4] = b"Xen\0";
const PHYS32_ENTRY: u32 = 18;

/// The three 32-bit words before the name.
const HEADER_BYTES: usize = 12;

/// The position of a PVH note, and the 32-bit entry point that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PvhNote {
    /// Offset in bytes from the start of the searched bytes.
    pub(crate) offset: usize,
    /// Size of the header, the name and the descriptor together.
    pub(crate) size_bytes: usize,
    /// The physical address of the entry point, for 32-bit mode without paging.
    pub(crate) entry: u64,
}

/// Finds the first 4-aligned PVH note whose entry `is_valid_entry`. `None` if there is none.
///
/// A kernel's note sections lie in its raw image without an index, so this searches the bytes. The
/// entry point distinguishes a note from a chance match.
pub(crate) fn find(image: &[u8], is_valid_entry: impl Fn(u64) -> bool) -> Option<PvhNote> {
    memmem::find_iter(image, NAME)
        .filter_map(|name_offset| read(image, name_offset.checked_sub(HEADER_BYTES)?))
        .find(|note| is_valid_entry(note.entry))
}

fn read(image: &[u8], offset: usize) -> Option<PvhNote> {
    let word = |index: usize| {
        let bytes = image.get(offset + index * 4..)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes))
    };
    let is_phys32_entry = offset.is_multiple_of(4) && word(0)? == 4 && word(2)? == PHYS32_ENTRY;
    let (descriptor_bytes, entry) = match word(1)? {
        _ if !is_phys32_entry => return None,
        4 => (4, u64::from(word(4)?)),
        8 => (8, u64::from(word(4)?) | u64::from(word(5)?) << 32),
        _ => return None,
    };
    Some(PvhNote {
        offset,
        size_bytes: HEADER_BYTES + NAME.len() + descriptor_bytes,
        entry,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(descriptor: &[u8]) -> Vec<u8> {
        let size = u8::try_from(descriptor.len()).expect("a test's descriptor is short");
        [
            &[4, 0, 0, 0, size, 0, 0, 0, 18, 0, 0, 0],
            NAME.as_slice(),
            descriptor,
        ]
        .concat()
    }

    #[test]
    fn reads_both_descriptor_widths() {
        let wide = [vec![0; 8], note(&0x0100_0000_u64.to_le_bytes())].concat();
        let expected = PvhNote {
            offset: 8,
            size_bytes: 24,
            entry: 0x0100_0000,
        };
        assert_eq!(find(&wide, |_| true), Some(expected));
        let narrow = note(&0x0100_0000_u32.to_le_bytes());
        assert_eq!(
            find(&narrow, |_| true).map(|note| note.size_bytes),
            Some(20)
        );
    }

    #[test]
    fn passes_over_what_only_looks_like_a_note() {
        let unaligned = [vec![0; 2], note(&[0; 8])].concat();
        assert_eq!(find(&unaligned, |_| true), None);
        assert_eq!(find(&note(&[0; 3]), |_| true), None);
        assert_eq!(find(&note(&[0; 8])[..20], |_| true), None);
        assert_eq!(find(b"Xen\0", |_| true), None);
        let two = [note(&7_u64.to_le_bytes()), note(&9_u64.to_le_bytes())].concat();
        assert_eq!(
            find(&two, |entry| entry == 9).map(|note| note.offset),
            Some(24)
        );
    }
}
