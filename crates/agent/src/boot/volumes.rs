//! What the host gives a sandbox to see at paths of its choice: volumes, host directories, memory.
//!
//! They are mounted while the new root is put together, so that what every sandbox has at `/run` lies in
//! whatever is mounted there.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Mode, OFlags, fstat, open, syncfs};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};
use tree_archive::{ArchiveWriter, PackOptions, Place, UnpackOptions, pack, unpack};

use super::error::step;
use super::given::{Given, Kind};
use super::mounts::{mount_point, open_root};
use super::{BootError, disks};

/// Where a volume's disk is mounted for as long as it is looked into; a directory of the boot disk.
const STAGING: &str = "/old";
/// What sandboxes see of a volume.
const DATA: &str = "/old/data";
/// The same, while it is being filled.
const UNFINISHED: &str = "/old/data.new";
/// Says that nobody has seen the volume yet.
const FRESH: &str = "/old/fresh";

/// Mounts what the host says, in its order.
pub(super) fn mount_all() -> Result<(), BootError> {
    let root = open_root()?;
    for given in super::given::from_host()? {
        let name = format!("mount {}", given.target);
        let path = given.target.trim_start_matches('/');
        let point = mount_point(&root, Path::new(path)).map_err(step(&name))?;
        if !matches!(given.kind, Kind::Tmpfs) && is_run(&root, &point).map_err(step(&name))? {
            return Err(BootError::OfMemory {
                target: given.target,
            });
        }
        match given.kind {
            Kind::Disk => mount_disk(&given, &point)?,
            Kind::Share => mount_at(&given, &point, "virtiofs").map_err(step(&name))?,
            Kind::Tmpfs => mount_at(&given, &point, "tmpfs").map_err(step(&name))?,
        }
    }
    Ok(())
}

/// Where volumes are mounted that may be written to, from the sandbox's root.
pub(super) fn mounted() -> Vec<PathBuf> {
    let given = super::given::from_host().unwrap_or_default();
    let is_written =
        |given: &Given| given.kind == Kind::Disk && !given.flags.contains(MountFlags::RDONLY);
    let disks = given.into_iter().filter(is_written);
    disks.map(|disk| PathBuf::from(disk.target)).collect()
}

/// Whether it is `/run`, under whatever name the image has for it.
fn is_run(root: &OwnedFd, point: &OwnedFd) -> io::Result<bool> {
    let (run, point) = (fstat(mount_point(root, Path::new("run"))?)?, fstat(point)?);
    Ok((run.st_dev, run.st_ino) == (point.st_dev, point.st_ino))
}

fn mount_at(given: &Given, point: &OwnedFd, filesystem: &str) -> io::Result<()> {
    let source = match given.source.as_str() {
        "" => filesystem,
        source => source,
    };
    let options = std::ffi::CString::new(given.data.as_str())?;
    Ok(mount(
        source,
        path_of(point),
        filesystem,
        given.flags,
        options.as_c_str(),
    )?)
}

/// Shows the data of a volume's disk. A fresh volume gets what the image has there first.
fn mount_disk(given: &Given, point: &OwnedFd) -> Result<(), BootError> {
    let device = disks::volume(&given.source)?;
    let name = format!("mount the volume at {}", given.target);
    let unreplayed = format!(
        "{name}: it was not unmounted, and may only be read; its journal is replayed once a sandbox \
         that may write has it"
    );
    let is_writable = !given.flags.contains(MountFlags::RDONLY);
    mount(
        device.as_str(),
        STAGING,
        "ext4",
        given.flags,
        Some(c"errors=remount-ro"),
    )
    .map_err(|error| match error {
        Errno::ROFS => step(&unreplayed)(error),
        _ => step(&name)(error),
    })?;
    if is_writable && fs::exists(FRESH).unwrap_or(false) {
        fill(point).map_err(step(&format!("fill the volume at {}", given.target)))?;
    }
    mount_bind(DATA, path_of(point)).map_err(step(&name))?;
    unmount(STAGING, UnmountFlags::empty()).map_err(step(&name))
}

/// Copies what the image has into a volume: whole, or a later start begins anew.
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
            let place = Place {
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

/// Why a copy failed: who writes into a pipe that nobody reads any more says nothing of why.
fn first_cause(packed: io::Result<()>, unpacked: io::Result<()>) -> io::Result<()> {
    match packed {
        Err(error) if !is_broken_pipe(&error) => Err(error),
        packed => unpacked.and(packed),
    }
}

/// Whether that is behind an error, in however many others.
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
