use std::cell::Cell;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::thread;

use erofs_writer::{ImageWriter, Options};
use fs_err as fs;
use image_store::outline::Written as WrittenOutline;
use image_store::record::{ErofsRecord, LayerRecord};
use image_store::{Checksum, OutlineRecord, layout};
use oci_image::Layer;
use oci_layers::{Limits, Note, read_layer};

use super::artifact_file::ArtifactFile;
use super::budget::{Budget, beyond};
use super::chunks::{CHUNK_BYTES, ChunkReader, ChunkSender, chunk_stream};
use super::compression::{Compression, decompress, detect};
use super::error::ConvertError;
use super::recorded::{RecordedReader, RecordedSink, Recording};
use super::verified::VerifiedReader;

/// A layer that was converted to a complete artifact, not yet synced.
#[derive(Debug)]
pub(crate) struct Converted {
    pub(crate) record: LayerRecord,
    pub(crate) image: fs::File,
    pub(crate) tree: fs::File,
    pub(crate) outline_record: OutlineRecord,
    pub(crate) outline: fs::File,
    /// Kept notes on attributes that were lost in the conversion, and the number of all such notes.
    pub(crate) notes: Vec<Note>,
    pub(crate) notes_total: u64,
}

/// Returns the path of the outline of the layer whose image is at `path`.
pub(crate) fn outline_path(path: &Path) -> PathBuf {
    path.with_extension("outline")
}

/// Converts a layer's blob to an EROFS image at `path`, with its tree and an outline beside it, in one pass. This thread parses and writes;
/// another reads, verifies and decompresses.
///
/// # Errors
/// The first error that occurred. The files are then unusable.
pub(crate) fn convert(
    layer: &Layer,
    blob: &mut (dyn Read + Send),
    path: &Path,
    budget: &Budget,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Converted, ConvertError> {
    let (sender, mut reader) = chunk_stream();
    let (fed, written) = thread::scope(|scope| {
        let feeder = scope.spawn(move || feed(layer, blob, budget, progress, sender));
        let written = write(layer, &mut reader, path, &budget.limits);
        let written = check_content(layer, reader, written);
        (feeder.join(), written)
    });
    let fed = fed.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    // If the blob is wrong, that explains all errors in its content.
    match fed {
        Err(ConvertError::Abandoned) | Ok(()) => {}
        Err(error) => return Err(error),
    }
    let Written {
        file,
        blocks,
        notes,
        notes_total,
        outline: (outline, written),
    } = written?;
    let (image, tree, content) = file.finish().map_err(ConvertError::Io)?;
    let erofs = ErofsRecord {
        file: layout::layer_file(&layer.diff_id),
        size_bytes: content.length_bytes,
        blocks,
        blake3: Checksum::from_bytes(content.blake3),
    };
    let diff_id = layer.diff_id;
    Ok(Converted {
        record: LayerRecord { diff_id, erofs },
        image,
        tree,
        outline_record: OutlineRecord::new(&diff_id, &written),
        outline,
        notes,
        notes_total,
    })
}

/// Runs in the first thread: reads, digests and decompresses the blob.
fn feed(
    layer: &Layer,
    blob: &mut (dyn Read + Send),
    budget: &Budget,
    progress: &dyn Fn(u64),
    chunks: ChunkSender,
) -> Result<(), ConvertError> {
    let read_bytes = Cell::new(0);
    let count = |bytes| {
        read_bytes.set(read_bytes.get() + bytes);
        progress(bytes);
    };
    let mut verified = VerifiedReader::new(blob, layer.blob, &count);
    match decompress_into(&mut verified, budget, &read_bytes, &chunks) {
        Ok(true) => verified.finish()?,
        Ok(false) => return Err(ConvertError::Abandoned),
        // The rest of the blob is not read, because it may be endless.
        Err(error @ ConvertError::Limit(_)) => return Err(error),
        Err(error) => {
            // A wrong blob explains an invalid stream.
            verified.finish()?;
            return Err(error);
        }
    }
    if chunks.end() {
        Ok(())
    } else {
        Err(ConvertError::Abandoned)
    }
}

fn decompress_into(
    blob: &mut VerifiedReader<'_>,
    budget: &Budget,
    read_bytes: &Cell<u64>,
    chunks: &ChunkSender,
) -> Result<bool, ConvertError> {
    let read_error = |source| ConvertError::Read { source };
    let (compression, blob) = detect(blob).map_err(read_error)?;
    let broken = |source| match (beyond(source), compression) {
        (Ok(exceeded), _) => ConvertError::Limit(exceeded),
        (Err(source), Compression::None) => read_error(source),
        (Err(source), compression) => ConvertError::Broken {
            compression,
            source,
        },
    };
    let blob = BufReader::with_capacity(CHUNK_BYTES, blob);
    let content = match decompress(compression, blob, budget).map_err(broken)? {
        Some(content) => content,
        None => return Err(ConvertError::Compression { compression }),
    };
    let mut content = budget.meter(content, read_bytes);
    chunks.send_all(&mut content).map_err(broken)
}

/// A layer's artifact, not yet synced.
struct Written {
    file: ArtifactFile,
    blocks: u32,
    notes: Vec<Note>,
    notes_total: u64,
    outline: (fs::File, WrittenOutline),
}

/// Runs in the second thread: parses the tar stream, writes data as it comes, and metadata behind
/// it.
fn write(
    layer: &Layer,
    content: &mut ChunkReader,
    path: &Path,
    limits: &Limits,
) -> Result<Written, ConvertError> {
    let file = ArtifactFile::create(path).map_err(ConvertError::Io)?;
    let options = Options {
        uuid: layer.diff_id.uuid(),
        ..Options::default()
    };
    let writer = ImageWriter::new(file, options).map_err(ConvertError::Write)?;
    let outline = durable_files::create(&outline_path(path)).map_err(ConvertError::Io)?;
    let recording = Recording::new(outline).map_err(ConvertError::Io)?;
    let mut tar = RecordedReader {
        tar: content,
        recording: &recording,
    };
    let mut sink = RecordedSink {
        sink: writer,
        recording: &recording,
    };
    let parsed = read_layer(&mut tar, limits, &mut sink).map_err(ConvertError::Layer)?;
    io::copy(&mut tar, &mut io::sink()).map_err(|_| ConvertError::Abandoned)?;
    let finished = sink.sink.finish(&parsed.tree);
    let (file, summary) = finished.map_err(ConvertError::Write)?;
    let outline = recording.finish().map_err(ConvertError::Io)?;
    Ok(Written {
        file,
        blocks: summary.blocks,
        notes: parsed.notes,
        notes_total: parsed.notes_total,
        outline,
    })
}

fn check_content<T>(
    layer: &Layer,
    content: ChunkReader,
    written: Result<T, ConvertError>,
) -> Result<T, ConvertError> {
    if content.was_cut() {
        return Err(ConvertError::Abandoned);
    }
    let written = written?;
    let (expected, actual) = (layer.diff_id, content.digest());
    if actual != expected {
        return Err(ConvertError::DiffId { expected, actual });
    }
    Ok(written)
}
