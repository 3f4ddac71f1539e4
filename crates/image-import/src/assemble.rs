use std::io;
use std::path::{Path, PathBuf};

use diagnosis::{Diagnose, Diagnosis};
use erofs_writer::{DeviceSlot, Image, ImageWriter, Options, OutputFile};
use fs_err as fs;
use fstree::{FileData, Tree};
use image_store::layout::{self, Layout};
use image_store::record::{ChainFile, ErofsRecord, LayerRecord, VmdkRecord};
use image_store::session::Session;
use image_store::{ArtifactFile, Checksum, FORMAT_VERSION, VerifyMode, artifacts, form, tree};
use oci_image::Digest;
use oci_layers::Limits;
use vmdk::{Descriptor, FlatExtent, SECTOR_BYTES};

use crate::hints::of_source;

/// An error while layers are assembled to a disk.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    /// A file of the store cannot be read or written.
    #[error("cannot write to the store")]
    Io(#[source] io::Error),
    /// The layers cannot be merged.
    #[error("cannot merge the layers")]
    Merge(#[source] Box<oci_layers::MergeError<StoredLayerError>>),
    /// No VMDK descriptor can describe the disk.
    #[error("cannot make a disk of the layers")]
    Descriptor(#[source] vmdk::InvalidDescriptor),
    /// The merged tree cannot be stored.
    #[error("cannot store the merged tree")]
    Write(#[source] erofs_writer::WriteError),
}

impl Diagnose for AssembleError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Io(source) => of_source(source),
            Self::Merge(source) => of_source(&**source),
            Self::Descriptor(source) => of_source(source),
            Self::Write(source) => of_source(source),
        }
    }
}

/// An error in a stored layer, which cannot be read or is not the image that was written.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the stored layer {}", path.display())]
pub struct StoredLayerError {
    path: PathBuf,
    #[source]
    problem: LayerProblem,
}

