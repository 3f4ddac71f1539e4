use std::io;
use std::sync::Arc;

use image_store::layout::Layout;
use image_store::origin::OriginFile;
use image_store::record::{ImageRecord, ReferenceFile};
use image_store::session::Session;
use image_store::{documents, kept, used};
use oci_image::Reference;

/// The last step of an import: the records and names that make an image visible.
pub(super) struct Publication {
    pub(super) layout: Layout,
    pub(super) session: Arc<Session>,
    pub(super) raw_manifest: Arc<[u8]>,
    pub(super) raw_config: Arc<[u8]>,
    pub(super) origin: OriginFile,
    pub(super) record: ImageRecord,
    pub(super) names: Vec<Reference>,
}

impl Publication {
    /// Writes the image's documents, its origin, then its record, then its names. Before that it syncs the
    /// directory of artifacts, because a process that was killed may have renamed an artifact
    /// without a sync. Blocks.
    pub(super) fn write(&self) -> io::Result<()> {
        let (layout, session) = (&self.layout, &*self.session);
        let manifest = self.record.manifest_digest;
        durable_files::sync_directory(&layout.artifacts())?;
        documents::write(layout, session, &self.raw_manifest, &self.raw_config)?;
        kept::write(layout, session, &layout.origin(&manifest), &self.origin)?;
        kept::write(layout, session, &layout.image(&manifest), &self.record)?;
        used::note(layout, &manifest);
        for name in &self.names {
            let file = ReferenceFile {
                reference: name.canonical().to_string(),
                manifest_digest: manifest,
            };
            kept::write(layout, session, &layout.reference(name), &file)?;
        }
        Ok(())
    }
}
