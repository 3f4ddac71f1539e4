//! Directory content: blocks of entries, names behind them.

mod pack;
mod parse;

pub(crate) use pack::{Entry, pack};
pub(crate) use parse::{DirEntry, parse_block};

use fstree::FileType;

/// `EROFS_FT_*` by type.
const FILE_TYPES: [(u8, FileType); 7] = [
    (1, FileType::Regular),
    (2, FileType::Directory),
    (3, FileType::CharDevice),
    (4, FileType::BlockDevice),
    (5, FileType::Fifo),
    (6, FileType::Socket),
    (7, FileType::Symlink),
];

/// The type that a code stands for.
pub(crate) fn file_type_of(code: u8) -> Option<FileType> {
    let known = FILE_TYPES.iter().find(|(known, _)| *known == code);
    known.map(|&(_, file_type)| file_type)
}

/// The code that a directory entry holds.
pub(crate) fn file_type_code(file_type: FileType) -> u8 {
    let (code, _) = FILE_TYPES
        .iter()
        .find(|(_, known)| *known == file_type)
        .expect("every type has a code");
    *code
}
