use std::path::Path;
use std::process::Command;

use anyhow::Result;
use fs_err as fs;

use super::row::{Answer, At, Image, Row, finished};
use test_support::oci_layout::{self, Blob, TAG};
use test_support::succeed;

/// Returns the layers of a row, as complete archives.
pub(super) fn layers(row: &Row, at: &At) -> Vec<Blob> {
    match (row.image)(at) {
        Image::Alone(layers) => layers,
        Image::Shared(layers) => layers
            .into_iter()
            .map(|entries| Blob::plain(finished([own(at), entries].concat())))
            .collect(),
    }
}

/// Returns the entry of a row's own directory, with which each of its layers begins.
pub(super) fn own(at: &At) -> Vec<u8> {
    super::row::entries([at.own()])
}

/// Returns the right tree for a row that has one, as text.
pub(super) fn tree(row: &Row, at: &At, tree_dump: &Path, work: &Path) -> Result<String> {
    let layers = match row.answer {
        Answer::Plain(answer) if *at == At::root() => vec![Blob::plain(finished(answer(at)))],
        Answer::Plain(answer) => vec![Blob::plain(finished([own(at), answer(at)].concat()))],
        _ => layers(row, at),
    };
    let directory = work.join("layout");
    oci_layout::write(&directory, &layers);
    let bundle = work.join("bundle");
    let image = format!("{}:{TAG}", directory.display());
    succeed(
        Command::new("umoci")
            .args(["unpack", "--image", &image])
            .arg(&bundle),
    )?;
    let dump = succeed(Command::new(tree_dump).arg(bundle.join("rootfs")))?;
    fs::remove_dir_all(bundle)?;
    fs::remove_dir_all(directory)?;
    Ok(String::from_utf8(dump.stdout)?)
}
