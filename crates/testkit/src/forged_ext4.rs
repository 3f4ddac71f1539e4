use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Size of a block of a forged disk, in bytes.
const BLOCK_BYTES: u64 = 4096;
/// Most entries of a node of an extent tree in a block.
const NODE_ENTRIES: u64 = 340;
/// Offset of `i_block`, of `i_size_lo`, and of `i_size_high` in an inode, in bytes.
const BLOCK_AT: u64 = 40;
const SIZE_AT: u64 = 4;
const SIZE_HIGH_AT: u64 = 108;

/// A sandbox's writable disk of a few megabytes that a guest has made to read as gigabytes: one
/// block is used again and again. It needs mke2fs and debugfs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgedExt4 {
    /// This many files share one xattr block, each of whose 203 values is the whole block.
    OverlappingXattrs(u32),
    /// This many files share one xattr block with one long value, as a kernel may write it.
    SharedXattrs(u32),
    /// A directory of this many blocks, all of which are the same block of 341 names.
    RepeatedNames(u32),
    /// A journal of this many blocks, all of which are the same block of 1,020 revoked numbers.
    RepeatedRevocations(u32),
    /// The same journal, whose blocks are copies of that block.
    CopiedRevocations(u32),
}

/// A forged disk's file, and the block that is used again and again.
struct Forge<'a> {
    path: &'a Path,
    file: File,
    /// The directory of the disk that has the forged files.
    above: &'a str,
    free_block: u64,
}

impl ForgedExt4 {
    /// Writes the disk to a new file.
    ///
    /// # Errors
    /// If mke2fs or debugfs is missing or fails, or the file cannot be written.
    pub fn write(self, path: &Path) -> io::Result<()> {
        self.write_below(path, "upper")
    }

    /// Writes the disk to a new file, with the forged files in a directory of it: `upper`, or `staged/N/upper` for
    /// those of a staged directory.
    ///
    /// # Errors
    /// As [`ForgedExt4::write`].
    pub fn write_below(self, path: &Path, above: &str) -> io::Result<()> {
        let (files, features, size, inodes) = match self {
            Self::OverlappingXattrs(files) | Self::SharedXattrs(files) => {
                (files, ",^has_journal", "64M", files + 200)
            }
            Self::RepeatedNames(_) => (0, ",^has_journal", "8G", 200),
            Self::RepeatedRevocations(_) | Self::CopiedRevocations(_) => (0, "", "8G", 200),
        };
        let source = tempfile::tempdir()?;
        let forged = source.path().join(above);
        fs::create_dir_all(forged.join("d"))?;
        for directory in ["upper", "work/work"] {
            fs::create_dir_all(source.path().join(directory))?;
        }
        fs::write(forged.join("f"), "")?;
        for file in 0..files {
            fs::write(forged.join(format!("d/{file:x}")), "")?;
        }
        let features = format!("^metadata_csum,^64bit,^resize_inode,^dir_index{features}");
        let mut mke2fs = Command::new("mke2fs");
        mke2fs.args(["-qF", "-t", "ext4", "-b4096", "-O", &features, "-N"]);
        mke2fs.arg(inodes.to_string()).arg("-d").arg(source.path());
        run(mke2fs.arg(path).arg(size))?;
        let forge = Forge {
            path,
            file: File::options().read(true).write(true).open(path)?,
            above,
            free_block: last_number(&debugfs(path, "ffb 1")?)?,
        };
        match self {
            Self::OverlappingXattrs(files) => {
                let entries: Vec<_> = (0..203).map(|entry| (entry, 0, BLOCK_BYTES)).collect();
                forge.xattrs(files, &entries)
            }
            Self::SharedXattrs(files) => forge.xattrs(files, &[(0, 96, BLOCK_BYTES - 96)]),
            Self::RepeatedNames(blocks) => forge.names(blocks.into()),
            Self::RepeatedRevocations(blocks) => forge.revocations(blocks.into(), false),
            Self::CopiedRevocations(blocks) => forge.revocations(blocks.into(), true),
        }
    }
}

