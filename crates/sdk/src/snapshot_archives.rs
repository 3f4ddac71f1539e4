//! Snapshots as one file: exported by one host, imported by another.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use msb_client::{Cancellation, Shared, printable};
use msb_sandbox_snapshots::{SandboxSnapshots, SnapshotError, SnapshotExport, SnapshotImport};
use serde::{Deserialize, Serialize};

use crate::sandboxes::{missing_image, resources};
use crate::{Error, ErrorKind, Notice, Operation, Sandbox, SandboxOptions, Sandboxes, Snapshots};

/// Bytes of an archive that are read at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// The options of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ImportOptions {
    /// The path of the archive.
    pub path: PathBuf,
    /// The name of the new sandbox; that of the exported one if `None`.
    pub name: Option<String>,
}

impl Snapshots {
    /// Writes a snapshot to a file that another host imports: its disk and its record, compressed and
    /// sealed with checksums. The image is not part of it. The file is complete, or unchanged.
    ///
    /// ```no_run
    /// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
    /// sandbox.snapshots().export("clean", "clean.msb").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound), [`OutOfSpace`](crate::ErrorKind::OutOfSpace).
    pub fn export(&self, name: &str, path: impl Into<PathBuf>) -> Operation<()> {
        let path = path.into();
        self.exported(name, true, move |export, cancellation| {
            Ok(export.write_file(&path, &|| cancellation.is_cancelled())?)
        })
    }

    /// Writes a snapshot like [`export`](Self::export) to a stream, on a thread of its own. After a failure
    /// the stream has the beginning of an archive.
    ///
    /// # Errors
    /// Fails as [`export`](Self::export) does, or if the stream does.
    pub fn export_to(&self, name: &str, stream: impl Write + Send + 'static) -> Operation<()> {
        self.exported(name, false, move |export, cancellation| {
            Ok(export.write(stream, &|| cancellation.is_cancelled())?)
        })
    }

    fn exported(
        &self,
        name: &str,
        leaves_a_file: bool,
        write: impl FnOnce(&SnapshotExport, &Cancellation) -> Result<(), Error> + Send + 'static,
    ) -> Operation<()> {
        let (handle, name) = (self.handle(), name.to_owned());
        Operation::new(async move {
            let (cancellation, _cancel) = Cancellation::on_drop();
            // An unfinished file is removed soon after the operation was dropped; nobody waits for a stream.
            let cleanup = leaves_a_file.then(|| handle.shared().cleanups().begin());
            let stored = handle.stored();
            let work = move |shared: &Shared| {
                let _cleanup = cleanup;
                stored.check_has_image().map_err(SnapshotError::from)?;
                let image = shared.store()?.find(&stored.spec.image_digest);
                let image = image.map_err(|error| missing_image(&stored.spec, error))?;
                write(
                    &SandboxSnapshots::new(stored.clone()).export(&name, &image)?,
                    &cancellation,
                )
            };
            handle.shared().with_home(work).await
        })
    }
}

impl Sandboxes {
    /// Makes a sandbox of an exported snapshot. It begins with its files, has the snapshot, and is not
    /// started. Its image has to be in the store. It has the options of the exported sandbox, but for those
    /// that lead to this host: its files, volumes, ports and network; [`Sandbox::warnings`] names them.
    ///
    /// The archive may come from anybody. The sandbox appears once all of it was compared with its
    /// checksums.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// let sandbox = msb.sandboxes().import_snapshot("clean.msb", Some("work")).await?;
    /// sandbox.start().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ImageNotFound`](crate::ErrorKind::ImageNotFound), [`NameTaken`](crate::ErrorKind::NameTaken),
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for an archive that is damaged, and
    /// [`OutOfSpace`](crate::ErrorKind::OutOfSpace). Nothing is left of the sandbox then.
    pub fn import_snapshot(
        &self,
        path: impl Into<PathBuf>,
        name: Option<&str>,
    ) -> Operation<Sandbox> {
        self.import_snapshot_with(ImportOptions {
            path: path.into(),
            name: name.map(str::to_owned),
        })
    }

