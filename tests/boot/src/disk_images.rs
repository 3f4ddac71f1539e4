//! The disk images that guests boot from, made with tools of this host.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use fs_err as fs;
use test_fixtures::command::quiet;
use test_support::settings;

/// The programs of each disk, by their paths on this host.
const PROGRAMS: [&str; 5] = ["dash", "cat", "df", "sleep", "sync"];
/// The size of the cloud image's root partition, in MiB.
const PARTITION_MIB: u64 = 24;

/// A disk image: a text in `/greeting` and a few programs of this host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DiskImage {
    /// The file's name, which tells what it is.
    pub(crate) name: &'static str,
    content: Content,
}

#[derive(Debug, Clone, Copy)]
enum Content {
    /// A compressed qcow2 with a GPT, whose second partition is an ext4.
    Cloud,
    /// A raw file that is a filesystem.
    Raw(Filesystem),
}

/// A filesystem that `mkfs` makes and the host's kernel mounts.
#[derive(Debug, Clone, Copy)]
struct Filesystem {
    kind: &'static str,
    size_mib: u64,
    /// The directory of the mounted filesystem that has the root: a subvolume of Btrfs.
    subvolume: Option<&'static str>,
}

/// An image as those for clouds are.
pub(crate) const CLOUD: DiskImage = DiskImage {
    name: "cloud.qcow2",
    content: Content::Cloud,
};

/// Images for the kernel that has more filesystems.
pub(crate) const FILESYSTEMS: [DiskImage; 3] = [
    // The least size that mkfs.xfs accepts is 300 MiB.
    DiskImage::raw("xfs", "xfs", 320, None),
    DiskImage::raw("btrfs", "btrfs", 256, None),
    DiskImage::raw("btrfs-in-a-subvolume", "btrfs", 256, Some("@")),
];

/// Makes all images in a directory, for a machine that has not the tools.
pub(crate) fn make_all(directory: &Path) -> Result<()> {
    let mut all = FILESYSTEMS.iter().chain([&CLOUD]);
    all.try_for_each(|image| image.make(directory))
}

impl DiskImage {
    const fn raw(
        name: &'static str,
        kind: &'static str,
        size_mib: u64,
        subvolume: Option<&'static str>,
    ) -> Self {
        Self {
            name,
            content: Content::Raw(Filesystem {
                kind,
                size_mib,
                subvolume,
            }),
        }
    }

    /// Returns the path of the image in a directory: a copy of that in [`settings::DISK_IMAGES`], or a new one.
    pub(crate) fn provide(&self, directory: &Path) -> Result<PathBuf> {
        let path = directory.join(self.name);
        match settings::path(settings::DISK_IMAGES) {
            None => self.make(directory)?,
            Some(made) => drop(fs::copy(made.join(self.name), &path)?),
        }
        Ok(path)
    }

    fn make(&self, directory: &Path) -> Result<()> {
        let path = directory.join(self.name);
        let work = directory.join(format!("{}.work", self.name));
        fs::create_dir_all(&work)?;
        match self.content {
            Content::Cloud => make_cloud_image(&path, &work),
            Content::Raw(filesystem) => filesystem.make(&path, &work),
        }
        .with_context(|| format!("cannot make the disk image {}", self.name))?;
        Ok(fs::remove_dir_all(work)?)
    }
}

fn make_cloud_image(path: &Path, work: &Path) -> Result<()> {
    let (tree, part, disk) = (work.join("tree"), work.join("part"), work.join("disk"));
    make_tree(&tree)?;
    let size = format!("{PARTITION_MIB}M");
    let mut mke2fs = Command::new("mke2fs");
    mke2fs.args(["-q", "-t", "ext4", "-d"]).args([&tree, &part]);
    quiet(mke2fs.arg(&size))?;
    let partitions = work.join("partitions");
    let script = format!("label: gpt\nsize=4MiB, type=U\nsize={PARTITION_MIB}MiB\n");
    fs::write(&partitions, script)?;
    fs::File::create(&disk)?.set_len((PARTITION_MIB + 8) << 20)?;
    let mut sfdisk = Command::new("sh");
    sfdisk.args(["-c", "sfdisk -q \"$1\" < \"$2\"", "sh"]);
    quiet(sfdisk.args([&disk, &partitions]))?;
    // The first partition begins at 1 MiB, where sfdisk aligns it.
    let whole = fs::File::options().write(true).open(&disk)?;
    std::os::unix::fs::FileExt::write_all_at(whole.file(), &fs::read(&part)?, 5 << 20)?;
    let mut convert = Command::new("qemu-img");
    convert.args(["convert", "-c", "-f", "raw", "-O", "qcow2"]);
    quiet(convert.arg(&disk).arg(path)).map(drop)
}

impl Filesystem {
    fn make(self, path: &Path, work: &Path) -> Result<()> {
        fs::File::create(path)?.set_len(self.size_mib << 20)?;
        let mut mkfs = Command::new(format!("mkfs.{}", self.kind));
        quiet(mkfs.arg("-q").arg(path))?;
        let mounted = work.join("mounted");
        fs::create_dir_all(&mounted)?;
        let mut mount = Command::new("mount");
        quiet(mount.args(["-o", "loop"]).arg(path).arg(&mounted))?;
        let filled = self.fill(&mounted);
        quiet(Command::new("umount").arg(&mounted))?;
        filled
    }

    fn fill(self, mounted: &Path) -> Result<()> {
        let Some(name) = self.subvolume else {
            return make_tree(mounted);
        };
        let root = mounted.join(name);
        let mut create = Command::new("btrfs");
        quiet(create.args(["subvolume", "create"]).arg(&root))?;
        make_tree(&root)
    }
}

/// Makes the files of an image.
fn make_tree(tree: &Path) -> Result<()> {
    for directory in ["usr/bin", "etc", "root"] {
        fs::create_dir_all(tree.join(directory))?;
    }
    fs::write(tree.join("greeting"), "of the disk\n")?;
    let mut programs = PROGRAMS.iter();
    programs.try_for_each(|program| add_program(tree, program))
}

/// Copies a program of this host and the libraries that `ldd` lists, to the same paths.
fn add_program(tree: &Path, program: &str) -> Result<()> {
    let path = PathBuf::from(format!("/usr/bin/{program}"));
    let listed = quiet(Command::new("ldd").arg(&path))?;
    let listed = String::from_utf8(listed.stdout)?;
    let words = listed.split_whitespace();
    let libraries = words.filter(|word| word.starts_with('/'));
    for file in libraries.map(Path::new).chain([path.as_path()]) {
        let to = tree.join(file.strip_prefix("/")?);
        fs::create_dir_all(to.parent().context("a file has a directory")?)?;
        fs::copy(file, to)?;
    }
    Ok(())
}
