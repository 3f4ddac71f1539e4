use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::{Path, PathBuf};

use anyhow::Result;
use ext4_writer::Image;
use rustix::fs::{FallocateFlags, XattrFlags, fallocate, setxattr};
use testkit::TreeDump;

use super::case::{Case, Mount, dump, e2fsck, same};
use super::random::Random;

/// Number of the worker's steps on one disk.
const STEPS: u64 = 2500;

/// Mounts an image, works in it and unmounts it. e2fsck accepts it, and msb's reader finds the tree
/// that the kernel shows.
pub(super) fn check(number: u64, path: &Path) -> Result<()> {
    let case = sized(number);
    case.write(path)?;
    let directory = path.with_extension("mount");
    let mount = Mount::new(path, &directory, "loop")?;
    Worker::new(number, &directory)?.work(STEPS)?;
    mount.unmount()?;
    e2fsck(path)?;
    let image = Image::open(File::open(path)?)?;
    image.verify()?;
    let mount = Mount::new(path, &directory, "loop,ro")?;
    let seen = TreeDump::from_directory(&directory)?;
    same(&seen, &dump(&image)?)?;
    mount.unmount()?;
    fs::remove_file(path)?;
    Ok(())
}

/// Returns a disk with content and free space to work in.
pub(super) fn sized(number: u64) -> Case {
    let mut case = Case::generate(number);
    case.options.size_bytes = (256 << 20) + (number % 7) * (50 << 20);
    case
}

/// A program that changes files at random.
pub(super) struct Worker {
    random: Random,
    root: PathBuf,
    files: Vec<PathBuf>,
    made: u64,
}

impl Worker {
    pub(super) fn new(seed: u64, root: &Path) -> Result<Self> {
        let root = root.join("work");
        fs::create_dir_all(&root)?;
        Ok(Self {
            random: Random::new(seed ^ 0x5eed),
            root,
            files: Vec::new(),
            made: 0,
        })
    }

    /// Does `steps` random operations.
    pub(super) fn work(&mut self, steps: u64) -> Result<()> {
        for _ in 0..steps {
            match self.random.below(12) {
                0..5 => self.make()?,
                5..8 => self.change()?,
                8 => self.rename()?,
                _ => self.remove()?,
            }
        }
        Ok(())
    }

    fn fresh(&mut self) -> Result<PathBuf> {
        self.made += 1;
        let directory = self.root.join(format!("d{}", self.random.below(8)));
        fs::create_dir_all(&directory)?;
        let length = usize::try_from(self.random.below(200))?;
        Ok(directory.join(format!("{}-{}", self.made, "n".repeat(length))))
    }

    fn make(&mut self) -> Result<()> {
        let path = self.fresh()?;
        match self.random.below(8) {
            0 => symlink(
                "t".repeat(usize::try_from(1 + self.random.below(300))?),
                &path,
            )?,
            1 if !self.files.is_empty() => fs::hard_link(self.some(), &path)?,
            _ => {
                let length = self.random.below(60_000);
                fs::write(&path, self.random.bytes(length))?;
                self.files.push(path);
            }
        }
        Ok(())
    }

    fn some(&mut self) -> PathBuf {
        let end = u64::try_from(self.files.len()).unwrap_or(1);
        let index = usize::try_from(self.random.below(end)).unwrap_or(0);
        self.files[index].clone()
    }

    fn change(&mut self) -> Result<()> {
        if self.files.is_empty() {
            return Ok(());
        }
        let path = self.some();
        let file = OpenOptions::new().write(true).open(&path)?;
        let offset = self.random.below(4 << 20);
        match self.random.below(6) {
            0 => file.set_len(offset / 8)?,
            1 => fallocate(&file, FallocateFlags::KEEP_SIZE, offset, 1 << 20)?,
            2 => {
                let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                fallocate(&file, punch, offset & !0xfff, 1 << 16)?;
            }
            3 => {
                let length = self.random.below(900);
                let value = self.random.bytes(length);
                let name = format!("user.{}", self.random.below(3));
                setxattr(&path, name, &value, XattrFlags::empty())?;
            }
            4 => file.sync_all()?,
            _ => file.write_all_at(&self.random.bytes(5000), offset)?,
        }
        Ok(())
    }

    fn rename(&mut self) -> Result<()> {
        if self.files.is_empty() {
            return Ok(());
        }
        let from = self.some();
        let to = self.fresh()?;
        fs::rename(&from, &to)?;
        self.files.retain(|path| *path != from);
        self.files.push(to);
        Ok(())
    }

    fn remove(&mut self) -> Result<()> {
        if self.files.is_empty() {
            return Ok(());
        }
        let path = self.some();
        fs::remove_file(&path)?;
        self.files.retain(|other| *other != path);
        Ok(())
    }
}