    /// Makes a sandbox of an exported snapshot, with these options.
    ///
    /// # Errors
    /// Fails as [`import_snapshot`](Self::import_snapshot) does.
    pub fn import_snapshot_with(&self, options: ImportOptions) -> Operation<Sandbox> {
        let shared = self.shared();
        Operation::new(async move {
            let open = move || {
                std::fs::File::open(&options.path).map_err(|error| {
                    let is_missing = error.kind() == io::ErrorKind::NotFound;
                    let path = options.path.display();
                    let error = Error::from(error).context(format!("cannot open {path}"));
                    if is_missing {
                        error.with_kind(ErrorKind::PathNotFound)
                    } else {
                        error
                    }
                })
            };
            imported(shared, open, options.name).await
        })
    }

    /// Makes a sandbox of an exported snapshot like [`import_snapshot`](Self::import_snapshot), which is
    /// read from a stream, on a thread of its own.
    ///
    /// # Errors
    /// Fails as [`import_snapshot`](Self::import_snapshot) does.
    pub fn import_snapshot_from(
        &self,
        stream: impl Read + Send + 'static,
        name: Option<&str>,
    ) -> Operation<Sandbox> {
        let (shared, name) = (self.shared(), name.map(str::to_owned));
        Operation::new(async move { imported(shared, move || Ok(stream), name).await })
    }
}

async fn imported<R: Read>(
    shared: Arc<Shared>,
    open: impl FnOnce() -> Result<R, Error> + Send + 'static,
    name: Option<String>,
) -> Result<Sandbox, Error> {
    let (cancellation, _cancel) = Cancellation::on_drop();
    // What was written is removed soon after the operation was dropped.
    let cleanup = shared.cleanups().begin();
    let work = move |shared: &Shared| {
        let _cleanup = cleanup;
        let stream = Cancellable {
            stream: open()?,
            cancellation,
        };
        import(shared, stream, name)
    };
    let (stored, left_out) = shared.with_home(work).await?;
    let notices = left_out
        .into_iter()
        .map(|message| Notice::new("left-out", message));
    let notices = notices.collect();
    Ok(Sandbox::kept(shared, stored, notices))
}

fn import(
    shared: &Shared,
    stream: impl Read,
    name: Option<String>,
) -> Result<(msb_runtime::Sandbox, Vec<String>), Error> {
    let import = SnapshotImport::begin(BufReader::with_capacity(BUFFER_BYTES, stream))?;
    let store = shared.store()?;
    let image = import.find_image(&store)?.ok_or_else(|| missing(&import))?;
    let _lease = store.lease(&image)?;
    let most = resources(&SandboxOptions::default())?;
    let imported = import.create(shared.home(), &image, name, most)?;
    Ok((imported.sandbox, imported.left_out))
}

/// Returns the error of a snapshot whose image is not in the store.
fn missing<R: BufRead>(import: &SnapshotImport<R>) -> Error {
    let (image, digest) = (import.image(), import.image_digest());
    let message = format!("cannot import the snapshot: its image {digest} is not in the store");
    let hint = format!(
        "the archive does not contain the image, whose name on the exporting host is {image}: pull \
         the same image with msb pull, or copy it from there with msb save {image} | msb load"
    );
    Error::new(ErrorKind::ImageNotFound, printable(&message))
        .with_detail("digest", digest)
        .with_hint(hint)
}

/// A stream that cannot be read any more once the work is cancelled.
struct Cancellable<R> {
    stream: R,
    cancellation: Cancellation,
}

impl<R> fmt::Debug for Cancellable<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancellable").finish_non_exhaustive()
    }
}

impl<R: Read> Read for Cancellable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancellation.is_cancelled() {
            return Err(io::Error::from(io::ErrorKind::ConnectionAborted));
        }
        self.stream.read(buffer)
    }
}
