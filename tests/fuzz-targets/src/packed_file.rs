//! Bytes that claim to be a packed file, as they are and with the seals that they need: whatever is read as a
//! whole has the checksum that the file states, and a part of it is the same. Any bytes can also be packed.

use packed_file::fuzzing::sealed;
use packed_file::{GROUP_BYTES, PackedFile, pack};

/// Reads `bytes` as a packed file, and packs them.
///
/// # Panics
/// If bytes are read that do not have the checksum, or packing changes them.
pub fn run(bytes: &[u8]) {
    let _ = unpacked(bytes.to_vec());
    if let Some(sealed) = sealed(bytes) {
        let _ = unpacked(sealed);
    }
    let mut packed = Vec::new();
    pack(bytes, &mut packed).expect("memory does not fail");
    assert!(unpacked(packed).as_deref() == Some(bytes));
}

/// Returns the plain bytes, at most 16 MiB, of a file that is intact.
fn unpacked(bytes: Vec<u8>) -> Option<Vec<u8>> {
    let file = PackedFile::open(bytes, None).ok()?;
    let (mut plain, mut hasher) = (Vec::new(), blake3::Hasher::new());
    let read = file.for_each_group(&mut |offset_bytes, group| {
        assert!(group.len() <= GROUP_BYTES);
        assert_eq!(offset_bytes, hasher.count());
        hasher.update(group);
        if plain.len() < 16 << 20 {
            plain.extend(group);
        }
        Ok(())
    });
    read.ok()?;
    assert_eq!(hasher.count(), file.plain_bytes());
    assert_eq!(hasher.finalize().as_bytes(), file.checksum());
    let middle = plain.len() / 2..plain.len();
    let mut part = vec![0; middle.len()];
    let offset_bytes = u64::try_from(middle.start).expect("it is in memory");
    file.read(&mut part, offset_bytes).ok()?;
    assert!(part == plain[middle]);
    Some(plain)
}
