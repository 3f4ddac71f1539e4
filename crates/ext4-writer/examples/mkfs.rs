//! Writes an ext4 image of a directory: `mkfs IMAGE DIRECTORY [MIB]`.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ext4_writer::{Builder, FileContent, OpenedContent, Options};
use fstree::{Metadata, Timestamp};

/// Size of the image in MiB, unless an argument says otherwise. The file is sparse.
const DEFAULT_MIB: u64 = 1024;

/// Writes regular files, directories and symlinks, with their modes, owners and times.
pub(crate) fn run(arguments: &[OsString], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let (image, directory, size_mib) = match arguments {
        [image, directory] => (image, directory, DEFAULT_MIB),
        [image, directory, size] => (image, directory, size.to_string_lossy().parse()?),
        _ => return Err("usage: mkfs IMAGE DIRECTORY [MIB]".into()),
    };
    let root = Path::new(directory);
    let mut builder = Builder::new();
    builder.directory("/", metadata(&fs::symlink_metadata(root)?)?)?;
    add(&mut builder, root, root)?;
    let options = Options {
        size_bytes: size_mib << 20,
        ..Options::default()
    };
    let summary = builder.create(image, &options)?;
    let used = summary.blocks - summary.free_blocks;
    writeln!(out, "{} blocks, {used} of them in use", summary.blocks)?;
    Ok(())
}

/// A file of the host, which is opened when the image's content is written.
struct HostFile {
    path: PathBuf,
    size_bytes: u64,
}

impl FileContent for HostFile {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn open(&self) -> io::Result<OpenedContent<'_>> {
        Ok(OpenedContent {
            bytes: Box::new(File::open(&self.path)?),
            data: std::iter::once(0..self.size_bytes).collect(),
        })
    }
}

/// Adds what a directory holds.
fn add(builder: &mut Builder<'_>, root: &Path, directory: &Path) -> Result<(), Box<dyn Error>> {
    let mut entries = fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    // The same order on every host gives the same image.
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = path.strip_prefix(root)?.as_os_str().as_bytes();
        let found = entry.metadata()?;
        let metadata = metadata(&found)?;
        if found.is_dir() {
            builder.directory(name, metadata)?;
            add(builder, root, &path)?;
        } else if found.is_symlink() {
            builder.symlink(name, metadata, fs::read_link(&path)?.as_os_str().as_bytes())?;
        } else if found.is_file() {
            let content = HostFile {
                path: path.clone(),
                size_bytes: found.len(),
            };
            builder.file(name, metadata, content)?;
        }
    }
    Ok(())
}

fn metadata(found: &fs::Metadata) -> Result<Metadata, Box<dyn Error>> {
    Ok(Metadata {
        mode: u16::try_from(found.mode() & 0o7777)?,
        uid: found.uid(),
        gid: found.gid(),
        mtime: Timestamp {
            seconds: found.mtime(),
            nanoseconds: u32::try_from(found.mtime_nsec())?,
        },
        ..Metadata::default()
    })
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    match run(&arguments, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "mkfs: {error}");
            ExitCode::FAILURE
        }
    }
}
