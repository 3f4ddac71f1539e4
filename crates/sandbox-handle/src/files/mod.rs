//! The files of a sandbox: read, written, listed, copied.

mod copy;
mod info;
mod options;
mod source;
mod stream;
mod tar;
mod write;

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use msb_agent_protocol::v1::{MakeDirectoryRequest, RemoveRequest, RenameRequest, SetModeRequest};
use msb_cancellation::Effect;
use msb_client::{Error, ErrorKind, Operation, Text};
use msb_sandbox_files::SandboxFiles;
use msb_sandbox_model::{ModeChange, Size};

pub use info::{FileInfo, FileType};
pub use msb_sandbox_files::{Copied, CopyOptions};
pub use options::{MkdirOptions, ReadOptions, RemoveOptions, WriteOptions};
pub use stream::FileStream;
pub use tar::TarUpload;
pub use write::FileUpload;

use source::Source;

use crate::Handle;

/// The most bytes that [`Files::read`] returns, unless the caller gives another limit.
// 32 MiB, as for the output of a command: the guest decides how long its files are.
const READ_MAX_BYTES: u64 = 32 << 20;

/// The files of a sandbox. A relative path starts at the sandbox's working directory, as it does for a
/// command; symlinks are followed as they are for a process in the sandbox. Files of a stopped sandbox can
/// be read, not changed.
///
/// ```no_run
/// # async fn example(sandbox: &msb_sdk::Sandbox) -> Result<(), msb_sdk::Error> {
/// let files = sandbox.files();
/// files.write("/tmp/a.txt", "text").await?;
/// assert_eq!(files.read("/tmp/a.txt").await?, "text");
/// for info in files.list("/tmp").await? {
///     println!("{} {}", info.name, info.size_bytes);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Files {
    source: Source,
}

impl Files {
    /// Returns the files of a sandbox.
    pub const fn new(handle: Arc<Handle>) -> Self {
        Self {
            source: Source::new(handle, None),
        }
    }

    /// Returns the files of a snapshot, which can be read.
    pub fn of_snapshot(handle: Arc<Handle>, snapshot: &str) -> Self {
        Self {
            source: Source::new(handle, Some(Arc::from(snapshot))),
        }
    }

    /// Returns the same files, whose relative paths start at the root, as `docker cp` reads them.
    #[must_use]
    pub fn at_root(mut self) -> Self {
        self.source.is_from_root = true;
        self
    }

