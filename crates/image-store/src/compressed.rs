//! The blobs that layers were compressed to, remembered by digest: the same tar and the same compression give
//! the same blob, so a registry can be asked for it before the layer is compressed again.

use std::collections::BTreeMap;
use std::io;
use std::io::Write as _;

use fs_err as fs;
use oci_image::{Descriptor, Digest};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::lock::Lock;
use crate::record::LayerRecord;

/// Longest record that is read, in bytes. One has a digest for each of three compressions.
const RECORD_MAX_BYTES: u64 = 16 << 10;

/// The blobs of one layer, by the name of their compression.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Compressed {
    diff_id: Option<Digest>,
    blobs: BTreeMap<String, Blob>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Blob {
    digest: Digest,
    size_bytes: u64,
}

impl Store {
    /// Returns the blob that the layer was compressed to before; `None` if that is not known. A record that is
    /// damaged, or of another layer, is not known.
    pub fn compressed(&self, layer: &LayerRecord, compression: &str) -> Option<Descriptor> {
        let mut compressed = self.read_compressed(layer)?;
        let blob = compressed.blobs.remove(compression)?;
        Some(Descriptor {
            digest: blob.digest,
            size_bytes: blob.size_bytes,
        })
    }

    /// Remembers the blob that the layer was compressed to, as long as the layer is in the store.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn remember_compressed(
        &self,
        layer: &LayerRecord,
        compression: &str,
        blob: &Descriptor,
    ) -> io::Result<()> {
        let mut compressed = self.read_compressed(layer).unwrap_or_default();
        compressed.diff_id = Some(layer.diff_id);
        let remembered = Blob {
            digest: blob.digest,
            size_bytes: blob.size_bytes,
        };
        compressed.blobs.insert(compression.to_owned(), remembered);
        self.replace_compressed(layer, &sealed_records::seal(&compressed)?)
    }

    /// Replaces a record by way of the directory of unfinished files: a later process removes from there what a
    /// killed one leaves. After a power cut the record may be damaged, which its seal shows.
    fn replace_compressed(&self, layer: &LayerRecord, sealed: &[u8]) -> io::Result<()> {
        // A sweep would take the file for a leftover.
        let _no_sweep = Lock::take_blocking(&self.layout.sweep_lock())?;
        let mut file = durable_files::temporary_file(&self.layout.temporary(), ".compressed")?;
        file.write_all(sealed)?;
        let path = self.layout.compressed().join(&layer.erofs.file);
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    fn read_compressed(&self, layer: &LayerRecord) -> Option<Compressed> {
        let path = self.layout.compressed().join(&layer.erofs.file);
        if fs::metadata(&path).ok()?.len() > RECORD_MAX_BYTES {
            return None;
        }
        let compressed: Compressed = sealed_records::open(&fs::read(&path).ok()?).ok()?;
        (compressed.diff_id == Some(layer.diff_id)).then_some(compressed)
    }
}
