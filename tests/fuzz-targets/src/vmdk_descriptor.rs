//! Text that claims to be a VMDK descriptor: what is accepted has the same value after a round
//! trip.

use vmdk::Descriptor;

/// Parses `bytes`, up to the first that is not UTF-8, as a descriptor.
///
/// # Panics
/// If an accepted descriptor is written as text, and that text is read as another descriptor.
pub fn run(bytes: &[u8]) {
    let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    if let Ok(descriptor) = Descriptor::parse(text) {
        let again = Descriptor::parse(&descriptor.render());
        assert_eq!(again.ok(), Some(descriptor));
    }
}
