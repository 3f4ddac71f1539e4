use std::fs::File;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use ext4_writer::{Image, Options, SIZE_MAX_BYTES, SIZE_MIN_BYTES};
use fstree::{Device, FileKind, FileType, Inode, InodeId, Metadata, Name, Timestamp, Tree};
use testkit::{Content, TreeDump};

use super::random::Random;
use test_fixtures::command::quiet;

const MIB: u64 = 1 << 20;
const BLOCK: u64 = 4096;
/// Bytes in a block group.
const GROUP: u64 = 128 * MIB;

/// An image: its options and its content.
pub(super) struct Case {
    pub(super) options: Options,
    pub(super) tree: Tree<Vec<u8>>,
}

impl Case {
    /// Returns the image with this number.
    pub(super) fn generate(number: u64) -> Self {
        let mut random = Random::new(number);
        let size_bytes = size(number, &mut random);
        let [uuid, hash_seed] = [0; 2].map(|_: u8| {
            let bytes = random.bytes(16);
            <[u8; 16]>::try_from(bytes).expect("as many as asked for")
        });
        let journal_bytes = random.once_in(4).then(|| (4 + random.below(5)) * MIB);
        let options = Options {
            size_bytes,
            uuid,
            hash_seed,
            label: "x".repeat(usize::try_from(random.below(17)).expect("small")),
            journal_bytes: journal_bytes.filter(|_| size_bytes >= 64 * MIB),
        };
        // The whole tree has to fit.
        let tree = tree(&mut random, (size_bytes / 4).min(200 * MIB));
        Self { options, tree }
    }

    /// Writes the image to `path`.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let file = File::create(path)?;
        ext4_writer::write(&self.tree, &self.options, &file)?;
        Ok(())
    }

    /// Checks that everything in the image equals what was written.
    pub(super) fn judge(&self, path: &Path) -> Result<()> {
        e2fsck(path)?;
        let image = Image::open(File::open(path)?)?;
        image.verify()?;
        let found = dump(&image)?;
        let expected =
            TreeDump::from_tree(&self.tree, |content| Content::read(content.as_slice()))?;
        same(&expected, &found)
    }
}

/// Checks that `e2fsck -fn` accepts the image.
pub(super) fn e2fsck(path: &Path) -> Result<()> {
    quiet(Command::new("e2fsck").arg("-fn").arg(path))?;
    Ok(())
}

/// Dumps the tree that msb's reader finds.
pub(super) fn dump(image: &Image<File>) -> Result<TreeDump> {
    let tree = image.read_tree()?;
    Ok(TreeDump::from_tree(&tree, |data| {
        Content::read(image.file_reader(data))
    })?)
}

pub(super) fn same(expected: &TreeDump, found: &TreeDump) -> Result<()> {
    let differences = expected.differences(found);
    ensure!(differences.is_empty(), "{}", differences.join("\n"));
    Ok(())
}

/// Returns a size from the least to the most: near the edges of groups, near powers of two, any.
fn size(number: u64, random: &mut Random) -> u64 {
    // e2fsck takes seconds for a disk of terabytes.
    let huge = number % 50 == 49;
    let most_groups = if huge { 1 << 17 } else { 300 };
    let near = random.below(80) * BLOCK;
    let base = match random.below(4) {
        0 => GROUP * (1 + random.below(20)),
        1 => GROUP * (1 + random.below(most_groups)),
        2 => 1 << (24 + random.below(if huge { 21 } else { 12 })),
        _ => SIZE_MIN_BYTES + random.below(2 * GROUP),
    };
    let size_bytes = match random.below(4) {
        0 => base,
        1 => base.saturating_add(near),
        2 => base.saturating_sub(near),
        _ => base.saturating_add(near + random.below(BLOCK)),
    };
    // The largest size is the largest file that the host's own filesystem is sure to hold.
    size_bytes.clamp(SIZE_MIN_BYTES, SIZE_MAX_BYTES - BLOCK)
}

