use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, lchown, symlink};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FileType, Mode, RenameFlags, Timespec, Timestamps, XattrFlags,
    fallocate, lremovexattr, lsetxattr, makedev, mknodat, renameat_with, utimensat,
};

use super::scene::Scene;

type Action = fn(&mut Scene<'_>) -> io::Result<()>;

/// Most bytes of a short content.
const SHORT_BYTES: usize = 20_000;
/// Most bytes of a long content: more than the store keeps one copy of.
const LONG_BYTES: usize = 300_000;
/// Greatest offset of a write that leaves a hole.
const HOLE_BYTES: usize = 3 << 20;
/// `struct vfs_cap_data` of revision 2: the effective flag and two permitted capabilities.
const CAPABILITY: &[u8] = b"\x01\0\0\x02\0\x24\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
const MODES: [u32; 6] = [0o600, 0o644, 0o755, 0o1777, 0o2750, 0o4711];
/// Owners, some beyond what a header of tar holds in digits.
const OWNERS: [u32; 5] = [0, 5, 1000, 70_000, 3_000_000];

/// The kind of change that makes a device.
pub(super) const DEVICE: &str = "device";

/// The kinds of changes. Each is as likely as the others.
pub(super) const ACTIONS: &[(&str, Action)] = &[
    ("create", create),
    ("create-long", create_long),
    ("create-sparse", create_sparse),
    ("write", write),
    ("append", append),
    ("rewrite", rewrite),
    ("rewrite-same", rewrite_same),
    ("truncate", truncate),
    ("punch-hole", punch_hole),
    ("replace-by-rename", replace_by_rename),
    ("make-directory", make_directory),
    ("file-to-directory", file_to_directory),
    ("directory-to-file", directory_to_file),
    ("make-opaque", make_opaque),
    ("empty-and-refill", empty_and_refill),
    ("remove-file", remove_file),
    ("remove-directory", remove_directory),
    ("remove-and-restore", remove_and_restore),
    ("rename-file", rename_file),
    ("rename-directory", rename_directory),
    ("rename-away-and-back", rename_away_and_back),
    ("exchange", exchange),
    ("link", link),
    ("link-and-write", link_and_write),
    ("symlink", make_symlink),
    (DEVICE, device),
    ("pipe", pipe),
    ("socket", socket),
    ("mode", mode),
    ("directory-mode", directory_mode),
    ("owner", owner),
    ("time", time),
    ("xattr", xattr),
    ("remove-xattr", remove_xattr),
    ("capability", capability),
];

fn create(scene: &mut Scene<'_>) -> io::Result<()> {
    let (path, content) = (scene.name(), scene.random.content(SHORT_BYTES));
    File::create_new(path)?.write_all_at(&content, 0)
}

fn create_long(scene: &mut Scene<'_>) -> io::Result<()> {
    let (path, content) = (scene.name(), scene.random.content(LONG_BYTES));
    File::create_new(path)?.write_all_at(&content, 0)
}

fn create_sparse(scene: &mut Scene<'_>) -> io::Result<()> {
    let path = scene.name();
    let (offset, end) = (
        scene.random.below(HOLE_BYTES),
        scene.random.below(HOLE_BYTES),
    );
    let content = scene.random.content(SHORT_BYTES);
    let file = File::create_new(path)?;
    file.write_all_at(&content, bytes(offset))?;
    file.set_len(bytes(offset + end))
}

fn write(scene: &mut Scene<'_>) -> io::Result<()> {
    let (path, offset) = (scene.regular()?, scene.random.below(SHORT_BYTES));
    let content = scene.random.content(100);
    opened(&path)?.write_all_at(&content, bytes(offset))
}

fn append(scene: &mut Scene<'_>) -> io::Result<()> {
    let (path, content) = (scene.regular()?, scene.random.content(100));
    let end = fs::symlink_metadata(&path)?.len();
    opened(&path)?.write_all_at(&content, end)
}

fn rewrite(scene: &mut Scene<'_>) -> io::Result<()> {
    let (path, content) = (scene.regular()?, scene.random.content(SHORT_BYTES));
    fs::write(path, content)
}

/// Writes what a file has already, and gives it its time: nothing is different afterwards.
fn rewrite_same(scene: &mut Scene<'_>) -> io::Result<()> {
    let path = scene.regular()?;
    let (content, time) = (fs::read(&path)?, fs::metadata(&path)?.modified()?);
    let file = opened(&path)?;
    file.write_all_at(&content, 0)?;
    file.set_modified(time)
}

fn truncate(scene: &mut Scene<'_>) -> io::Result<()> {
    let (path, length) = (scene.regular()?, scene.random.below(SHORT_BYTES));
    opened(&path)?.set_len(bytes(length))
}

fn punch_hole(scene: &mut Scene<'_>) -> io::Result<()> {
    let (path, offset) = (scene.regular()?, scene.random.below(LONG_BYTES));
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(fallocate(opened(&path)?, flags, bytes(offset), 100_000)?)
}

/// Writes a new file and renames it over an old one, as editors and package managers do.
fn replace_by_rename(scene: &mut Scene<'_>) -> io::Result<()> {
    let (path, content) = (scene.file()?, scene.random.content(SHORT_BYTES));
    let new = path.with_file_name("replacement");
    fs::write(&new, content)?;
    fs::rename(new, path)
}

fn make_directory(scene: &mut Scene<'_>) -> io::Result<()> {
    fs::create_dir(scene.name())
}

fn file_to_directory(scene: &mut Scene<'_>) -> io::Result<()> {
    let (path, content) = (scene.file()?, scene.random.content(100));
    fs::remove_file(&path)?;
    fs::create_dir(&path)?;
    fs::write(path.join("f0"), content)
}

fn directory_to_file(scene: &mut Scene<'_>) -> io::Result<()> {
    let (path, content) = (scene.directory()?, scene.random.content(100));
    fs::remove_dir_all(&path)?;
    fs::write(path, content)
}

/// Removes a directory, and makes another one of its name.
fn make_opaque(scene: &mut Scene<'_>) -> io::Result<()> {
    let (path, content) = (scene.directory()?, scene.random.content(100));
    fs::remove_dir_all(&path)?;
    fs::create_dir(&path)?;
    if content.len().is_multiple_of(2) {
        fs::write(path.join("f0"), content)?;
    }
    Ok(())
}

/// Removes the names of a directory one by one, and makes the first of them again.
fn empty_and_refill(scene: &mut Scene<'_>) -> io::Result<()> {
    let path = scene.any_directory();
    let names = fs::read_dir(&path)?.map(|entry| Ok(entry?.path()));
    let mut names = names.collect::<io::Result<Vec<_>>>()?;
    names.retain(|path| fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_dir()));
    names.sort();
    names.iter().try_for_each(fs::remove_file)?;
    let first = names.first().ok_or(io::ErrorKind::NotFound)?;
    fs::write(first, scene.random.content(100))
}

