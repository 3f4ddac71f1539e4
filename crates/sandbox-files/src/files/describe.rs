use fstree::{FileKind, Inode};
use msb_agent_protocol::Bytes;
use msb_agent_protocol::v1::{FileStat, FileType};
use rootfs_view::Content;

/// Returns the attributes of a file on disks, in the form in which the agent sends them.
pub(crate) fn describe(inode: &Inode<Content>) -> FileStat {
    let metadata = &inode.metadata;
    let mut stat = FileStat {
        mode: metadata.mode.into(),
        uid: metadata.uid,
        gid: metadata.gid,
        mtime_s: metadata.mtime.seconds,
        mtime_ns: metadata.mtime.nanoseconds,
        ..FileStat::default()
    };
    let file_type = match &inode.kind {
        FileKind::Regular(content) => {
            stat.size = content.size_bytes();
            FileType::Regular
        }
        FileKind::Directory(_) => FileType::Directory,
        FileKind::Symlink(target) => {
            stat.size = target.len() as u64;
            stat.link_target = Bytes::copy_from_slice(target);
            FileType::Symlink
        }
        FileKind::CharDevice(device) | FileKind::BlockDevice(device) => {
            (stat.device_major, stat.device_minor) = (device.major, device.minor);
            match inode.kind {
                FileKind::CharDevice(_) => FileType::CharDevice,
                _ => FileType::BlockDevice,
            }
        }
        FileKind::Fifo => FileType::Fifo,
        FileKind::Socket => FileType::Socket,
    };
    stat.set_type(file_type);
    stat
}
