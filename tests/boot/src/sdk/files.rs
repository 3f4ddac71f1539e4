//! Files: written, read, listed, changed, copied, streamed.

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use msb_sdk::{
    CopyOptions, ErrorKind, FileType, MkdirOptions, RemoveOptions, Sandbox, Text, WriteOptions,
};

pub(super) async fn check(sandbox: &Sandbox) -> Result<()> {
    written(sandbox).await?;
    changed(sandbox).await?;
    refused(sandbox).await?;
    copied(sandbox).await?;
    archived(sandbox).await
}

async fn written(sandbox: &Sandbox) -> Result<()> {
    let files = sandbox.files();
    let all: Vec<u8> = (0..=255).cycle().take(200_000).collect();
    let options = WriteOptions::default().mode(0o640).parents();
    files.write_with("/srv/a/b", all.clone(), options).await?;
    ensure!(files.read("/srv/a/b").await? == all, "the content differs");
    let info = files.stat("/srv/a/b").await?;
    ensure!(
        (info.size_bytes, info.mode, info.file_type) == (200_000, 0o640, FileType::File),
        "{info:?}"
    );
    files.write("/srv/a/b", "").await?;
    ensure!(files.read("/srv/a/b").await?.is_empty(), "0 bytes");
    // A name is any bytes but NUL and `/`.
    let name = Text::from(&b"/srv/a/\xff\n"[..]);
    files.write(name.clone(), "x").await?;
    let listed = files.list("/srv/a").await?;
    let names: Vec<_> = listed.iter().map(|info| info.name.as_bytes()).collect();
    ensure!(names == [&b"b"[..], b"\xff\n"], "{names:?}");
    let stream = files.read_stream(name).await?;
    ensure!(stream.next().await?.context("a byte")? == "x", "one byte");
    ensure!(stream.next().await?.is_none(), "one byte");
    Ok(())
}

async fn changed(sandbox: &Sandbox) -> Result<()> {
    let files = sandbox.files();
    files.mkdir("/srv/c").await?;
    files
        .mkdir_with("/srv/c", MkdirOptions::default().parents())
        .await?;
    files.rename("/srv/a/b", "/srv/c/d").await?;
    files.chmod("/srv/c/d", 0o755).await?;
    ensure!(files.stat("/srv/c/d").await?.mode == 0o755, "chmod");
    ensure!(!files.exists("/srv/a/b").await?, "it was renamed");
    sandbox
        .exec(["ln", "-s", "/srv/c/d", "/srv/link"])
        .check()
        .await?;
    let link = files.stat_with("/srv/link", false).await?;
    ensure!(link.target == Some(Text::from("/srv/c/d")), "{link:?}");
    files
        .remove_with("/srv/a", RemoveOptions::default().recursive())
        .await?;
    files
        .remove_with("/srv/a", RemoveOptions::default().missing_ok())
        .await?;
    Ok(())
}

async fn refused(sandbox: &Sandbox) -> Result<()> {
    let files = sandbox.files();
    let missing = files.read("/no/such").await.err().context("missing")?;
    ensure!(missing.kind() == ErrorKind::PathNotFound, "{missing:?}");
    ensure!(missing.details().contains_key("path"), "{missing:?}");
    let exists = files.mkdir("/srv/c").await.err().context("it exists")?;
    ensure!(exists.kind() == ErrorKind::PathExists, "{exists:?}");
    let directory = files.read("/srv/c").await.err().context("a directory")?;
    ensure!(directory.is(ErrorKind::InvalidArgument), "{directory:?}");
    Ok(())
}

async fn copied(sandbox: &Sandbox) -> Result<()> {
    let files = sandbox.files();
    let host = fs_directory()?;
    fs::create_dir(host.join("in"))?;
    fs::write(host.join("in/file"), "content")?;
    let copied = files.upload(host.join("in"), "/srv/up").await?;
    ensure!(copied.entries == 2, "{copied:?}");
    ensure!(files.read("/srv/up/file").await? == "content", "uploaded");
    files.download("/srv/up", host.join("out")).await?;
    ensure!(fs::read(host.join("out/file"))? == b"content", "downloaded");
    let missing = files.upload(host.join("none"), "/srv").await;
    let missing = missing.err().context("no source")?;
    ensure!(missing.kind() == ErrorKind::PathNotFound, "{missing:?}");
    Ok(fs::remove_dir_all(host)?)
}

async fn archived(sandbox: &Sandbox) -> Result<()> {
    let files = sandbox.files();
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
    ensure!(
        files.read("/srv/tar/up/file").await? == "content",
        "unpacked"
    );
    let whole = files
        .put_tar(std::io::Cursor::new(archive), "/no/such")
        .await;
    ensure!(whole.is_err(), "there is no directory to unpack in");
    Ok(())
}

/// Returns a new directory of the host.
fn fs_directory() -> Result<std::path::PathBuf> {
    let path = std::env::temp_dir().join(format!("boot-sdk-{}", std::process::id()));
    fs::create_dir(&path)?;
    Ok(path)
}