/// Returns a tree of one of several shapes.
fn tree(random: &mut Random, most_bytes: u64) -> Tree<Vec<u8>> {
    let mut tree = Tree::new(metadata(random, FileType::Directory));
    let mut directories = vec![tree.root()];
    let count = match random.below(8) {
        0 => 0,
        1 => 600,
        _ => random.below(60),
    };
    let wide = random.once_in(6).then_some(tree.root());
    for index in 0..count {
        let kind = kind(random, most_bytes / 400);
        let file_type = kind.file_type();
        let metadata = metadata(random, file_type);
        let id = tree.add(Inode { metadata, kind });
        let parent = wide.unwrap_or_else(|| choose(random, &directories));
        tree.link(parent, name(random, index), id);
        if file_type == FileType::Directory {
            directories.push(id);
        } else if random.once_in(8) {
            let further = choose(random, &directories);
            tree.link(further, name(random, index + count), id);
        }
    }
    if random.once_in(10) {
        let large = FileKind::Regular(vec![0xa5; usize::try_from(most_bytes / 2).unwrap_or(0)]);
        let metadata = metadata(random, FileType::Regular);
        let id = tree.add(Inode {
            metadata,
            kind: large,
        });
        tree.link(tree.root(), name(random, u64::MAX), id);
    }
    tree
}

fn choose(random: &mut Random, from: &[InodeId]) -> InodeId {
    let end = u64::try_from(from.len()).expect("few");
    from[usize::try_from(random.below(end)).expect("fewer")]
}

/// Returns a name that begins with a number, so that it is unique.
fn name(random: &mut Random, number: u64) -> Name {
    let mut bytes = number.to_string().into_bytes();
    let most = if random.once_in(3) { 234 } else { 20 };
    let length = random.below(most);
    let more = random.bytes(length);
    bytes.extend(more.into_iter().filter(|byte| !matches!(byte, 0 | b'/')));
    Name::new(&bytes).expect("short, and without what no name may hold")
}

fn kind(random: &mut Random, most_bytes: u64) -> FileKind<Vec<u8>> {
    let device = Device {
        major: u32::try_from(random.below(4096)).expect("small"),
        minor: u32::try_from(random.below(1 << 20)).expect("small"),
    };
    let length = match random.below(3) {
        0 => random.below(20),
        1 => random.below(20_000),
        _ => random.below(most_bytes.max(1)),
    };
    match random.below(10) {
        0..4 => FileKind::Regular(random.bytes(length)),
        4..7 => FileKind::Directory(fstree::Directory::new()),
        7 => {
            let most = if random.once_in(3) { 4095 } else { 80 };
            let length = 1 + random.below(most);
            FileKind::Symlink(vec![b't'; usize::try_from(length).expect("small")].into())
        }
        8 => FileKind::CharDevice(device),
        _ => FileKind::Fifo,
    }
}

fn metadata(random: &mut Random, file_type: FileType) -> Metadata {
    let mode = u16::try_from(random.below(0o10_000)).expect("twelve bits");
    let mut metadata = Metadata::with_mode(mode);
    let owner = |random: &mut Random| u32::try_from(random.next() >> 33).expect("31 bits");
    metadata.uid = owner(random);
    metadata.gid = owner(random);
    metadata.mtime = Timestamp {
        seconds: i64::try_from(random.below(1 << 33)).expect("33 bits") - (1 << 31),
        nanoseconds: u32::try_from(random.below(1_000_000_000)).expect("30 bits"),
    };
    let has_user = matches!(file_type, FileType::Regular | FileType::Directory);
    let prefixes = ["trusted.", "security.x", "user."];
    for prefix in &prefixes[..if has_user { 3 } else { 2 }] {
        if random.once_in(4) {
            let most = if random.once_in(4) { 1200 } else { 30 };
            let length = random.below(most);
            let name = format!("{prefix}{}", random.below(10)).into_bytes();
            let value = random.bytes(length);
            metadata.xattrs.insert(&name, &value);
        }
    }
    metadata
}

impl Case {
    /// Returns the same disk without content.
    pub(super) fn empty(&self) -> Self {
        Self {
            options: self.options.clone(),
            tree: Tree::new(Metadata::directory(0o755)),
        }
    }
}

/// A file that is mounted while this value lives.
pub(super) struct Mount(std::path::PathBuf);

impl Mount {
    pub(super) fn new(image: &Path, directory: &Path, options: &str) -> Result<Self> {
        std::fs::create_dir_all(directory)?;
        quiet(
            Command::new("mount")
                .args(["-t", "ext4", "-o", options])
                .arg(image)
                .arg(directory),
        )?;
        Ok(Self(directory.to_owned()))
    }

    pub(super) fn unmount(self) -> Result<()> {
        let path = self.0.clone();
        std::mem::forget(self);
        quiet(Command::new("umount").arg(&path)).context("cannot unmount")?;
        Ok(())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Another failure came first, and that one is reported.
        let _ = quiet(Command::new("umount").arg(&self.0));
    }
}
