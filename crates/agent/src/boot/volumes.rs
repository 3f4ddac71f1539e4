//! Mounts that the host asks for: volumes, host directories, staged directories and tmpfs.
//!
//! They are mounted while the new root is assembled, so that the directories that every sandbox has
//! in `/run` are made in whatever is mounted there.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use guest_container::{file_point, mount_point};
use rustix::fs::{Dir, Mode, OFlags, fstat, open, syncfs};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, mount_remount, unmount};
use tree_archive::{ArchiveWriter, EntryRef, PackOptions, UnpackOptions, pack, unpack};

use super::entries::{Shares, is_entry};
use super::error::step;
use super::mount_request::{Kind, MountRequest};
use super::mounts::open_root;
use super::staged::mount_staged;
use super::{BootError, disks};

/// The directory of the boot disk where a volume's disk is mounted while it is prepared.
const STAGING: &str = "/old";
/// The directory of a volume that sandboxes see.
const DATA: &str = "/old/data";
/// The same directory while it is being filled.
const UNFINISHED: &str = "/old/data.new";
/// A file that marks a volume that no sandbox has seen yet.
const FRESH: &str = "/old/fresh";

/// Mounts everything that the host asks for, in its order.
pub(super) fn mount_all() -> Result<(), BootError> {
    let root = open_root()?;
    let mut shares = Shares::default();
    for request in super::mount_request::from_host()? {
        let name = format!("mount {}", request.target);
        let path = Path::new(request.target.trim_start_matches('/'));
        let point = match request.kind {
            Kind::File => file_point(&root, path),
            Kind::Disk | Kind::Share | Kind::Staged | Kind::Tmpfs => mount_point(&root, path),
        };
        let point = point.map_err(step(&name))?;
        let takes_anything = matches!(request.kind, Kind::Tmpfs | Kind::File);
        if !takes_anything && is_run(&root, &point).map_err(step(&name))? {
            return Err(BootError::OfMemory {
                target: request.target,
            });
        }
        match request.kind {
            Kind::Disk => mount_disk(&request, &mut shares, &point)?,
            Kind::Share if !is_entry(&request.source) => {
                mount_at(&request, &point, "virtiofs").map_err(step(&name))?;
            }
            Kind::Share | Kind::File => {
                mount_entry(&request, &mut shares, &point).map_err(step(&name))?;
            }
            Kind::Staged => mount_staged(&request, &path_of(&point))?,
            Kind::Tmpfs => mount_at(&request, &point, "tmpfs").map_err(step(&name))?,
        }
    }
    shares.leave().map_err(step("close the shared directories"))
}

/// Mounts an entry of a share. The host's server refuses writes to a read-only entry; the guest's
/// kernel refuses them earlier.
fn mount_entry(request: &MountRequest, shares: &mut Shares, point: &OwnedFd) -> io::Result<()> {
    let path = shares.entry(&request.source, request.flags)?;
    let point = path_of(point);
    mount_bind(path, &point)?;
    if request.flags.contains(MountFlags::RDONLY) {
        // The descriptor refers to the directory below the new mount, so the path is needed.
        let mounted = fs::read_link(point)?;
        mount_remount(mounted, MountFlags::BIND | MountFlags::RDONLY, c"")?;
    }
    Ok(())
}

/// Returns the mount points of the writable volumes, from the sandbox's root.
pub(super) fn mounted() -> Vec<PathBuf> {
    let request = super::mount_request::from_host().unwrap_or_default();
    let is_written = |request: &MountRequest| {
        request.kind == Kind::Disk && !request.flags.contains(MountFlags::RDONLY)
    };
    let disks = request.into_iter().filter(is_written);
    disks.map(|disk| PathBuf::from(disk.target)).collect()
}

/// Returns true if the mount point is `/run`, under whatever name the image has for it.
fn is_run(root: &OwnedFd, point: &OwnedFd) -> io::Result<bool> {
    let (run, point) = (fstat(mount_point(root, Path::new("run"))?)?, fstat(point)?);
    Ok((run.st_dev, run.st_ino) == (point.st_dev, point.st_ino))
}

fn mount_at(request: &MountRequest, point: &OwnedFd, filesystem: &str) -> io::Result<()> {
    let source = match request.source.as_str() {
        "" => filesystem,
        source => source,
    };
    let options = std::ffi::CString::new(request.data.as_str())?;
    Ok(mount(
        source,
        path_of(point),
        filesystem,
        request.flags,
        options.as_c_str(),
    )?)
}

