//! The maintenance of a store in the background: layers that were not used for a while are packed, and cache files are
//! kept below a limit.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, SystemTime};

use artifact_cache::trim;
use artifact_file::{ArtifactFile, Opening, Verify};
use diagnosis::is_full_disk;
use fs_err as fs;
use oci_image::Digest;

use super::form::{Form, distinct};
use super::kept::remove_file;
use super::lock::{Lock, Mode};
use super::pack::{PackError, pack_layer};
use super::record::LayerRecord;
use super::session::Session;
use super::verifier::whole_image;
use super::{Store, layout, used};

/// Options of a maintenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaintenanceOptions {
    /// Time since the last use of an image after which its layers are packed; `None` for never.
    pub pack_after: Option<Duration>,
    /// Limit on the space of all cache files, in bytes.
    pub cache_limit_bytes: u64,
}

/// Result of a maintenance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Maintained {
    /// Number of layers that were packed.
    pub packed_layers: usize,
    /// Space of cache files that was freed, in bytes.
    pub freed_cache_bytes: u64,
}

/// A layer, and the last use of an image that has it.
struct UsedLayer {
    layer: LayerRecord,
    used: SystemTime,
    /// True if a sandbox runs on one of the images, or another process has its lease.
    is_in_use: bool,
}

impl Store {
    /// Returns true if the last maintenance began longer ago than `interval`, and records that one begins now. In a new
    /// home the first interval begins now. Errors count as not due.
    pub fn begins_maintenance(&self, interval: Duration) -> bool {
        let path = self.layout.maintained();
        let last = fs::metadata(&path).and_then(|file| file.modified());
        let is_due = match &last {
            // A time in the future is that of a clock that was set back.
            Ok(last) => last.elapsed().map_or(true, |elapsed| elapsed >= interval),
            Err(_) => false,
        };
        if !is_due && last.is_ok() {
            return false;
        }
        let file = durable_files::open_or_create(&path);
        let noted = file.and_then(|file| file.file().set_modified(SystemTime::now()));
        noted.is_ok() && is_due
    }

    /// Packs layers whose images were not used for a while, and keeps cache files below their limit. Layers that a
    /// sandbox or a pull uses stay as they are; a layer that cannot be packed is left to `msb image verify`. Does
    /// nothing while another process maintains the store or a removal is running.
    ///
    /// # Errors
    /// If the store cannot be read, or its disk is full.
    pub fn maintain(&self, options: &MaintenanceOptions) -> Result<Maintained, PackError> {
        let mut maintained = Maintained::default();
        let alone = Lock::try_take(&self.layout.maintenance_lock(), Mode::Exclusive)?;
        let Some(_alone) = alone else {
            return Ok(maintained);
        };
        let layers = self.used_layers()?;
        // A full disk ends the packing, and this gives space back.
        maintained.freed_cache_bytes = self.trim_caches(&layers, options.cache_limit_bytes)?;
        if let Some(pack_after) = options.pack_after {
            maintained.packed_layers = self.pack_unused(&layers, pack_after)?;
        }
        Ok(maintained)
    }

    /// Returns the layers of all images, those first that were not used for the longest time.
    fn used_layers(&self) -> io::Result<Vec<UsedLayer>> {
        let mut layers: BTreeMap<Digest, UsedLayer> = BTreeMap::new();
        for digest in self.digests()? {
            // An image may be removed meanwhile.
            let record = whole_image(&self.layout, &digest);
            let used = used::last(&self.layout, &digest);
            let (Some(record), Ok(used)) = (record, used) else {
                continue;
            };
            let is_in_use = self.is_used(&digest)?;
            for layer in distinct(&record) {
                let known = layers.entry(layer.diff_id).or_insert_with(|| UsedLayer {
                    layer: layer.clone(),
                    used,
                    is_in_use,
                });
                known.used = known.used.max(used);
                known.is_in_use |= is_in_use;
            }
        }
        let mut layers: Vec<UsedLayer> = layers.into_values().collect();
        layers.sort_by_key(|layer| layer.used);
        Ok(layers)
    }

    fn pack_unused(&self, layers: &[UsedLayer], pack_after: Duration) -> Result<usize, PackError> {
        let mut packed = 0;
        for UsedLayer {
            layer,
            used,
            is_in_use,
        } in layers
        {
            let age = used.elapsed().unwrap_or_default();
            let is_plain = Form::find(&self.layout, &layer.erofs)? == Some(Form::Plain);
            if *is_in_use || age < pack_after || !is_plain {
                continue;
            }
            // A session for each layer: a removal need not wait for all of them.
            let Some(session) = Session::try_begin(&self.layout)? else {
                break;
            };
            match pack_layer(&self.layout, &session, layer, Duration::ZERO, &|_| ()) {
                Ok(is_changed) => packed += usize::from(is_changed),
                Err(error) if is_of_full_disk(&error) => return Err(error),
                // Others may be packed.
                Err(_) => {}
            }
        }
        Ok(packed)
    }

    /// Frees parts of cache files until all of them take at most `limit_bytes`. Returns the freed space, in bytes.
    fn trim_caches(&self, layers: &[UsedLayer], limit_bytes: u64) -> io::Result<u64> {
        let cache_bytes = |layer: &UsedLayer| {
            let path = layout::cache_file(&layer.layer.erofs.file);
            let file = fs::metadata(self.layout.artifact(&path));
            file.map_or(0, |file| durable_files::allocated_bytes(&file))
        };
        let mut total_bytes: u64 = layers.iter().map(cache_bytes).sum();
        let mut freed_bytes = 0;
        for layer in layers {
            let bytes = cache_bytes(layer);
            let excess_bytes = total_bytes.saturating_sub(limit_bytes);
            if excess_bytes == 0 {
                break;
            }
            let erofs = &layer.layer.erofs;
            let path = self.layout.artifact(&erofs.file);
            let opening = Opening::new(&path, erofs.content()).verified(Verify::TreeIfPresent);
            if bytes == 0 {
                continue;
            }
            let freed = match opening.open() {
                Ok(ArtifactFile::Cached(artifact)) => {
                    trim(&[&*artifact], bytes.saturating_sub(excess_bytes))?.freed_bytes
                }
                // A crash or a start at the same time has left it beside a plain artifact.
                Ok(ArtifactFile::Plain(_) | ArtifactFile::Verified(_)) => {
                    let file = layout::cache_file(&erofs.file);
                    remove_file(&self.layout.artifact(&file))?;
                    bytes
                }
                Ok(ArtifactFile::Packed(_)) | Err(_) => 0,
            };
            freed_bytes += freed;
            total_bytes = total_bytes.saturating_sub(freed);
        }
        Ok(freed_bytes)
    }
}

/// Returns true if nothing can be packed now.
fn is_of_full_disk(error: &PackError) -> bool {
    match error {
        PackError::Io(source)
        | PackError::Pack {
            source: packed_file::PackError::Output(source),
            ..
        } => is_full_disk(source),
        _ => false,
    }
}
