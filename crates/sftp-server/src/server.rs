//! The answers to requests.

use std::os::fd::AsFd as _;

use rustix::fs::{
    Mode, fstat, fstatvfs, fsync, link, lstat, mkdir, readlink, rename, rmdir, stat, statvfs,
    symlink, unlink,
};

use crate::files::PERMISSIONS;
use crate::handles::{Handles, Opened};
use crate::{
    Attributes, Extension, FilesystemState, Limits, Name, Open, Request, Response, Status, change,
    directory, files,
};

/// The state of a connection.
#[derive(Debug, Default)]
pub(crate) struct Server {
    handles: Handles,
}

impl Server {
    /// Carries a request out.
    pub(crate) fn answer(&mut self, request: Request) -> Response {
        self.carry_out(request).unwrap_or_else(Response::Status)
    }

    fn carry_out(&mut self, request: Request) -> Result<Response, Status> {
        match request {
            Request::Open {
                path,
                open,
                attributes,
            } => self.open(&path, open, &attributes),
            Request::Close { handle } => done(self.handles.close(&handle)),
            Request::Read {
                handle,
                offset_bytes,
                length_bytes,
            } => match self.handles.get(&handle)? {
                Opened::File { file, .. } => {
                    let data = files::read(file.as_fd(), offset_bytes, length_bytes)?;
                    Ok(Response::Data(data))
                }
                Opened::Directory(_) => Err(Status::Failure),
            },
            Request::Write {
                handle,
                offset_bytes,
                data,
            } => match self.handles.get(&handle)? {
                Opened::File { file, is_append } => {
                    let written = files::write_all(file.as_fd(), *is_append, offset_bytes, &data);
                    done(written)
                }
                Opened::Directory(_) => Err(Status::Failure),
            },
            Request::FStat { handle } => {
                let file = self.handles.get(&handle)?.descriptor()?;
                Ok(Response::Attributes(Attributes::of(&fstat(file)?)))
            }
            Request::FSetStat { handle, attributes } => {
                let file = self.handles.get(&handle)?.descriptor()?;
                done(change::of_file(file, &attributes))
            }
            Request::OpenDirectory { path } => {
                self.handles.has_room()?;
                let opened = Opened::Directory(Box::new(directory::open_directory(&path)?));
                Ok(Response::Handle(self.handles.insert(opened)))
            }
            Request::ReadDirectory { handle } => {
                let names = directory::next_names(self.handles.directory(&handle)?)?;
                Ok(Response::Names(names))
            }
            Request::Extended(extension) => self.extended(extension),
            request => of_paths(request),
        }
    }

    fn open(
        &mut self,
        path: &[u8],
        how: Open,
        attributes: &Attributes,
    ) -> Result<Response, Status> {
        self.handles.has_room()?;
        let opened = Opened::File {
            file: files::open_file(path, how, attributes)?,
            is_append: how.contains(Open::APPEND),
        };
        Ok(Response::Handle(self.handles.insert(opened)))
    }

    fn extended(&self, extension: Extension) -> Result<Response, Status> {
        match extension {
            Extension::PosixRename { from, to } => done(rename(&from[..], &to[..])),
            Extension::StatVfs { path } => {
                let state = FilesystemState::of(&statvfs(&path[..])?);
                Ok(Response::Filesystem(state))
            }
            Extension::FStatVfs { handle } => {
                let file = self.handles.get(&handle)?.descriptor()?;
                let state = FilesystemState::of(&fstatvfs(file)?);
                Ok(Response::Filesystem(state))
            }
            Extension::HardLink { from, to } => done(link(&from[..], &to[..])),
            Extension::Fsync { handle } => done(fsync(self.handles.get(&handle)?.descriptor()?)),
            Extension::LSetStat { path, attributes } => {
                done(change::of_path_itself(&path, &attributes))
            }
            Extension::Limits => Ok(Response::Limits(Limits)),
            Extension::Unknown => Err(Status::Unsupported),
        }
    }
}

/// Carries a request out that is about paths and not about open files.
fn of_paths(request: Request) -> Result<Response, Status> {
    match request {
        Request::LStat { path } => Ok(Response::Attributes(Attributes::of(&lstat(&path[..])?))),
        Request::Stat { path } => Ok(Response::Attributes(Attributes::of(&stat(&path[..])?))),
        Request::SetStat { path, attributes } => done(change::of_path(&path, &attributes)),
        Request::Remove { path } => done(unlink(&path[..])),
        Request::MakeDirectory { path, attributes } => {
            let mode = attributes.mode.unwrap_or(0o777) & PERMISSIONS;
            done(mkdir(&path[..], Mode::from_raw_mode(mode)))
        }
        Request::RemoveDirectory { path } => done(rmdir(&path[..])),
        Request::RealPath { path } => Ok(named(files::real_path(&path)?)),
        Request::Rename { from, to } => done(files::rename_new(&from, &to)),
        Request::ReadLink { path } => Ok(named(readlink(&path[..], Vec::new())?.into_bytes())),
        Request::Symlink { target, link } => done(symlink(&target[..], &link[..])),
        _ => Err(Status::Unsupported),
    }
}

/// Returns the answer of a request that returns nothing.
fn done<E: Into<Status>>(outcome: Result<(), E>) -> Result<Response, Status> {
    outcome.map_err(Into::into)?;
    Ok(Response::Status(Status::Ok))
}

fn named(path: Vec<u8>) -> Response {
    Response::Names(vec![Name {
        long: path.clone(),
        path,
        attributes: Attributes::default(),
    }])
}
