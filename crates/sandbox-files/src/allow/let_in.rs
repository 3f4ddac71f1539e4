use msb_agent_protocol::v1::{FileStat, FileType, PutArchive};
use msb_agent_protocol::{Bytes, ChunkWriter, ClientError, Code};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tree_archive::ArchiveWriter;

use super::found::{Copied, Found, Written};
use super::{AllowError, Allowed};
use crate::files::{FilesError, SandboxFiles, pack_view};

/// Chunks in the channel between the host's files and the sandbox.
const PENDING_CHUNKS: usize = 4;

/// Copies the files that were found into a running sandbox, except those that it has, and then publishes their image.
/// If it is interrupted in between, the copies are files that the sandbox made, and are let in by the next command.
pub(super) async fn let_in(
    files: &SandboxFiles,
    mut found: Found,
    allowed: &mut Allowed,
) -> Result<(), AllowError> {
    let mut missing: Option<Vec<u8>> = None;
    for (path, is_directory) in found.files()? {
        let is_below = |above: &Vec<u8>| {
            path.strip_prefix(&above[..])
                .is_some_and(|rest| rest.starts_with(b"/"))
        };
        if missing.as_ref().is_some_and(is_below) {
            continue;
        }
        let at = found.place.in_sandbox(&path);
        match stat(files, &at).await? {
            None => missing = is_directory.then_some(path),
            Some(stat) if found.is_denied(&path) && stat.mode == 0 => {}
            Some(stat) if found.was_copied(&path, &stat) => {}
            Some(stat) if is_directory && stat.r#type() == FileType::Directory => {
                found.present.insert(path);
            }
            Some(_) => {
                allowed.present.push(at);
                found.present.insert(path);
            }
        }
    }
    let Some(Written { image, copied }) = blocking(move || found.write()).await? else {
        return Ok(());
    };
    let tops = copied.tops.clone();
    put(files, copied).await?;
    blocking(move || image.publish().map_err(AllowError::from)).await?;
    allowed.let_in = tops
        .into_iter()
        .map(|path| [b"/", &path[..]].concat())
        .collect();
    Ok(())
}

/// Returns the attributes of a file of the sandbox; `None` if it has none there.
async fn stat(files: &SandboxFiles, path: &[u8]) -> Result<Option<FileStat>, AllowError> {
    match files.stat(path, false).await {
        Ok(stat) => Ok(Some(stat)),
        Err(FilesError::Guest(ClientError::Files {
            code: Code::NotFound,
            ..
        })) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Copies the files of an image into the sandbox.
async fn put(files: &SandboxFiles, copied: Copied) -> Result<(), AllowError> {
    let (sender, chunks) = mpsc::channel(PENDING_CHUNKS);
    let packing = spawn_blocking(move || {
        let send = |chunk| sender.blocking_send(chunk).is_ok();
        let mut archive = ArchiveWriter::new(ChunkWriter::new(send));
        for top in &copied.tops {
            let id = copied.view.tree().find(top).ok_or(FilesError::BrokenOff)?;
            pack_view(&copied.view, id, top, None, &mut archive)?;
        }
        // The sandbox closed the channel; its answer has the reason.
        let _ = archive.finish();
        Ok::<_, FilesError>(())
    });
    let start = PutArchive {
        directory: Bytes::from_static(b"/"),
        keep_owner: true,
        trusted_way: false,
    };
    let put = files.put_archive(start, chunks).await;
    let packed = packing.await.map_err(|_| FilesError::BrokenOff)?;
    put?;
    Ok(packed?)
}

/// Runs work that blocks on the host's files.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AllowError> + Send + 'static,
) -> Result<T, AllowError> {
    let done = spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(FilesError::BrokenOff.into()))
}
