//! Lists a directory of an ext4 image: `ls IMAGE [PATH]`.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;

use ext4_writer::Image;

/// Writes a line for each name: the type, the permissions, the owner, the name.
pub(crate) fn run(arguments: &[OsString], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let (image, path) = match arguments {
        [image] => (image, &b"/"[..]),
        [image, path] => (image, path.as_bytes()),
        _ => return Err("usage: ls IMAGE [PATH]".into()),
    };
    let image = Image::open(File::open(image)?)?;
    let files = image.files()?;
    for (name, &id) in files.read_dir(path)? {
        let inode = files.inode(id);
        let metadata = &inode.metadata;
        writeln!(
            out,
            "{}{:04o} {}:{} {}",
            inode.kind.file_type().letter(),
            metadata.mode,
            metadata.uid,
            metadata.gid,
            name.as_bytes().escape_ascii()
        )?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    match run(&arguments, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "ls: {error}");
            ExitCode::FAILURE
        }
    }
}
