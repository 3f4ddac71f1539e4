//! Writes an EROFS image of a directory: `mkfs IMAGE DIRECTORY`.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::ExitCode;

use erofs_writer::{Builder, Options, OutputFile};
use fstree::{Metadata, Timestamp};

/// Writes regular files, directories and symlinks, with their modes, owners and times.
pub(crate) fn run(arguments: &[OsString], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let [image, directory] = arguments else {
        return Err("usage: mkfs IMAGE DIRECTORY".into());
    };
    let root = Path::new(directory);
    let mut builder = Builder::create(image, Options::default())?;
    builder.directory("/", metadata(&fs::symlink_metadata(root)?)?)?;
    add(&mut builder, root, root)?;
    let (file, summary) = builder.finish()?;
    file.into_inner().sync_all()?;
    writeln!(out, "{} inodes, {} blocks", summary.inodes, summary.blocks)?;
    Ok(())
}

/// Adds what a directory holds.
fn add(
    builder: &mut Builder<OutputFile>,
    root: &Path,
    directory: &Path,
) -> Result<(), Box<dyn Error>> {
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
            builder.file(name, metadata, &mut File::open(&path)?)?;
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