    /// Runs an operation on a path of the running or of the stopped sandbox, which its error names.
    fn run_at<T, F>(
        &self,
        path: &Text,
        work: impl FnOnce(Arc<Handle>, SandboxFiles) -> F + Send + 'static,
    ) -> Operation<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let (running, path) = (self.run(work), path.clone());
        Operation::new(async move { running.await.map_err(|error| at(&path, error)) })
    }

    /// Runs an operation on the files, of the running or of the stopped sandbox.
    fn run<T, F>(
        &self,
        work: impl FnOnce(Arc<Handle>, SandboxFiles) -> F + Send + 'static,
    ) -> Operation<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        Operation::new(run(self.source.clone(), work))
    }

    /// Runs an operation on a path that changes files at once. Dropped after it has begun, it is done
    /// nevertheless, and later calls on the sandbox wait for that.
    fn change_at<T, F>(
        &self,
        path: &Text,
        work: impl FnOnce(Arc<Handle>, SandboxFiles) -> F + Send + 'static,
    ) -> Operation<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let (source, path) = (self.source.clone(), path.clone());
        let handle = Arc::clone(&self.source.handle);
        handle.change(Effect::Slight, move |_| async move {
            run(source, work).await.map_err(|error| at(&path, error))
        })
    }

    /// Returns the content of a file of at most 32 MiB.
    ///
    /// # Errors
    /// Fails as [`read_with`](Self::read_with) does.
    pub fn read(&self, path: impl Into<Text>) -> Operation<Bytes> {
        self.read_with(path, ReadOptions::default())
    }

    /// Returns the content of a file with these options.
    ///
    /// # Errors
    /// [`PathNotFound`](ErrorKind::PathNotFound),
    /// [`PermissionDenied`](ErrorKind::PermissionDenied),
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for a directory, and
    /// [`OutputLimit`](ErrorKind::OutputLimit) for a file that is longer than its limit.
    pub fn read_with(&self, path: impl Into<Text>, options: ReadOptions) -> Operation<Bytes> {
        let path = self.source.path(path.into());
        let limit_bytes = options.max_size.map_or(READ_MAX_BYTES, Size::bytes);
        self.run_at(&path.clone(), move |_, files| async move {
            let mut stream = files.read(path.as_bytes()).await?;
            let mut content = BytesMut::new();
            while let Some(chunk) = stream.next().await? {
                if (content.len() + chunk.len()) as u64 > limit_bytes {
                    return Err(too_long(&path, limit_bytes));
                }
                content.extend_from_slice(&chunk);
            }
            Ok(content.freeze())
        })
    }

    /// Returns the content of a file as a stream.
    ///
    /// # Errors
    /// Fails as [`read`](Self::read) does, for a file of any length.
    pub fn read_stream(&self, path: impl Into<Text>) -> Operation<FileStream> {
        let path = self.source.path(path.into());
        self.run_at(&path.clone(), |handle, files| async move {
            let stream = files.read(path.as_bytes()).await?;
            Ok(FileStream::new(handle, stream))
        })
    }

    /// Returns the entries of a directory, in bytewise order of their names.
    ///
    /// # Errors
    /// [`PathNotFound`](ErrorKind::PathNotFound),
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for a file.
    pub fn list(&self, path: impl Into<Text>) -> Operation<Vec<FileInfo>> {
        let path = self.source.path(path.into());
        self.run_at(&path.clone(), |_, files| async move {
            let entries = files.list(path.as_bytes()).await?;
            let entries = entries.iter().map(|entry| {
                let stat = entry.stat.clone().unwrap_or_default();
                FileInfo::new(&entry.name[..], &stat)
            });
            Ok(entries.collect())
        })
    }

    /// Returns the attributes of a file; those of a symlink's target.
    ///
    /// # Errors
    /// [`PathNotFound`](ErrorKind::PathNotFound).
    pub fn stat(&self, path: impl Into<Text>) -> Operation<FileInfo> {
        self.stat_with(path, true)
    }

    /// Returns the attributes of a file; of a symlink itself without `follow`.
    ///
    /// # Errors
    /// [`PathNotFound`](ErrorKind::PathNotFound).
    pub fn stat_with(&self, path: impl Into<Text>, follow: bool) -> Operation<FileInfo> {
        let path = self.source.path(path.into());
        self.run_at(&path.clone(), move |_, files| async move {
            let stat = files.stat(path.as_bytes(), follow).await?;
            Ok(FileInfo::new(file_name(path.as_bytes()), &stat))
        })
    }

    /// Returns true if the path exists.
    ///
    /// # Errors
    /// If it cannot be looked at.
    pub fn exists(&self, path: impl Into<Text>) -> Operation<bool> {
        let stat = self.stat_with(path, true);
        Operation::new(async move {
            match stat.await {
                Ok(_) => Ok(true),
                Err(error) if error.kind() == ErrorKind::PathNotFound => Ok(false),
                Err(error) => Err(error),
            }
        })
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// [`PathExists`](ErrorKind::PathExists), [`PathNotFound`](ErrorKind::PathNotFound) for a
    /// missing directory above it.
    pub fn mkdir(&self, path: impl Into<Text>) -> Operation<()> {
        self.mkdir_with(path, MkdirOptions::default())
    }

    /// Makes a directory with these options.
    ///
    /// # Errors
    /// Fails as [`mkdir`](Self::mkdir) does.
    pub fn mkdir_with(&self, path: impl Into<Text>, options: MkdirOptions) -> Operation<()> {
        let path = self.source.path(path.into());
        self.change_at(&path.clone(), move |_, files| async move {
            let request = MakeDirectoryRequest {
                path: path.to_bytes(),
                parents: options.parents,
                mode: options.mode,
            };
            Ok(files.make_directory(request).await?)
        })
    }

    /// Removes a file that is not a directory. [`RemoveOptions::recursive()`] removes a directory, too.
    ///
    /// # Errors
    /// [`PathNotFound`](ErrorKind::PathNotFound),
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for a directory.
    pub fn remove(&self, path: impl Into<Text>) -> Operation<()> {
        self.remove_with(path, RemoveOptions::default())
    }

    /// Removes a file with these options.
    ///
    /// # Errors
    /// Fails as [`remove`](Self::remove) does.
    pub fn remove_with(&self, path: impl Into<Text>, options: RemoveOptions) -> Operation<()> {
        let path = self.source.path(path.into());
        self.change_at(&path.clone(), move |_, files| async move {
            let request = RemoveRequest {
                path: path.to_bytes(),
                recursive: options.recursive,
                ignore_missing: options.missing_ok,
            };
            Ok(files.remove(request).await?)
        })
    }

    /// Renames a file. It moves into `to` if that is an existing directory, and replaces any other
    /// file.
    ///
    /// # Errors
    /// [`PathNotFound`](ErrorKind::PathNotFound).
    pub fn rename(&self, from: impl Into<Text>, to: impl Into<Text>) -> Operation<()> {
        let (from, to) = (self.source.path(from.into()), self.source.path(to.into()));
        self.change_at(&from.clone(), move |_, files| async move {
            let request = RenameRequest {
                from: from.to_bytes(),
                to: to.to_bytes(),
            };
            Ok(files.rename(request).await?)
        })
    }

    /// Moves several files into an existing directory.
    ///
    /// # Errors
    /// [`PathNotFound`](ErrorKind::PathNotFound),
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) if `to` is not a directory. The files before
    /// the failed one are moved.
    pub fn move_into<T: Into<Text>>(
        &self,
        from: impl IntoIterator<Item = T>,
        to: impl Into<Text>,
    ) -> Operation<()> {
        let from: Vec<Text> = from.into_iter().map(Into::into).collect();
        let (files, to) = (self.clone(), self.source.path(to.into()));
        Operation::new(async move {
            if !files.stat(to.clone()).await?.is_directory() {
                let shown = to.as_bytes().escape_ascii().to_string();
                let message =
                    format!("cannot move several files to '{shown}', which is not a directory");
                return Err(Error::invalid(message).with_detail("path", shown));
            }
            for path in from {
                files.rename(path, to.clone()).await?;
            }
            Ok(())
        })
    }

    /// Changes the permission bits of a file as `chmod` does: `"u+x".parse()` is a change.
    ///
    /// # Errors
    /// [`PathNotFound`](ErrorKind::PathNotFound).
    pub fn change_mode(&self, path: impl Into<Text>, change: ModeChange) -> Operation<()> {
        let (files, path) = (self.clone(), self.source.path(path.into()));
        Operation::new(async move {
            let info = files.stat(path.clone()).await?;
            let mode = change.apply_to(info.mode, info.is_directory());
            files.chmod(path, mode).await
        })
    }

    /// Sets the 12 permission bits of a file.
    ///
    /// # Errors
    /// [`PathNotFound`](ErrorKind::PathNotFound).
    pub fn chmod(&self, path: impl Into<Text>, mode: u32) -> Operation<()> {
        let path = self.source.path(path.into());
        self.change_at(&path.clone(), move |_, files| async move {
            let request = SetModeRequest {
                path: path.to_bytes(),
                mode,
            };
            Ok(files.set_mode(request).await?)
        })
    }
}

