//! Copies between the host and a sandbox.

use std::io::Read;
use std::path::PathBuf;

use msb_client::{Operation, Text};

use super::{Copied, CopyOptions, FileStream, Files, TarUpload, tar};

impl Files {
    /// Copies a file or a directory of the host into the sandbox, with the rules of `docker cp`.
    ///
    /// # Errors
    /// [`PathNotFound`](msb_client::ErrorKind::PathNotFound) on either side, and those of
    /// [`write`](Self::write).
    pub fn upload(&self, host: impl Into<PathBuf>, guest: impl Into<Text>) -> Operation<Copied> {
        self.upload_with(host, guest, CopyOptions::default())
    }

    /// Copies into the sandbox with these options.
    ///
    /// # Errors
    /// Fails as [`upload`](Self::upload) does.
    pub fn upload_with(
        &self,
        host: impl Into<PathBuf>,
        guest: impl Into<Text>,
        options: CopyOptions,
    ) -> Operation<Copied> {
        let (host, guest) = (host.into(), self.source.path(guest.into()));
        self.run(move |_, files| async move {
            let copied =
                msb_sandbox_files::copy_in(&host, &files, guest.as_bytes(), options).await?;
            Ok(copied)
        })
    }

    /// Copies a file or a directory of the sandbox to the host, with the rules of `docker cp`. The
    /// sandbox has no say in where anything lands.
    ///
    /// # Errors
    /// [`PathNotFound`](msb_client::ErrorKind::PathNotFound) on either side.
    pub fn download(&self, guest: impl Into<Text>, host: impl Into<PathBuf>) -> Operation<Copied> {
        self.download_with(guest, host, CopyOptions::default())
    }

    /// Copies to the host with these options.
    ///
    /// # Errors
    /// Fails as [`download`](Self::download) does.
    pub fn download_with(
        &self,
        guest: impl Into<Text>,
        host: impl Into<PathBuf>,
        options: CopyOptions,
    ) -> Operation<Copied> {
        let (host, guest) = (host.into(), self.source.path(guest.into()));
        self.run(move |_, files| async move {
            let copied =
                msb_sandbox_files::copy_out(&files, guest.as_bytes(), &host, options).await?;
            Ok(copied)
        })
    }

    /// Unpacks a tar archive in a directory of the sandbox. `archive` is read on a thread that may
    /// block.
    ///
    /// # Errors
    /// An archive that cannot be unpacked, or [`InvalidArgument`](msb_client::ErrorKind::InvalidArgument) if
    /// the destination is not a directory.
    pub fn put_tar(
        &self,
        archive: impl Read + Send + 'static,
        directory: impl Into<Text>,
    ) -> Operation<Copied> {
        self.put_tar_with(archive, directory, CopyOptions::default())
    }

    /// Unpacks a tar archive with these options.
    ///
    /// # Errors
    /// Fails as [`put_tar`](Self::put_tar) does.
    pub fn put_tar_with(
        &self,
        archive: impl Read + Send + 'static,
        directory: impl Into<Text>,
        options: CopyOptions,
    ) -> Operation<Copied> {
        let directory = self.source.path(directory.into());
        tar::put(self.source.clone(), archive, directory, options)
    }

    /// Begins to unpack a tar archive that is written in parts. Runs on the current Tokio runtime.
    pub fn put_tar_parts(&self, directory: impl Into<Text>, options: CopyOptions) -> TarUpload {
        let directory = self.source.path(directory.into());
        TarUpload::begin(self.source.clone(), directory, options)
    }

    /// Returns a file, or a directory and everything in it, as a tar archive.
    ///
    /// # Errors
    /// [`PathNotFound`](msb_client::ErrorKind::PathNotFound).
    pub fn get_tar(&self, path: impl Into<Text>) -> Operation<FileStream> {
        self.get_tar_with(path, CopyOptions::default())
    }

    /// Returns a tar archive with these options.
    ///
    /// # Errors
    /// Fails as [`get_tar`](Self::get_tar) does.
    pub fn get_tar_with(
        &self,
        path: impl Into<Text>,
        options: CopyOptions,
    ) -> Operation<FileStream> {
        let path = self.source.path(path.into());
        self.run_at(&path.clone(), move |handle, files| async move {
            let stream = files.tar(path.as_bytes(), options).await?;
            Ok(FileStream::new(handle, stream))
        })
    }
}