/// Problem with a stored layer.
#[derive(Debug, thiserror::Error)]
enum LayerProblem {
    #[error("cannot open it")]
    Open(#[source] erofs_writer::OpenError),
    #[error("cannot read its tree")]
    Read(#[source] erofs_writer::ReadError),
    #[error("cannot read it")]
    Io(#[source] io::Error),
}

/// The disk of a chain of layers.
#[derive(Debug)]
pub(crate) enum Assembled {
    /// The disk is in the store.
    Present(ChainFile),
    /// The disk's metadata is in the session's directory.
    Made {
        /// Record of the chain.
        chain: ChainFile,
        /// Text of the VMDK descriptor.
        descriptor: String,
    },
}

impl Assembled {
    /// Publishes the disk in the store. All layers must have their final names.
    pub(crate) fn publish(self, layout: &Layout, session: &Session) -> io::Result<ChainFile> {
        let (chain, descriptor) = match self {
            Self::Present(chain) => return Ok(chain),
            Self::Made { chain, descriptor } => (chain, descriptor),
        };
        let path = session.path(&chain.fsmeta.file);
        artifacts::publish_chain(layout, session, &path, &descriptor, &chain)?;
        Ok(chain)
    }
}

/// Merges the layers' metadata and writes the disk's descriptor, unless both are present. A layer
/// may still be in the session's directory.
pub(crate) fn assemble(
    layout: &Layout,
    session: &Session,
    layers: &[LayerRecord],
    trust: VerifyMode,
    limits: &Limits,
) -> Result<Assembled, AssembleError> {
    let chain_key = layout::chain_key(layers.iter().map(|layer| &layer.diff_id));
    let present = artifacts::present_chain(layout, &chain_key, layers, trust);
    if let Some(chain) = present.map_err(AssembleError::Io)? {
        return Ok(Assembled::Present(chain));
    }
    let fsmeta = write_fsmeta(layout, session, &chain_key, layers, limits)?;
    let descriptor = descriptor(&chain_key, &fsmeta, layers)?;
    let vmdk = VmdkRecord {
        file: layout::vmdk_file(&chain_key),
        size_bytes: u64::try_from(descriptor.len()).unwrap_or(u64::MAX),
        blake3: Checksum::compute(descriptor.as_bytes()),
    };
    let diff_ids = layers.iter().map(|layer| layer.diff_id).collect();
    let chain = ChainFile {
        format_version: FORMAT_VERSION,
        chain_key,
        layers: diff_ids,
        fsmeta,
        vmdk,
    };
    Ok(Assembled::Made { chain, descriptor })
}

fn write_fsmeta(
    layout: &Layout,
    session: &Session,
    chain_key: &Digest,
    layers: &[LayerRecord],
    limits: &Limits,
) -> Result<ErofsRecord, AssembleError> {
    let trees = layers.iter().map(|layer| {
        let unpublished = session.path(&layer.erofs.file);
        read_tree(layout, &unpublished, &layer.erofs).map_err(|problem| {
            let path = layout.artifact(&layer.erofs.file);
            StoredLayerError { path, problem }
        })
    });
    let merged =
        oci_layers::merge(trees, limits).map_err(|error| AssembleError::Merge(Box::new(error)))?;
    let name = layout::fsmeta_file(chain_key);
    let path = session.path(&name);
    let file = durable_files::create_new(&path).map_err(AssembleError::Io)?;
    let devices = layers.iter().map(device_slot).collect();
    let options = Options {
        uuid: chain_key.uuid(),
        volume_name: String::new(),
        devices,
    };
    let file = OutputFile::new(file.into_parts().0).map_err(AssembleError::Io)?;
    let writer = ImageWriter::new(file, options).map_err(AssembleError::Write)?;
    let (file, summary) = writer.finish(&merged.tree).map_err(AssembleError::Write)?;
    let synced = file.into_inner().sync_all();
    synced.map_err(AssembleError::Io)?;
    let digested = tree::write(&path, &tree::path(&path));
    let (tree, blake3, size_bytes) = digested.map_err(AssembleError::Io)?;
    tree.sync_all().map_err(AssembleError::Io)?;
    Ok(ErofsRecord {
        file: name,
        size_bytes,
        blocks: summary.blocks,
        blake3,
    })
}

/// Reads the tree of a layer that another task may rename from one path into the store meanwhile.
fn read_tree(
    layout: &Layout,
    unpublished: &Path,
    erofs: &ErofsRecord,
) -> Result<Tree<FileData>, LayerProblem> {
    let file = match fs::File::open(unpublished) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => form::open(layout, erofs),
        opened => opened.map(|file| ArtifactFile::Plain(file.into_parts().0)),
    };
    let file = file.map_err(LayerProblem::Io)?;
    let image = Image::open(file).map_err(LayerProblem::Open)?;
    image.read_tree().map_err(LayerProblem::Read)
}

fn device_slot(layer: &LayerRecord) -> DeviceSlot {
    DeviceSlot {
        tag: layer.diff_id.hex(),
        blocks: layer.erofs.blocks,
    }
}

fn descriptor(
    chain_key: &Digest,
    fsmeta: &ErofsRecord,
    layers: &[LayerRecord],
) -> Result<String, AssembleError> {
    let extents = std::iter::once(fsmeta).chain(layers.iter().map(|layer| &layer.erofs));
    let extents = extents.map(|record| FlatExtent {
        sectors: record.size_bytes / SECTOR_BYTES,
        file_name: record.file.clone(),
    });
    let descriptor = Descriptor::new(content_id(chain_key), extents.collect());
    Ok(descriptor.map_err(AssembleError::Descriptor)?.render())
}

/// Returns the content id that identifies the disk to VMDK readers.
fn content_id(chain_key: &Digest) -> u32 {
    let first = chain_key
        .as_bytes()
        .first_chunk()
        .expect("a digest has 32 bytes");
    u32::from_be_bytes(*first)
}
