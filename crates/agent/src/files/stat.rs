use std::os::fd::{AsFd as _, OwnedFd};

use msb_agent_protocol::v1::{
    FileStat, FileType, ListEntry, ListReply, ListRequest, StatReply, StatRequest,
};
use msb_agent_protocol::{Bytes, Status};
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, Stat, major, minor, open, readlinkat, statat};
use rustix::io::Errno;

use super::status::failed;
use super::{Answers, absolute, answers};
use crate::exec::Running;

/// The most entries in a message: with the longest names and targets they stay below its limit.
const ENTRIES_MAX: usize = 128;

pub(crate) fn stat(request: &StatRequest) -> Result<StatReply, Status> {
    let path = absolute(&request.path);
    let flags = if request.follow {
        AtFlags::empty()
    } else {
        AtFlags::SYMLINK_NOFOLLOW
    };
    let stat = statat(CWD, &path[..], flags).map_err(failed("inspect", &path))?;
    let target = target(&stat, CWD, &path).map_err(failed("read the link", &path))?;
    Ok(StatReply {
        stat: Some(file_stat(&stat, target)),
    })
}

pub(crate) fn list(request: &ListRequest, running: &Running) -> Answers<ListReply> {
    let path = absolute(&request.path);
    answers(running, move |host| {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open(&path[..], flags, Mode::empty()).map_err(failed("open", &path))?;
        let names = names(&directory).map_err(failed("list", &path))?;
        for names in names.chunks(ENTRIES_MAX) {
            let entries = names
                .iter()
                .filter_map(|name| entry(&directory, name).transpose());
            let entries = entries
                .collect::<Result<_, Errno>>()
                .map_err(failed("list", &path))?;
            if !host.send_event(ListReply { entries }) {
                break;
            }
        }
        Ok(())
    })
}

fn names(directory: &OwnedFd) -> rustix::io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if !matches!(&name[..], b"." | b"..") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Returns the entry with this name; `None` if it has been removed or replaced meanwhile.
fn entry(directory: &OwnedFd, name: &[u8]) -> rustix::io::Result<Option<ListEntry>> {
    let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(None),
        other => other?,
    };
    let target = match target(&stat, directory.as_fd(), name) {
        Err(Errno::NOENT | Errno::INVAL) => return Ok(None),
        other => other?,
    };
    Ok(Some(ListEntry {
        name: Bytes::copy_from_slice(name),
        stat: Some(file_stat(&stat, target)),
    }))
}

/// Returns a symlink's target; empty for other files.
fn target(
    stat: &Stat,
    directory: std::os::fd::BorrowedFd<'_>,
    name: &[u8],
) -> rustix::io::Result<Bytes> {
    if file_type(stat) != FileType::Symlink {
        return Ok(Bytes::new());
    }
    Ok(readlinkat(directory, name, Vec::new())?.into_bytes().into())
}

fn file_type(stat: &Stat) -> FileType {
    match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
        rustix::fs::FileType::RegularFile => FileType::Regular,
        rustix::fs::FileType::Directory => FileType::Directory,
        rustix::fs::FileType::Symlink => FileType::Symlink,
        rustix::fs::FileType::CharacterDevice => FileType::CharDevice,
        rustix::fs::FileType::BlockDevice => FileType::BlockDevice,
        rustix::fs::FileType::Fifo => FileType::Fifo,
        rustix::fs::FileType::Socket => FileType::Socket,
        _ => FileType::Unknown,
    }
}

fn file_stat(stat: &Stat, link_target: Bytes) -> FileStat {
    let is_device = matches!(
        file_type(stat),
        FileType::CharDevice | FileType::BlockDevice
    );
    let device = if is_device { stat.st_rdev } else { 0 };
    FileStat {
        r#type: file_type(stat).into(),
        mode: stat.st_mode & 0o7777,
        uid: stat.st_uid,
        gid: stat.st_gid,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mtime_s: stat.st_mtime,
        mtime_ns: u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
        link_target,
        device_major: major(device),
        device_minor: minor(device),
    }
}
