//! Artifacts: whether they are intact, and how finished ones become part of the store.

use std::io;
use std::path::Path;

use erofs_writer::BLOCK_SIZE_BYTES;
use fs_err as fs;
use oci_image::Digest;

use super::form::Form;
use super::layout::{self, Layout};
use super::packed;
use super::record::{self, ChainFile, ErofsRecord, LayerFile, LayerRecord, OutlineRecord};
use super::session::Session;
use super::stamp::{self, VerifyMode};
use super::tree;

/// Returns the record of a layer whose artifact is present and intact, without its outline unless
/// that is intact too; `None` if the layer must be made.
pub fn present_layer(
    layout: &Layout,
    diff_id: &Digest,
    trust: VerifyMode,
) -> io::Result<Option<LayerFile>> {
    let path = layout.artifact(&layout::record_file(diff_id));
    let Some(mut file) = readable::<LayerFile>(record::read(&path))? else {
        return Ok(None);
    };
    if !file.is_for(diff_id) || !is_good(layout, &file.layer.erofs, trust)? {
        return Ok(None);
    }
    if let Some(outline) = &file.outline {
        let proved = stamp::prove(layout, &outline.file, &outline.blake3, trust);
        if readable(proved.map(Some))? != Some(true) {
            file.outline = None;
        }
    }
    Ok(Some(file))
}

/// Returns the record of a chain whose metadata and descriptor are present and intact; `None` if
/// they must be made.
pub fn present_chain(
    layout: &Layout,
    chain_key: &Digest,
    layers: &[LayerRecord],
    trust: VerifyMode,
) -> io::Result<Option<ChainFile>> {
    let path = layout.artifact(&layout::record_file(chain_key));
    let Some(file) = readable::<ChainFile>(record::read(&path))? else {
        return Ok(None);
    };
    if !file.is_for(chain_key, layers) || !is_good(layout, &file.fsmeta, trust)? {
        return Ok(None);
    }
    let vmdk = stamp::prove(layout, &file.vmdk.file, &file.vmdk.blake3, trust);
    Ok((readable(vmdk.map(Some))? == Some(true)).then_some(file))
}

/// Publishes the finished image of a layer, its tree, its outline, and the record of all. The tree
/// lies beside the image. A packed form, which was not good, is removed.
pub fn publish_layer(
    layout: &Layout,
    session: &Session,
    (image, layer): (&Path, &LayerRecord),
    (outline_path, outline): (&Path, &OutlineRecord),
) -> io::Result<()> {
    let record_name = layout::record_file(&layer.diff_id);
    let record = session.path(&record_name);
    let file = LayerFile::new(layer.clone(), Some(outline.clone()));
    durable_files::write_new(&record, &sealed_records::seal(&file)?)?;
    let (tree, tree_name) = (tree::path(image), layout::tree_file(&layer.erofs.file));
    durable_files::rename_all(&[
        (outline_path, &layout.artifact(&outline.file)),
        (&tree, &layout.artifact(&tree_name)),
        (image, &layout.artifact(&layer.erofs.file)),
        (&record, &layout.artifact(&record_name)),
    ])?;
    stamp::put_new(layout, &layer.erofs.file, &layer.erofs.blake3);
    stamp::put_new(layout, &outline.file, &outline.blake3);
    packed::remove_files(layout, &layer.erofs)
}

/// Publishes the finished metadata of a chain, its tree, its descriptor and its record. The tree
/// lies beside the metadata.
pub fn publish_chain(
    layout: &Layout,
    session: &Session,
    fsmeta: &Path,
    vmdk: &str,
    chain: &ChainFile,
) -> io::Result<()> {
    let record_name = layout::record_file(&chain.chain_key);
    let (record, descriptor) = (session.path(&record_name), session.path(&chain.vmdk.file));
    durable_files::write_new(&descriptor, vmdk.as_bytes())?;
    durable_files::write_new(&record, &sealed_records::seal(chain)?)?;
    let (tree, tree_name) = (tree::path(fsmeta), layout::tree_file(&chain.fsmeta.file));
    durable_files::rename_all(&[
        (&tree, &layout.artifact(&tree_name)),
        (fsmeta, &layout.artifact(&chain.fsmeta.file)),
        (&descriptor, &layout.artifact(&chain.vmdk.file)),
        (&record, &layout.artifact(&record_name)),
    ])?;
    stamp::put_new(layout, &chain.fsmeta.file, &chain.fsmeta.blake3);
    stamp::put_new(layout, &chain.vmdk.file, &chain.vmdk.blake3);
    Ok(())
}

fn is_good(layout: &Layout, record: &ErofsRecord, trust: VerifyMode) -> io::Result<bool> {
    if record.size_bytes != u64::from(record.blocks) * BLOCK_SIZE_BYTES {
        return Ok(false);
    }
    let proved = match Form::find(layout, record)? {
        Some(Form::Packed) => packed::prove(layout, record, trust),
        Some(Form::Plain) | None => {
            let path = layout.artifact(&record.file);
            let metadata = readable(fs::metadata(&path).map(Some))?;
            if metadata.is_none_or(|metadata| metadata.len() != record.size_bytes) {
                return Ok(false);
            }
            stamp::prove(layout, &record.file, &record.blake3, trust)
        }
    };
    readable(proved.map(Some)).map(|proved| proved == Some(true))
}

/// Maps the errors of a missing or invalid file to `None`, because the file will be made again.
fn readable<T>(read: io::Result<Option<T>>) -> io::Result<Option<T>> {
    match read {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::InvalidData
            ) =>
        {
            Ok(None)
        }
        other => other,
    }
}
