//! Bytes that claim to be an ext4 image, its journal included.

#![no_main]

use std::fmt;

use ext4_writer::Image;
use fstree::FileKind;
use libfuzzer_sys::fuzz_target;

/// How much of each file is read.
const FILE_BYTES: u64 = 1 << 20;
/// How much is dumped.
const DUMP_BYTES: usize = 1 << 20;
/// Where the superblock lies, and its magic number in it.
const SUPERBLOCK: usize = 1024;

/// Text that is looked at no further, and that ends somewhere.
struct Bounded(usize);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
        Ok(())
    }
}

fuzz_target!(|bytes: &[u8]| {
    // The boot block says nothing; inputs are shorter without it.
    let image = [&[0; SUPERBLOCK][..], bytes].concat();
    let Ok(image) = Image::open(image) else { return };
    let _ = image.verify();
    let _ = image.dump(&mut Bounded(DUMP_BYTES));
    let Ok(tree) = image.read_tree() else { return };
    for entry in tree.walk().take(100) {
        if let FileKind::Regular(data) = &entry.inode.kind
            && data.size_bytes <= FILE_BYTES
        {
            let _ = image.copy_file(data, &mut std::io::sink());
        }
    }
});
