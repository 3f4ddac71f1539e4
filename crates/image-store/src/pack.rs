//! Layers packed and unpacked: each is in one of its forms at any instant, and after a crash in one or in both.

use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use blake3::Hasher;
use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use fs_err as fs;
use oci_image::Digest;

use super::Store;
use super::checksum::Checksum;
use super::find::REPAIR_HINT;
use super::form::{Form, disk_bytes, distinct};
use super::kept::remove_file;
use super::layout::{self, Layout};
use super::lock::{Lock, Mode};
use super::packed;
use super::record::{self, ErofsRecord, ImageRecord, LayerFile, LayerRecord, PackedRecord};
use super::session::Session;
use super::stamp;
use super::verify::STORE_LOCK_TIMEOUT;

/// Time for which a layer that another process makes or packs is waited for.
const LAYER_LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// The layers of an image after they were packed or unpacked, each counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Packing {
    /// Number of layers.
    pub layers: usize,
    /// Number of layers whose form has changed.
    pub changed: usize,
    /// Length of the layers in their plain form, in bytes.
    pub plain_bytes: u64,
    /// Space of the layers' files in the form that they have now, cache files included, in bytes.
    pub disk_bytes: u64,
}

/// An error that ended a packing or an unpacking. The layer has the form that it had; earlier layers keep the new one.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The store cannot be read or written.
    #[error("cannot write to the store")]
    Io(#[from] io::Error),
    /// The layer cannot be compressed.
    #[error("cannot pack {}", .path.display())]
    Pack {
        /// Path of the plain form.
        path: PathBuf,
        /// Cause reported by the compression.
        #[source]
        source: packed_file::PackError,
    },
    /// The content of a layer is not what was written.
    #[error("{} is corrupt: its content has changed", .path.display())]
    Damaged {
        /// Path of the form that the layer has.
        path: PathBuf,
    },
    /// A layer has neither form.
    #[error("layer {layer} is missing")]
    Missing {
        /// Diff ID of the layer.
        layer: Digest,
    },
    /// The record of a layer is not what was written.
    #[error("the record of layer {layer} is damaged")]
    Record {
        /// Diff ID of the layer.
        layer: Digest,
    },
    /// Another process makes the layer, or packs it.
    #[error("layer {layer} is in use by a pull, a load or another packing")]
    LayerBusy {
        /// Diff ID of the layer.
        layer: Digest,
    },
    /// A removal did not end in time.
    #[error("a removal is running")]
    Busy,
}

impl Diagnose for PackError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Io(source)
            | Self::Pack {
                source:
                    packed_file::PackError::Input(source)
                    | packed_file::PackError::Output(source)
                    | packed_file::PackError::Compression(source),
                ..
            } => source.diagnosis(),
            Self::Pack { .. } => Diagnosis::default(),
            Self::Damaged { .. } | Self::Missing { .. } | Self::Record { .. } => {
                Diagnosis::default().hint(REPAIR_HINT)
            }
            Self::LayerBusy { .. } | Self::Busy => Diagnosis::new(ErrorKind::Busy),
        }
    }
}

impl Store {
    /// Packs the layers of an image that are plain. `progress` gets the numbers of plain bytes as they are packed.
    /// Sandboxes that run on the image keep the files that they have open.
    ///
    /// # Errors
    /// If a layer is damaged or in use by a pull, or the store cannot be written.
    pub fn pack(&self, image: &ImageRecord, progress: &dyn Fn(u64)) -> Result<Packing, PackError> {
        self.change_layers(image, |session, layer| {
            pack_layer(&self.layout, session, layer, LAYER_LOCK_TIMEOUT, progress)
        })
    }

    /// Makes the plain form of an image's packed layers again. `progress` gets the numbers of plain bytes as they are
    /// written.
    ///
    /// # Errors
    /// If a layer is damaged or in use by a pull, or the store cannot be written.
    pub fn unpack(
        &self,
        image: &ImageRecord,
        progress: &dyn Fn(u64),
    ) -> Result<Packing, PackError> {
        self.change_layers(image, |session, layer| {
            unpack_layer(&self.layout, session, layer, progress)
        })
    }

    fn change_layers(
        &self,
        image: &ImageRecord,
        change: impl Fn(&Session, &LayerRecord) -> Result<bool, PackError>,
    ) -> Result<Packing, PackError> {
        let session = Session::begin_within(&self.layout, STORE_LOCK_TIMEOUT)?;
        let session = session.ok_or(PackError::Busy)?;
        let mut packing = Packing::default();
        for layer in distinct(image) {
            packing.changed += usize::from(change(&session, layer)?);
            packing.layers += 1;
            packing.plain_bytes += layer.erofs.size_bytes;
            packing.disk_bytes += disk_bytes(&self.layout, &layer.erofs)?;
        }
        Ok(packing)
    }
}

/// Packs a layer. Returns false if it is packed already. `wait` is the time to wait for its lock.
pub(crate) fn pack_layer(
    layout: &Layout,
    session: &Session,
    layer: &LayerRecord,
    wait: Duration,
    progress: &dyn Fn(u64),
) -> Result<bool, PackError> {
    let _lock = lock(layout, layer, wait)?;
    let erofs = &layer.erofs;
    match Form::find(layout, erofs)? {
        Some(Form::Plain) => {}
        Some(Form::Packed) => return Ok(false),
        None => return Err(missing(layer)),
    }
    let known = known(layout, layer)?;
    let name = layout::packed_file(&erofs.file);
    let unfinished = session.path(&name);
    let plain = layout.artifact(&erofs.file);
    let record = write_packed(&plain, erofs, &unfinished, progress)?;
    if packed::first_change(&unfinished, erofs)?.is_some() {
        return Err(PackError::Damaged { path: unfinished });
    }
    durable_files::rename_all(&[(&unfinished, &layout.artifact(&name))])?;
    stamp::put_new(layout, &name, &erofs.blake3);
    let packed = Some(record);
    replace_record(layout, session, &LayerFile { packed, ..known })?;
    // The stamp first: the next call goes on as long as the plain form exists.
    remove_file(&layout.stamp(&erofs.file))?;
    remove_file(&plain)?;
    durable_files::sync_directory(&layout.artifacts())?;
    Ok(true)
}

