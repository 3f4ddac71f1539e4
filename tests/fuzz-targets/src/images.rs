//! Images of EROFS in memory, for what lies below a hostile disk.

use std::io;

use erofs_writer::ImageWriter;
use fstree::{Metadata, Tree, TreeBuilder};

/// Returns a tree with these files. The content of each is its path, again and again.
pub(crate) fn files(paths: &[&str]) -> Tree<Vec<u8>> {
    let mut builder = TreeBuilder::new(Metadata::directory(0o755));
    for path in paths {
        builder
            .file(path, Metadata::with_mode(0o644), content(path))
            .expect("a path");
    }
    builder.finish()
}

/// Returns the content of the file at a path.
pub(crate) fn content(path: &str) -> Vec<u8> {
    path.as_bytes().repeat(path.len() * 200)
}

/// Returns the image of a tree.
pub(crate) fn erofs(files: &Tree<Vec<u8>>) -> Vec<u8> {
    let mut out = io::Cursor::new(Vec::new());
    let mut writer = ImageWriter::new(&mut out, Default::default()).expect("valid");
    let stored = files.clone().try_map(|content| {
        let length = content.len() as u64;
        let run = writer.append(&mut &content[..], length)?;
        Ok::<_, erofs_writer::WriteError>(run.expect("not empty").whole_file(length))
    });
    writer.finish(&stored.expect("written")).expect("written");
    out.into_inner()
}
