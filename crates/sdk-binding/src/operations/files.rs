use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use msb_sdk::{
    CopyOptions, Files, MkdirOptions, ReadOptions, RemoveOptions, Size, Text, WriteOptions,
};
use serde::Deserialize;

use super::sandbox::SandboxObject;
use super::streams::Stream;
use crate::answer::Answer;
use crate::failure::Failure;
use crate::operation::Operation;

/// A path of the sandbox as it is, or as it is in a snapshot, whose files can only be read.
#[derive(Debug, Deserialize)]
struct OfPath {
    path: Text,
    #[serde(default)]
    snapshot: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Read {
    path: Text,
    #[serde(default)]
    max_size: Option<Size>,
    #[serde(default)]
    snapshot: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Write {
    path: Text,
    #[serde(default)]
    mode: Option<u32>,
    #[serde(default)]
    parents: bool,
}

impl Write {
    fn options(&self) -> WriteOptions {
        let mut options = WriteOptions::default();
        options.mode = self.mode;
        options.parents = self.parents;
        options
    }
}

#[derive(Debug, Deserialize)]
struct Stat {
    path: Text,
    #[serde(default = "yes")]
    follow: bool,
    #[serde(default)]
    snapshot: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Remove {
    path: Text,
    #[serde(default)]
    recursive: bool,
    #[serde(default)]
    missing_ok: bool,
}

#[derive(Debug, Deserialize)]
struct Rename {
    from: Text,
    to: Text,
}

#[derive(Debug, Deserialize)]
struct Chmod {
    path: Text,
    mode: u32,
}

/// A copy between `host`, a path of this host, and `guest`, a path of the sandbox or of its snapshot.
#[derive(Debug, Deserialize)]
struct Copy {
    host: PathBuf,
    guest: Text,
    #[serde(default)]
    keep_owner: bool,
    #[serde(default)]
    follow_link: bool,
    #[serde(default)]
    one_file_system: bool,
    #[serde(default)]
    snapshot: Option<String>,
}

const fn yes() -> bool {
    true
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::new("files.read", read),
        Operation::new("files.read_stream", read_stream),
        Operation::new("files.write", write),
        Operation::new("files.write_parts", write_parts),
        Operation::new("files.list", list),
        Operation::new("files.stat", stat),
        Operation::new("files.exists", exists),
        Operation::new("files.mkdir", mkdir),
        Operation::new("files.remove", remove),
        Operation::new("files.rename", rename),
        Operation::new("files.chmod", chmod),
        Operation::new("files.upload", upload),
        Operation::new("files.download", download),
        Operation::new("files.put_tar", put_tar),
        Operation::new("files.get_tar", get_tar),
    ]
}

/// Returns the files of a sandbox, or of its snapshot with this name.
fn files(sandbox: &SandboxObject, snapshot: Option<&str>) -> Files {
    match snapshot {
        Some(name) => sandbox.0.snapshots().files(name),
        None => sandbox.0.files(),
    }
}

async fn read(sandbox: Arc<SandboxObject>, read: Read, _: Vec<Bytes>) -> Result<Answer, Failure> {
    let mut options = ReadOptions::default();
    options.max_size = read.max_size;
    let content = files(&sandbox, read.snapshot.as_deref())
        .read_with(read.path, options)
        .await?;
    Ok(Answer::empty().with_content(vec![content]))
}

async fn read_stream(
    sandbox: Arc<SandboxObject>,
    of: OfPath,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let stream = files(&sandbox, of.snapshot.as_deref())
        .read_stream(of.path)
        .await?;
    Ok(Answer::empty().with_object(Stream::new(stream)))
}

async fn write(
    sandbox: Arc<SandboxObject>,
    write: Write,
    content: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let options = write.options();
    let content = content.into_iter().next().unwrap_or_default();
    let writing = sandbox.0.files().write_with(write.path, content, options);
    writing.await?;
    Ok(Answer::empty())
}

async fn write_parts(
    sandbox: Arc<SandboxObject>,
    write: Write,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let options = write.options();
    let upload = sandbox.0.files().write_parts(write.path, options);
    Ok(Answer::empty().with_object(Stream::new(upload)))
}

async fn list(sandbox: Arc<SandboxObject>, of: OfPath, _: Vec<Bytes>) -> Result<Answer, Failure> {
    Answer::with_value(
        &files(&sandbox, of.snapshot.as_deref())
            .list(of.path)
            .await?,
    )
}

async fn stat(sandbox: Arc<SandboxObject>, stat: Stat, _: Vec<Bytes>) -> Result<Answer, Failure> {
    let files = files(&sandbox, stat.snapshot.as_deref());
    let info = files.stat_with(stat.path, stat.follow).await?;
    Answer::with_value(&info)
}

async fn exists(sandbox: Arc<SandboxObject>, of: OfPath, _: Vec<Bytes>) -> Result<Answer, Failure> {
    Answer::with_value(
        &files(&sandbox, of.snapshot.as_deref())
            .exists(of.path)
            .await?,
    )
}

async fn mkdir(
    sandbox: Arc<SandboxObject>,
    mkdir: Write,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let mut options = MkdirOptions::default();
    options.mode = mkdir.mode;
    options.parents = mkdir.parents;
    sandbox.0.files().mkdir_with(mkdir.path, options).await?;
    Ok(Answer::empty())
}

async fn remove(
    sandbox: Arc<SandboxObject>,
    remove: Remove,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let mut options = RemoveOptions::default();
    options.recursive = remove.recursive;
    options.missing_ok = remove.missing_ok;
    sandbox.0.files().remove_with(remove.path, options).await?;
    Ok(Answer::empty())
}

async fn rename(
    sandbox: Arc<SandboxObject>,
    rename: Rename,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    sandbox.0.files().rename(rename.from, rename.to).await?;
    Ok(Answer::empty())
}

async fn chmod(
    sandbox: Arc<SandboxObject>,
    chmod: Chmod,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    sandbox.0.files().chmod(chmod.path, chmod.mode).await?;
    Ok(Answer::empty())
}

async fn upload(sandbox: Arc<SandboxObject>, copy: Copy, _: Vec<Bytes>) -> Result<Answer, Failure> {
    let options = copy_options(&copy);
    let files = files(&sandbox, copy.snapshot.as_deref());
    Answer::with_value(&files.upload_with(copy.host, copy.guest, options).await?)
}

async fn download(
    sandbox: Arc<SandboxObject>,
    copy: Copy,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let options = copy_options(&copy);
    let files = files(&sandbox, copy.snapshot.as_deref());
    Answer::with_value(&files.download_with(copy.guest, copy.host, options).await?)
}

async fn put_tar(
    sandbox: Arc<SandboxObject>,
    of: OfPath,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let files = files(&sandbox, of.snapshot.as_deref());
    let upload = files.put_tar_parts(of.path, CopyOptions::default());
    Ok(Answer::empty().with_object(Stream::new(upload)))
}

async fn get_tar(
    sandbox: Arc<SandboxObject>,
    of: OfPath,
    _: Vec<Bytes>,
) -> Result<Answer, Failure> {
    let stream = files(&sandbox, of.snapshot.as_deref())
        .get_tar(of.path)
        .await?;
    Ok(Answer::empty().with_object(Stream::new(stream)))
}

fn copy_options(copy: &Copy) -> CopyOptions {
    let mut options = CopyOptions::default();
    options.keep_owner = copy.keep_owner;
    options.follow_link = copy.follow_link;
    options.one_file_system = copy.one_file_system;
    options
}