/// Makes the plain form of a layer. Returns false if it has it.
fn unpack_layer(
    layout: &Layout,
    session: &Session,
    layer: &LayerRecord,
    progress: &dyn Fn(u64),
) -> Result<bool, PackError> {
    let _lock = lock(layout, layer, LAYER_LOCK_TIMEOUT)?;
    let erofs = &layer.erofs;
    let form = Form::find(layout, erofs)?.ok_or_else(|| missing(layer))?;
    let known = known(layout, layer)?;
    if form == Form::Packed {
        let unfinished = session.path(&erofs.file);
        write_plain(
            &layout.artifact(&form.file(erofs)),
            erofs,
            &unfinished,
            progress,
        )?;
        durable_files::rename_all(&[(&unfinished, &layout.artifact(&erofs.file))])?;
        stamp::put_new(layout, &erofs.file, &erofs.blake3);
    }
    if known.packed.is_some() {
        let packed = None;
        replace_record(layout, session, &LayerFile { packed, ..known })?;
    }
    packed::remove_files(layout, erofs)?;
    Ok(form == Form::Packed)
}

/// Writes the packed form of the image at `plain` to a new file, and syncs it.
fn write_packed(
    plain: &Path,
    erofs: &ErofsRecord,
    unfinished: &Path,
    progress: &dyn Fn(u64),
) -> Result<PackedRecord, PackError> {
    let input = Counted {
        input: fs::File::open(plain)?,
        progress,
    };
    let mut output = Digested {
        output: BufWriter::new(durable_files::create(unfinished)?),
        hasher: Hasher::new(),
    };
    let packed = packed_file::pack(input, &mut output);
    let packed = packed.map_err(|source| PackError::Pack {
        path: plain.to_owned(),
        source,
    })?;
    let content = erofs.content();
    if (packed.size_bytes, packed.checksum) != (content.length_bytes, content.blake3) {
        return Err(PackError::Damaged {
            path: plain.to_owned(),
        });
    }
    let file = output.output.into_inner();
    file.map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok(PackedRecord {
        size_bytes: packed.packed_bytes,
        blake3: Checksum::of_hasher(&output.hasher),
    })
}

/// Writes the plain form of the image whose packed form is at `path` to a new file with holes, and syncs it.
fn write_plain(
    path: &Path,
    erofs: &ErofsRecord,
    unfinished: &Path,
    progress: &dyn Fn(u64),
) -> Result<(), PackError> {
    let file = durable_files::create(unfinished)?;
    let written = packed::for_each_group(path, erofs, &mut |offset_bytes, group| {
        if group.iter().any(|byte| *byte != 0) {
            file.file().write_all_at(group, offset_bytes)?;
        }
        progress(u64::try_from(group.len()).unwrap_or(0));
        Ok(())
    });
    match written {
        Err(error) if packed::is_of_damage(&error) => {
            return Err(PackError::Damaged {
                path: path.to_owned(),
            });
        }
        written => written?,
    }
    file.set_len(erofs.size_bytes)?;
    file.sync_all()?;
    Ok(())
}

/// Takes the lock of a layer, which a pull that makes the layer holds, too.
fn lock(layout: &Layout, layer: &LayerRecord, wait: Duration) -> Result<Lock, PackError> {
    let path = layout.artifact_lock(&layer.diff_id);
    let lock = Lock::take_within(&path, Mode::Exclusive, wait)?;
    let lock = lock.ok_or(PackError::LayerBusy {
        layer: layer.diff_id,
    })?;
    Ok(lock.unlinked_at_end())
}

/// Returns the record of a layer as its file has it.
fn known(layout: &Layout, layer: &LayerRecord) -> Result<LayerFile, PackError> {
    let path = layout.artifact(&layout::record_file(&layer.diff_id));
    let file = match record::read::<LayerFile>(&path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => None,
        file => file?,
    };
    let file = file.filter(|file| file.is_for(&layer.diff_id) && file.layer == *layer);
    file.ok_or(PackError::Record {
        layer: layer.diff_id,
    })
}

fn replace_record(layout: &Layout, session: &Session, file: &LayerFile) -> io::Result<()> {
    let path = layout.artifact(&layout::record_file(&file.layer.diff_id));
    session.replace(&path, &sealed_records::seal(file)?)
}

fn missing(layer: &LayerRecord) -> PackError {
    PackError::Missing {
        layer: layer.diff_id,
    }
}

/// An input whose bytes are counted.
struct Counted<'a, R> {
    input: R,
    progress: &'a dyn Fn(u64),
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        (self.progress)(u64::try_from(count).unwrap_or(0));
        Ok(count)
    }
}

/// An output whose bytes are digested.
struct Digested<W> {
    output: W,
    hasher: Hasher,
}

impl<W: Write> Write for Digested<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.output.write(bytes)?;
        self.hasher.update(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
