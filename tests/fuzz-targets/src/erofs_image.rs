//! Bytes that claim to be an EROFS image.

use erofs_writer::Image;
use fstree::FileKind;

use crate::bounded::Bounded;

/// Largest file whose content is read, in bytes.
const FILE_BYTES: u64 = 1 << 20;
/// Longest dump, in bytes.
const DUMP_BYTES: usize = 1 << 20;

/// Reads `bytes` as an EROFS image.
pub fn run(bytes: &[u8]) {
    let Ok(image) = Image::open(bytes.to_vec()) else {
        return;
    };
    let _ = image.verify();
    let _ = image.dump(&mut Bounded(DUMP_BYTES));
    let _ = image.root_metadata();
    let Ok(tree) = image.read_tree() else { return };
    for entry in tree.walk().take(100) {
        if let FileKind::Regular(data) = &entry.inode.kind
            && data.size_bytes <= FILE_BYTES
        {
            let _ = image.copy_file(data, &[], &mut std::io::sink());
        }
    }
}