fn remove_file(scene: &mut Scene<'_>) -> io::Result<()> {
    fs::remove_file(scene.file()?)
}

fn remove_directory(scene: &mut Scene<'_>) -> io::Result<()> {
    fs::remove_dir_all(scene.directory()?)
}

/// Removes a file, and makes it again as it was.
fn remove_and_restore(scene: &mut Scene<'_>) -> io::Result<()> {
    let path = scene.regular()?;
    let (content, metadata) = (fs::read(&path)?, fs::metadata(&path)?);
    fs::remove_file(&path)?;
    fs::write(&path, content)?;
    fs::set_permissions(&path, metadata.permissions())?;
    opened(&path)?.set_modified(metadata.modified()?)
}

fn rename_file(scene: &mut Scene<'_>) -> io::Result<()> {
    fs::rename(scene.file()?, scene.name())
}

fn rename_directory(scene: &mut Scene<'_>) -> io::Result<()> {
    fs::rename(scene.directory()?, scene.name())
}

fn rename_away_and_back(scene: &mut Scene<'_>) -> io::Result<()> {
    let path = scene.any()?;
    let away = path.with_file_name("away");
    fs::rename(&path, &away)?;
    fs::rename(away, path)
}

fn exchange(scene: &mut Scene<'_>) -> io::Result<()> {
    let (one, other) = (scene.any()?, scene.any()?);
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

fn link(scene: &mut Scene<'_>) -> io::Result<()> {
    fs::hard_link(scene.file()?, scene.name())
}

fn link_and_write(scene: &mut Scene<'_>) -> io::Result<()> {
    let (path, name) = (scene.regular()?, scene.name());
    fs::hard_link(path, &name)?;
    opened(&name)?.write_all_at(&scene.random.content(100), 0)
}

fn make_symlink(scene: &mut Scene<'_>) -> io::Result<()> {
    const TARGETS: [&str; 4] = ["elsewhere", "../d", "/cases", "a b\n"];
    let target = TARGETS[scene.random.below(TARGETS.len())];
    symlink(target, scene.name())
}

fn device(scene: &mut Scene<'_>) -> io::Result<()> {
    const DEVICES: [(u32, u32); 4] = [(1, 3), (8, 17), (259, 700_000), (0, 1)];
    let (major, minor) = DEVICES[scene.random.below(DEVICES.len())];
    let kinds = [FileType::CharacterDevice, FileType::BlockDevice];
    let kind = kinds[scene.random.below(kinds.len())];
    node(scene, kind, makedev(major, minor))
}

fn pipe(scene: &mut Scene<'_>) -> io::Result<()> {
    node(scene, FileType::Fifo, 0)
}

fn socket(scene: &mut Scene<'_>) -> io::Result<()> {
    node(scene, FileType::Socket, 0)
}

fn node(scene: &mut Scene<'_>, kind: FileType, device: u64) -> io::Result<()> {
    Ok(mknodat(CWD, scene.name(), kind, Mode::RUSR, device)?)
}

fn mode(scene: &mut Scene<'_>) -> io::Result<()> {
    let (path, mode) = (scene.regular()?, MODES[scene.random.below(MODES.len())]);
    fs::set_permissions(path, Permissions::from_mode(mode))
}

fn directory_mode(scene: &mut Scene<'_>) -> io::Result<()> {
    let mode = MODES[scene.random.below(MODES.len())];
    fs::set_permissions(scene.any_directory(), Permissions::from_mode(mode))
}

fn owner(scene: &mut Scene<'_>) -> io::Result<()> {
    let path = scene.any()?;
    let mut owner = || OWNERS[scene.random.below(OWNERS.len())];
    lchown(path, Some(owner()), Some(owner()))
}

fn time(scene: &mut Scene<'_>) -> io::Result<()> {
    const SECONDS: [i64; 5] = [0, 1, 1_600_000_000, (1 << 31) + 5, 4_000_000_000];
    const NANOSECONDS: [i64; 4] = [0, 1, 123_456_789, 999_999_999];
    let time = Timespec {
        tv_sec: SECONDS[scene.random.below(SECONDS.len())],
        tv_nsec: NANOSECONDS[scene.random.below(NANOSECONDS.len())],
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    Ok(utimensat(
        CWD,
        scene.any()?,
        &times,
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}

fn xattr(scene: &mut Scene<'_>) -> io::Result<()> {
    let path = match scene.random.below(3) {
        0 => scene.any_directory(),
        _ => scene.regular()?,
    };
    let name = ["user.mark", "user.other"][scene.random.below(2)];
    let value = [&b"here"[..], b"\0\xff\n=", &[b'v'; 1000]][scene.random.below(3)];
    Ok(lsetxattr(path, name, value, XattrFlags::empty())?)
}

fn remove_xattr(scene: &mut Scene<'_>) -> io::Result<()> {
    let path = match scene.random.below(3) {
        0 => scene.any_directory(),
        _ => scene.regular()?,
    };
    Ok(lremovexattr(path, "user.mark")?)
}

fn capability(scene: &mut Scene<'_>) -> io::Result<()> {
    let name = "security.capability";
    Ok(lsetxattr(
        scene.regular()?,
        name,
        CAPABILITY,
        XattrFlags::empty(),
    )?)
}

/// Opens a file to write to it. Its own mode does not matter to root.
fn opened(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

fn bytes(length: usize) -> u64 {
    u64::try_from(length).expect("64 bits are enough")
}