impl Forge<'_> {
    fn put(&self, offset_bytes: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset_bytes)
    }

    /// Gives files one xattr block, whose entries are numbers for names, offsets and lengths.
    fn xattrs(&self, files: u32, entries: &[(u32, u16, u64)]) -> io::Result<()> {
        let mut block = words([0xEA02_0000, files, 1, 0, 0]);
        block.resize(32, 0);
        for &(name, offset, length) in entries {
            // The namespace `user.`, and a name of three bytes.
            block.extend([3, 1]);
            block.extend(offset.to_le_bytes());
            block.extend(words([0, low(length), 0]));
            block.extend(format!("{name:03x}\0").bytes());
        }
        block.resize(4096, 0);
        self.put(self.free_block * BLOCK_BYTES, &block)?;
        let commands = tempfile::NamedTempFile::new()?;
        let (above, block) = (self.above, self.free_block);
        let lines = (0..files).map(|file| format!("sif /{above}/d/{file:x} file_acl {block}\n"));
        fs::write(commands.path(), lines.collect::<String>())?;
        let mut debugfs = Command::new("debugfs");
        debugfs.args(["-w", "-f"]).arg(commands.path());
        run(debugfs.arg(self.path)).map(drop)
    }

    /// Makes a directory of this many blocks, all of which are one block of names.
    fn names(&self, blocks: u64) -> io::Result<()> {
        let above = self.above;
        let number = field(&debugfs(self.path, &format!("stat /{above}/f"))?, "Inode: ")?;
        let mut block = Vec::new();
        for name in 0..341 {
            // The last entry reaches to the end of the block.
            let length: u16 = if name == 340 { 16 } else { 12 };
            block.extend(words([low(number)]));
            block.extend(length.to_le_bytes());
            block.extend([3, 1]);
            block.extend(format!("{name:03x}\0").bytes());
        }
        block.resize(4096, 0);
        self.put(self.free_block * BLOCK_BYTES, &block)?;
        let directory = format!("/{above}/d");
        self.map(&directory, blocks, |_| self.free_block)?;
        let inode = self.inode(&directory)?;
        let size_bytes = blocks * BLOCK_BYTES;
        self.put(inode + SIZE_AT, &words([low(size_bytes)]))?;
        self.put(inode + SIZE_HIGH_AT, &words([low(size_bytes >> 32)]))
    }

    /// Makes a journal of one transaction, whose blocks are one block of revoked numbers, or copies of it.
    fn revocations(&self, blocks: u64, are_copies: bool) -> io::Result<()> {
        let journal: u64 = field(&debugfs(self.path, "stat <8>")?, "):")?;
        let numbers = [0xC03B_3998, 5, 1, 4096].into_iter().chain(0..1020);
        let block: Vec<u8> = numbers.flat_map(u32::to_be_bytes).collect();
        // Behind the nodes of the extent tree.
        let copies = self.free_block + 1 + blocks / NODE_ENTRIES + 4;
        let used = |file_block| match file_block {
            0 => journal,
            copy if are_copies => copies + copy,
            _ => self.free_block,
        };
        for file_block in 1..=if are_copies { blocks } else { 1 } {
            self.put(used(file_block) * BLOCK_BYTES, &block)?;
        }
        self.map("<8>", blocks + 1, used)?;
        // struct journal_superblock_s, and RECOVER among the features of the filesystem.
        for (offset, value) in [
            (4, 4),
            (16, low(blocks) + 1),
            (20, 1),
            (24, 1),
            (28, 1),
            (40, 1),
        ] {
            self.put(journal * BLOCK_BYTES + offset, &u32::to_be_bytes(value))?;
        }
        let mut features = [0; 4];
        self.file.read_exact_at(&mut features, 1120)?;
        features[0] |= 4;
        self.put(1120, &features)
    }

    /// Gives a file an extent tree of extents of one block each, which `used` returns.
    fn map(&self, file: &str, blocks: u64, used: impl Fn(u64) -> u64) -> io::Result<()> {
        let leaves = blocks.div_ceil(NODE_ENTRIES);
        let middles = leaves.div_ceil(NODE_ENTRIES);
        let node = |number| (self.free_block + 1 + number) * BLOCK_BYTES;
        for leaf in 0..leaves {
            let range = leaf * NODE_ENTRIES..blocks.min((leaf + 1) * NODE_ENTRIES);
            let mut block = head(range.end - range.start, 0, NODE_ENTRIES);
            for file_block in range {
                block.extend(words([low(file_block), 1, low(used(file_block))]));
            }
            self.put(node(leaf), &block)?;
        }
        let index = |block: &mut Vec<u8>, file_block, below| {
            block.extend(words([low(file_block), low(below), 0]));
        };
        for middle in 0..middles {
            let range = middle * NODE_ENTRIES..leaves.min((middle + 1) * NODE_ENTRIES);
            let mut block = head(range.end - range.start, 1, NODE_ENTRIES);
            for leaf in range {
                index(&mut block, leaf * NODE_ENTRIES, self.free_block + 1 + leaf);
            }
            self.put(node(leaves + middle), &block)?;
        }
        let mut root = head(middles, 2, 4);
        for middle in 0..middles {
            let below = self.free_block + 1 + leaves + middle;
            index(&mut root, middle * NODE_ENTRIES * NODE_ENTRIES, below);
        }
        root.resize(60, 0);
        self.put(self.inode(file)? + BLOCK_AT, &root)
    }

    /// Returns the offset of a file's inode, in bytes.
    fn inode(&self, file: &str) -> io::Result<u64> {
        let text = debugfs(self.path, &format!("imap {file}"))?;
        let offset = text.split("offset 0x").nth(1).unwrap_or_default();
        let offset = u64::from_str_radix(offset.trim(), 16).map_err(io::Error::other)?;
        Ok(field(&text, "block ")? * BLOCK_BYTES + offset)
    }
}

/// Returns `struct ext4_extent_header`.
fn head(entries: u64, depth: u8, most: u64) -> Vec<u8> {
    let mut head = Vec::new();
    for value in [0xF30A, low(entries), low(most), depth.into()] {
        head.extend(&value.to_le_bytes()[..2]);
    }
    head.extend([0; 4]);
    head
}

fn words<const N: usize>(words: [u32; N]) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Returns the low 32 bits.
fn low(number: u64) -> u32 {
    u32::try_from(number & 0xffff_ffff).expect("32 bits")
}

fn debugfs(path: &Path, request: &str) -> io::Result<String> {
    run(Command::new("debugfs").args(["-R", request]).arg(path))
}

/// Runs a command, and returns its output.
fn run(command: &mut Command) -> io::Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("{command:?} failed: {text}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the number behind the first `label` of a text that has a number behind it.
fn field(text: &str, label: &str) -> io::Result<u64> {
    let numbers = text.split(label).skip(1).filter_map(|rest| {
        let end = rest.find(|letter: char| !letter.is_ascii_digit());
        rest[..end.unwrap_or(rest.len())].parse().ok()
    });
    let missing = || io::Error::other(format!("no number behind '{label}' in {text}"));
    let mut numbers = numbers;
    numbers.next().ok_or_else(missing)
}

fn last_number(text: &str) -> io::Result<u64> {
    let last = text.split_whitespace().last().unwrap_or_default();
    last.parse().map_err(io::Error::other)
}