async fn run<T, F>(
    source: Source,
    work: impl FnOnce(Arc<Handle>, SandboxFiles) -> F,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let files = source.open().await?;
    let handle = source.handle;
    match work(Arc::clone(&handle), files).await {
        Ok(value) => Ok(value),
        Err(error) => Err(handle.explain(error).await),
    }
}

/// Returns the error of an operation on a path, with the path among its details unless it names
/// another.
fn at(path: &Text, error: Error) -> Error {
    let is_of_path = [
        ErrorKind::NotFound,
        ErrorKind::AlreadyExists,
        ErrorKind::PermissionDenied,
        ErrorKind::InvalidArgument,
    ]
    .iter()
    .any(|kind| error.is(*kind));
    if is_of_path && !error.details().contains_key("path") {
        let path = msb_client::printable(&path.to_string());
        return error.with_detail("path", path);
    }
    error
}

fn too_long(path: &Text, limit_bytes: u64) -> Error {
    let shown = msb_client::printable(&path.to_string());
    let message = format!("'{shown}' has more than {limit_bytes} bytes (max_size)");
    Error::new(ErrorKind::OutputLimit, message)
        .with_hint("raise max_size, or read the file piece by piece with read_stream")
        .with_detail("path", shown)
        .with_detail("limit_bytes", limit_bytes)
}

/// Returns the last component of a path.
fn file_name(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&byte| byte != b'/');
    let Some(end) = end else {
        return b"/";
    };
    let trimmed = &path[..=end];
    let slash = trimmed.iter().rposition(|&byte| byte == b'/');
    &trimmed[slash.map_or(0, |slash| slash + 1)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_path_names_it() {
        let path = Text::from("/no/such");
        let missing = at(
            &path,
            Error::new(ErrorKind::PathNotFound, "it does not exist"),
        );
        assert_eq!(missing.details()["path"], "/no/such");
        let other = Error::new(ErrorKind::PathNotFound, "").with_detail("path", "/host");
        assert_eq!(at(&path, other).details()["path"], "/host");
        let ended = at(&path, Error::new(ErrorKind::SandboxEnded, ""));
        assert!(ended.details().is_empty());
    }

    #[test]
    fn a_file_is_named_by_its_last_component() {
        assert_eq!(file_name(b"/a/b"), b"b");
        assert_eq!(file_name(b"/a/b/"), b"b");
        assert_eq!(file_name(b"/"), b"/");
        assert_eq!(file_name(b"a"), b"a");
    }
}