/// Mounts the data of a volume's disk. A fresh volume first gets a copy of the image's content at
/// that path.
fn mount_disk(
    request: &MountRequest,
    shares: &mut Shares,
    point: &OwnedFd,
) -> Result<(), BootError> {
    let mut shown = None;
    let device = if is_entry(&request.source) {
        let name = format!("show the volume at {} as a disk", request.target);
        let disk = shares.disk(&request.source, request.flags);
        let disk = shown.insert(disk.map_err(step(&name))?);
        disks::note_written(&disk.path);
        disk.path.clone()
    } else {
        disks::volume(&request.source)?
    };
    let name = format!("mount the volume at {}", request.target);
    let unreplayed = format!(
        "{name}: it was not unmounted, and may only be read; its journal is replayed once a sandbox \
         that may write has it"
    );
    let is_writable = !request.flags.contains(MountFlags::RDONLY);
    mount(
        device.as_str(),
        STAGING,
        "ext4",
        request.flags,
        Some(c"errors=remount-ro"),
    )
    .map_err(|error| match error {
        Errno::ROFS => step(&unreplayed)(error),
        _ => step(&name)(error),
    })?;
    if is_writable && fs::exists(FRESH).unwrap_or(false) {
        fill(point).map_err(step(&format!("fill the volume at {}", request.target)))?;
    }
    mount_bind(DATA, path_of(point)).map_err(step(&name))?;
    unmount(STAGING, UnmountFlags::empty()).map_err(step(&name))
}

/// Copies the image's content into a volume. An interrupted copy is started again at the next
/// start.
fn fill(image: &OwnedFd) -> io::Result<()> {
    if is_empty(DATA)? {
        match fs::remove_dir_all(UNFINISHED) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::create_dir(UNFINISHED)?;
        let directory = open(
            UNFINISHED,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        copy(image, &directory)?;
        syncfs(&directory)?;
        fs::rename(UNFINISHED, DATA)?;
    }
    fs::remove_file(FRESH)
}

fn copy(from: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    let (reader, writer) = io::pipe()?;
    let options = UnpackOptions {
        keep_owner: true,
        keep_set_id: true,
        make_devices: true,
        ..UnpackOptions::default()
    };
    std::thread::scope(|scope| {
        let packing = scope.spawn(move || {
            let place = EntryRef {
                directory: from.as_fd(),
                name: b".",
            };
            let mut archive = ArchiveWriter::new(writer);
            pack(place, &PackOptions::named(b"."), &mut archive).map_err(io::Error::other)?;
            archive.finish().map(drop)
        });
        let unpacked = unpack(reader, to.as_fd(), &options);
        let unpacked = unpacked.map(drop).map_err(io::Error::other);
        let packed = packing.join();
        let packed = packed.unwrap_or_else(|_| Err(io::Error::other("packing panicked")));
        first_cause(packed, unpacked)
    })
}

/// Returns the first cause of a failed copy. A broken pipe of the packer only follows from a
/// failure of the unpacker.
fn first_cause(packed: io::Result<()>, unpacked: io::Result<()>) -> io::Result<()> {
    match packed {
        Err(error) if !is_broken_pipe(&error) => Err(error),
        packed => unpacked.and(packed),
    }
}

/// Returns true if an error or one of its sources is a broken pipe.
fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let inner = error.downcast_ref::<io::Error>();
    let is_it = inner.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
    is_it || error.source().is_some_and(is_broken_pipe)
}

fn is_empty(directory: &str) -> io::Result<bool> {
    let directory = open(
        directory,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    for entry in Dir::read_from(&directory)? {
        if ![c".", c".."].contains(&entry?.file_name()) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn path_of(point: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", point.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use tree_archive::PackError;

    use super::*;

    #[test]
    fn run_is_known_by_any_name() {
        let root = std::env::temp_dir().join(format!("msb-agent-run-{}", std::process::id()));
        fs::create_dir_all(root.join("run/below")).expect("made");
        fs::create_dir_all(root.join("var")).expect("made");
        std::os::unix::fs::symlink("/run", root.join("var/run")).expect("linked");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let new_root = open(&root, flags, Mode::empty()).expect("opened");
        for (path, expected) in [
            ("run", true),
            ("var/run", true),
            ("var", false),
            ("var/run/below", false),
            ("var/run/new", false),
        ] {
            let point = mount_point(&new_root, Path::new(path)).expect("there");
            assert_eq!(
                is_run(&new_root, &point).expect("looked"),
                expected,
                "{path}"
            );
        }
        fs::remove_dir_all(root).expect("removed");
    }

    #[test]
    fn the_side_that_failed_first_is_named() {
        let io = |kind: io::ErrorKind| io::Error::from(kind);
        let nobody_reads = || io::Error::other(PackError::Output(io(io::ErrorKind::BrokenPipe)));
        let full = || io(io::ErrorKind::StorageFull);
        let kind = |packed, unpacked| first_cause(packed, unpacked).map_err(|error| error.kind());
        assert_eq!(kind(Ok(()), Ok(())), Ok(()));
        let cut = Err(io(io::ErrorKind::UnexpectedEof));
        let unreadable = Err(io(io::ErrorKind::PermissionDenied));
        assert_eq!(kind(unreadable, cut), Err(io::ErrorKind::PermissionDenied));
        let unread = Err(nobody_reads());
        assert_eq!(kind(unread, Err(full())), Err(io::ErrorKind::StorageFull));
        assert_eq!(kind(Ok(()), Err(full())), Err(io::ErrorKind::StorageFull));
        assert!(kind(Err(nobody_reads()), Ok(())).is_err());
    }
}
