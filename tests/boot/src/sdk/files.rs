//! Archives of files: read as a stream, and written part by part.

use anyhow::{Result, ensure};
use msb_sdk::{CopyOptions, Sandbox};

pub(super) async fn check(sandbox: &Sandbox) -> Result<()> {
    let files = sandbox.files();
    files.mkdir("/srv/up").await?;
    files.write("/srv/up/file", "content").await?;
    let mut archive = Vec::new();
    let stream = files.get_tar("/srv/up").await?;
    while let Some(chunk) = stream.next().await? {
        archive.extend_from_slice(&chunk);
    }
    files.mkdir("/srv/tar").await?;
    let upload = files.put_tar_parts("/srv/tar", CopyOptions::default());
    for part in archive.chunks(1000) {
        upload.write(part.to_vec()).await?;
    }
    ensure!(upload.finish().await?.entries == 2, "two entries");
    let unpacked = files.read("/srv/tar/up/file").await?;
    ensure!(unpacked == "content", "{unpacked:?} was unpacked");
    let archive = std::io::Cursor::new(archive);
    let missing = files.put_tar(archive, "/no/such").await;
    ensure!(missing.is_err(), "the directory to unpack in is missing");
    Ok(())
}
