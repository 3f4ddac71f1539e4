//! Directory content: blocks of entries, each followed by its entries' names.

mod pack;
mod parse;

pub(crate) use pack::{Entry, pack};
pub(crate) use parse::{DirEntry, parse_block};

use fstree::FileType;

/// The codes `EROFS_FT_*`, with the type of each.
const FILE_TYPES: [(u8, FileType); 7] = [
    (1, FileType::Regular),
    (2, FileType::Directory),
    (3, FileType::CharDevice),
    (4, FileType::BlockDevice),
    (5, FileType::Fifo),
    (6, FileType::Socket),
    (7, FileType::Symlink),
];

/// Returns the type for an `EROFS_FT_*` code. `None` if the code is unknown.
pub(crate) fn file_type_of(code: u8) -> Option<FileType> {
    let known = FILE_TYPES.iter().find(|(known, _)| *known == code);
    known.map(|&(_, file_type)| file_type)
}

/// Returns the `EROFS_FT_*` code of a type.
pub(crate) fn file_type_code(file_type: FileType) -> u8 {
    let (code, _) = FILE_TYPES
        .iter()
        .find(|(_, known)| *known == file_type)
        .expect("every type has a code");
    *code
}
